#pragma once
// GGUF files for tests, made without our writer.
#include <cstdint>
#include <string>
#include <vector>

#include "recipe/model/dims.h"

namespace titan::convert::testing {

/// The parts of a file. Each item of `keys` is an encoded key with its value, each item of `tensors` an encoded
/// description.
struct GgufParts {
  std::uint32_t version = 3;
  std::vector<std::string> keys, tensors;
  std::string data;
  std::uint64_t more_keys = 0, more_tensors = 0;  ///< counts beyond what the file contains
  std::string file(std::uint64_t alignment = 32) const;
};

std::string number(std::uint64_t value, int bytes);
std::string text(const std::string& value);  ///< its length, then itself
std::string u32_key(const std::string& key, std::uint32_t value);
std::string f32_key(const std::string& key, float value);
std::string text_key(const std::string& key, const std::string& value);
/// `dims`: fastest first, as in the file.
std::string tensor(const std::string& name, const std::vector<std::uint64_t>& dims, std::uint32_t type,
                   std::uint64_t offset);

/// The keys of `model` as `architecture` ("llama", "qwen2") has them.
std::vector<std::string> model_keys(const recipe::ModelDims& model, const std::string& architecture);
/// A whole file of float32: tensors and values are those of model_tensors (hf/folder.h), under GGUF's names, with rows
/// in the order of `architecture`.
GgufParts model_file(const recipe::ModelDims& model, const std::string& architecture);

}  // namespace titan::convert::testing
