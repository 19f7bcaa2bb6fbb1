#pragma once
// What the layers of all model families that we know are made of, as a value: which parameters a model has, their
// shapes, how they begin, and what they are called in each layout with which order of rows. Parameters, shapes, costs
// and names follow from this list; tests/layering.py finds the name of a part anywhere else. Pure.
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ckpt/model/tensor_meta.h"

namespace titan::recipe {

struct ModelDims;

/// What a parameter is for, in the order of a model.
enum class Part : std::uint8_t {
  kEmbedding,
  kQueryNorm,  ///< before RoPE, within each head or over all of them
  kKeyNorm,
  kQuery,
  kQueryBias,
  kKey,
  kKeyBias,
  kValue,
  kValueBias,
  kAttentionOut,
  kGate,
  kDown,
  kUp,
  kRouter,      ///< of tokens to experts
  kExpertGate,  ///< of each expert
  kExpertDown,
  kExpertUp,
  kAttentionNorm,  ///< of what comes into attention
  kFeedForwardNorm,
  kAttentionPostNorm,    ///< of what comes out of attention
  kFeedForwardPostNorm,  ///< of what comes out of the feed-forward
  kFinalNorm,
  kHead,
};
inline constexpr std::size_t kParts = 23;

/// What a dimension of a parameter counts.
enum class Extent : std::uint8_t {
  kNone,  ///< there is no such dimension
  kVocabulary,
  kWidth,
  kQueries,    ///< rows of all query heads
  kKeys,       ///< rows of all key heads
  kQueryNorm,  ///< of a norm of queries: a head, or the rows of all
  kKeyNorm,
  kInner,  ///< of the feed-forward, or of an expert's
  kExperts,
};

/// How rows of queries and keys lie, and elements of their biases and norms: ours and Meta's rotate neighbours, Hugging
/// Face's the halves of a head (ckpt/model/head_rows.h).
enum class Rows : std::uint8_t {
  kStay,   ///< the same everywhere
  kQuery,  ///< in heads of queries
  kKey,    ///< in heads of keys
};

/// How a parameter of a new model begins.
enum class Start : std::uint8_t {
  kOnes,
  kZeros,
  kEmbedding,  ///< normal
  kHead,       ///< normal, cut, narrow by the model's width
  kNarrow,     ///< normal, 0.02
  kByDepth,    ///< the same, narrower the deeper its layer is
};

/// One parameter of a model, or one of each layer, or of each expert of a layer. A name is a pattern, in which '#'
/// stands for the layer's number and '@' for the expert's; empty where a layout has none.
struct ParameterKind {
  Part part;
  std::array<Extent, 2> extents;
  Rows rows;
  Start start;
  bool ModelDims::*only_with;     ///< switch of models that have it; nullptr: all of them
  bool ModelDims::*only_without;  ///< switch of models that have it not; nullptr: none of them
  std::string_view ours;          ///< torchtitan 0.2.2's and Meta's
  std::string_view huggingface, mistral;
  std::string_view newer;    ///< torchtitan 0.3.0's, where it is not ours
  std::string_view gguf;     ///< llama.cpp's
  std::string_view mixtral;  ///< Hugging Face's of Mixtral, where it is not `huggingface`, which is Qwen3-MoE's
  bool in_layer() const { return ours.find('#') != std::string_view::npos; }
  bool of_expert() const { return ours.find('@') != std::string_view::npos; }
  bool is_matrix() const { return extents[1] != Extent::kNone; }
  bool is_in(const ModelDims& dims) const;
};

/// Our names of what stands outside the layers, and Hugging Face's of the head.
inline constexpr std::string_view kEmbeddingName = "tok_embeddings.weight", kFinalNormName = "norm.weight",
                                  kHeadName = "output.weight", kHuggingfaceHead = "lm_head.weight";

/// Every parameter that some family has, in the order of a model.
std::span<const ParameterKind> parameter_kinds();
const ParameterKind& kind_of(Part part);

/// The parameters of a layer of this model, in order.
std::vector<const ParameterKind*> layer_kinds(const ModelDims& dims);
std::uint64_t extent(Extent extent, const ModelDims& dims);
std::vector<std::uint64_t> shape_of(const ParameterKind& kind, const ModelDims& dims);
/// Elements of a layer's parameters.
std::uint64_t layer_elements(const ModelDims& dims);
/// Elements of the matrices of a layer that a token is multiplied with: of experts those that it takes.
std::uint64_t multiplied_elements(const ModelDims& dims);
/// Elements of all layers that a token is not multiplied with: of the experts that it does not take.
std::uint64_t resting_elements(const ModelDims& dims);
/// Tokens that the last of `seq_len` sees, the mean over all layers.
std::int64_t mean_seen(const ModelDims& dims, std::int64_t seq_len);
/// How many parameters of this kind a layer has: one, or one for each expert.
std::uint64_t count_of(const ParameterKind& kind, const ModelDims& dims);

/// Our name of a part; of layer `layer` where it is one of a layer, of `expert` where it is an expert's.
std::string name_of(Part part, std::uint64_t layer = 0, std::uint64_t expert = 0);

struct NamedPart {
  const ParameterKind* kind;
  std::uint64_t layer = 0, expert = 0;
};
/// The part that has our name `name`; nothing for other names.
std::optional<NamedPart> part_of(std::string_view name);

/// The digits in a name that stand where its pattern has '#' and '@'.
struct PatternDigits {
  std::string_view layer, expert;
};
/// Whether `name` has the form of `pattern`; then `digits` are those of its marks. Only the canonical spelling of a
/// number does.
bool fits_pattern(std::string_view name, std::string_view pattern, PatternDigits& digits);
std::string filled_pattern(std::string_view pattern, const PatternDigits& digits);

}  // namespace titan::recipe
