#pragma once
// Converts between the metadata of a GGUF file and the dimensions of a model.
#include <optional>
#include <string>
#include <vector>

#include "converters/gguf/gguf_file.h"
#include "recipe/model/dims.h"
#include "recipe/model/family.h"

namespace titan::convert {

inline constexpr const char* kGgufEmbedding = "token_embd.weight";
inline constexpr const char* kGgufHead = recipe::kHeadName.data();  // llama.cpp calls it as Titan does
inline constexpr const char* kGgufRope = "rope_freqs.weight";
/// Titan's own metadata key, with the text of model.rope_scaling. The table rope_freqs.weight alone does not determine
/// the scaling.
inline constexpr const char* kGgufTitanRope = "titan.rope_scaling";

/// The model in a file.
struct GgufModel {
  recipe::ModelDims dims;
  bool interleaved_rows = false;  ///< rows of queries and keys are in Titan's interleaved order
};

/// llama.cpp's name of the architecture of `model`: qwen3 with norms of queries and keys, qwen2 with biases of queries,
/// keys and values, llama with neither; nullopt with both. In files of architecture llama, rows of queries and keys are
/// in Titan's interleaved order; in files of qwen2 and qwen3, in rotate-half order.
std::optional<std::string> gguf_architecture(const recipe::ModelDims& model);

/// Reads the model of `header`. `rope` is the table rope_freqs.weight, empty if the file has none; `what` names the
/// file in messages. \error kUnsupported: another architecture, a scaling of RoPE or a table `rope` that is not known,
/// or a key that may change the model's function and that Titan cannot express or does not know; kIncompatible: a key
/// is missing or of another type; as recipe::check_dims
/// \source https://github.com/ggml-org/llama.cpp, src/llama-arch.cpp, src/llama-model.cpp
ckpt::Result<GgufModel> read_gguf_model(const std::string& what, const GgufHeader& header,
                                        const std::vector<float>& rope);

/// The table rope_freqs.weight: the divisors of the inverse frequencies for Llama 3.1's scaling of RoPE.
std::vector<float> rope_factors(const recipe::ModelDims& model, const recipe::RopeScaling& scaling);

}  // namespace titan::convert
