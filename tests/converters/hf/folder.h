#pragma once
// Hugging Face folders for tests, made without Titan's writer; and the conversion under test, with fixed arguments
// filled in.
#include <map>
#include <string>
#include <vector>

#include "converters/convert.h"
#include "recipe/model/manifest_dims.h"

namespace titan::ckpt {
class Fs;
}

namespace titan::convert::testing {

/// A tensor as a safetensors file holds it: dtype and shape as JSON text, raw bytes.
struct RawTensor {
  std::string dtype = "F32", shape;
  std::string bytes;
};
using RawTensors = std::map<std::string, RawTensor>;

/// The tensors of `model` under Hugging Face's names, float32 (element i of the n-th tensor is n + i / 4096), made
/// without names.h.
RawTensors model_tensors(const recipe::ModelDims& model);
/// A safetensors file with `tensors` in order of name.
std::string safetensors_file(const RawTensors& tensors);
/// Reads one again. Fails the test when it is not one.
RawTensors read_safetensors(ckpt::Fs& fs, const std::string& path);
/// Writes `<folder>/model.safetensors` and config.json, made by write_hf_config.
void make_hf_folder(ckpt::Fs& fs, const std::string& folder, const recipe::ModelDims& model, const RawTensors& tensors);

/// convert_checkpoint() from `source` to `destination`, with a fixed time and writer.
Result<ConversionReport> convert_to(ckpt::Fs& fs, const std::string& source, const std::string& destination,
                                    ConvertOptions options = {});

void expect_ok(const Result<ConversionReport>& report);

/// Grouped heads, head_dim apart from dim / heads, two layers.
recipe::ModelDims tiny_model();

}  // namespace titan::convert::testing
