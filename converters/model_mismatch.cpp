#include "converters/model_mismatch.h"

#include <algorithm>

#include "ckpt/base/text.h"
#include "ckpt/model/tensor_meta.h"
#include "recipe/model/family.h"

namespace titan::convert {
namespace {

using recipe::ModelDims;

// A key's name in each program's configuration, in the order of ConfigKeys.
struct Name {
  const char *huggingface, *mistral, *gguf, *ours;
  const char* of(ConfigKeys keys) const {
    switch (keys) {
      case ConfigKeys::kHuggingface:
      case ConfigKeys::kHuggingfaceLocal: return huggingface;
      case ConfigKeys::kMistral: return mistral;
      case ConfigKeys::kGguf: return gguf;
      case ConfigKeys::kTitan: return ours;
    }
    return ours;
  }
};
struct Size {
  Name key;
  std::int64_t ModelDims::*value;
  bool in_heads = false;  // rows are counted in heads
};
constexpr Size kWidth{{"hidden_size", "dim", "embedding_length", "model.dim"}, &ModelDims::dim};
constexpr Size kVocabulary{{"vocab_size", "vocab_size", "vocab_size", "model.vocab_size"}, &ModelDims::vocab_size};
constexpr Size kInner{{"intermediate_size", "hidden_dim", "feed_forward_length", "model.ffn_dim"}, &ModelDims::ffn_dim};
constexpr Size kHeads{
    {"num_attention_heads", "n_heads", "attention.head_count", "model.n_heads"}, &ModelDims::n_heads, true};
constexpr Size kKeyHeads{
    {"num_key_value_heads", "n_kv_heads", "attention.head_count_kv", "model.n_kv_heads"}, &ModelDims::n_kv_heads, true};
constexpr Size kHead{{"head_dim", "head_dim", "attention.key_length", "model.head_dim"}, &ModelDims::head_dim};
constexpr Size kExperts{{"num_experts", "num_experts", "expert_count", "model.n_experts"}, &ModelDims::n_experts};
constexpr Name kLayerCount{"num_hidden_layers", "n_layers", "block_count", "model.n_layers"};
constexpr Name kFile{"config.json", "params.json", "the file's metadata", "the configuration"};

// The size that a dimension of a parameter has.
const Size& size_of(const std::string& name, std::size_t axis) {
  const auto part = recipe::part_of(name);
  if (!part || axis >= part->kind->extents.size()) return kWidth;
  switch (part->kind->extents[axis]) {
    case recipe::Extent::kVocabulary: return kVocabulary;
    case recipe::Extent::kQueries: return kHeads;
    case recipe::Extent::kKeys: return kKeyHeads;
    case recipe::Extent::kQueryNorm:
    case recipe::Extent::kKeyNorm: return kHead;
    case recipe::Extent::kExperts: return kExperts;
    case recipe::Extent::kInner: return kInner;
    case recipe::Extent::kWidth:
    case recipe::Extent::kNone: break;
  }
  return kWidth;
}

std::string says(const char* key, std::int64_t value, ConfigKeys keys) {
  return std::string(kFile.of(keys)) + " says " + key + " = " + std::to_string(value);
}

}  // namespace

ckpt::Status shape_mismatch(const std::string& path, const std::string& tensor, const std::vector<std::uint64_t>& shape,
                            const ckpt::ParameterMeta& expected, const ModelDims& model, ConfigKeys keys) {
  const std::string start = "tensor '" + tensor + "' of " + path + " has the shape " + ckpt::shape_text(shape);
  if (std::ranges::find(shape, 0u) != shape.end())
    return ckpt::incompatible(start +
                              ": the weights were saved without gathering the parameters, as DeepSpeed's "
                              "ZeRO-3 leaves them")
        .with_hint(
            "save with stage3_gather_16bit_weights_on_model_save = true, or make weights of the run's own state: "
            "python -m deepspeed.utils.zero_to_fp32 FOLDER OUT --safe_serialization");
  const ckpt::Status refused =
      ckpt::incompatible(start + ", " + kFile.of(keys) + " makes it " + ckpt::shape_text(expected.shape));
  if (shape.size() != expected.shape.size()) return refused;
  std::size_t axis = 0;
  while (axis + 1 < shape.size() && shape[axis] == expected.shape[axis]) ++axis;
  const Size& size = size_of(expected.name, axis);
  const std::int64_t found = recipe::to_dimension(shape[axis]);
  const bool local = &size == &kExperts && keys == ConfigKeys::kHuggingfaceLocal;
  const std::string key = local ? "num_local_experts" : size.key.of(keys),
                    begin = says(key.c_str(), model.*size.value, keys);
  if (!size.in_heads)
    return refused.with_hint(begin + ", the weights have " + std::to_string(found) + ": set " + key + " to " +
                             std::to_string(found));
  if (model.head_dim > 0 && found % model.head_dim == 0)
    return refused.with_hint(begin + ", the weights have " + std::to_string(found / model.head_dim) + " heads of " +
                             std::to_string(model.head_dim) + ": set " + key + " to " +
                             std::to_string(found / model.head_dim) + ", or head_dim to what each head has");
  return refused.with_hint(begin + " with head_dim " + std::to_string(model.head_dim) + ", the weights have " +
                           std::to_string(found) + " rows: one of the two is wrong");
}

std::string layers_mismatch(std::int64_t layers, const ModelDims& model, ConfigKeys keys) {
  const char* const key = kLayerCount.of(keys);
  if (layers == 0 || layers == model.n_layers) return "";
  return says(key, model.n_layers, keys) + ", the weights have " + std::to_string(layers) + " layers: set " + key +
         " to " + std::to_string(layers);
}

}  // namespace titan::convert
