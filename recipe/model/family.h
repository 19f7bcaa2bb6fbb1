#pragma once
// The table of the parameters of all model families that Titan supports: which parameters a model has, their shapes,
// how they are initialised, and their names and row orders in each program. Parameters, shapes, costs and names follow
// from this table. tests/layering.py reports parameter names in any other file. Pure.
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

/// The role of a parameter. A model's parameters are in this order.
enum class Part : std::uint8_t {
  kEmbedding,
  kQueryNorm,  ///< applied before RoPE, within each head or over all heads
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
  kRouter,      ///< assigns tokens to experts
  kExpertGate,  ///< one per expert, as the next two
  kExpertDown,
  kExpertUp,
  kAttentionNorm,  ///< norm before attention
  kFeedForwardNorm,
  kAttentionPostNorm,    ///< norm after attention
  kFeedForwardPostNorm,  ///< norm after the feed-forward
  kFinalNorm,
  kHead,
};
inline constexpr std::size_t kParts = 23;

/// The quantity that gives the size of a dimension of a parameter.
enum class Extent : std::uint8_t {
  kNone,  ///< no such dimension
  kVocabulary,
  kWidth,
  kQueries,    ///< rows of all query heads
  kKeys,       ///< rows of all key heads
  kQueryNorm,  ///< size of the query norm: one head, or all query heads
  kKeyNorm,
  kInner,  ///< width of the feed-forward network, or of an expert's
  kExperts,
};

/// Row order of a parameter (for a bias or norm: order of elements) in other formats. For queries and keys, Titan and
/// Meta use interleaved order; Hugging Face uses rotate-half order (ckpt/model/rope_permutation.h).
enum class Rows : std::uint8_t {
  kStay,   ///< the same order in all formats
  kQuery,  ///< rows of query heads, reordered within each head
  kKey,    ///< rows of key heads, reordered within each head
};

/// How a parameter of a new model is initialised.
enum class Start : std::uint8_t {
  kOnes,
  kZeros,
  kEmbedding,  ///< normal
  kHead,       ///< truncated normal; the wider the model, the smaller
  kNarrow,     ///< normal with a standard deviation of 0.02
  kByDepth,    ///< normal; smaller for deeper layers
};

/// A parameter of a model, of each layer, or of each expert of a layer. Its names are patterns: '#' stands for the
/// number of the layer, '@' for that of the expert. The name is empty in a program without this parameter.
struct ParameterKind {
  Part part;
  std::array<Extent, 2> extents;
  Rows rows;
  Start start;
  bool ModelDims::*only_with;             ///< switch of the models that have this parameter; nullptr: all models
  bool ModelDims::*only_without;          ///< switch of the models that lack this parameter; nullptr: none
  std::string_view ours;                  ///< Titan's name; also torchtitan 0.2.2's and Meta's, except for experts
  std::string_view huggingface, mistral;  ///< the names in Hugging Face's and in Mistral's own files
  std::string_view newer;                 ///< the name in torchtitan 0.3.0, if different from `ours`
  std::string_view gguf;                  ///< the name in llama.cpp
  std::string_view mixtral;  ///< Hugging Face's name in Mixtral, if different from `huggingface` (that of Qwen3-MoE)
  bool in_layer() const { return ours.find('#') != std::string_view::npos; }
  bool of_expert() const { return ours.find('@') != std::string_view::npos; }
  bool is_matrix() const { return extents[1] != Extent::kNone; }
  bool is_in(const ModelDims& dims) const;
};

/// Titan's names of the parameters outside the layers, and Hugging Face's name of the head.
inline constexpr std::string_view kEmbeddingName = "tok_embeddings.weight", kFinalNormName = "norm.weight",
                                  kHeadName = "output.weight", kHuggingfaceHead = "lm_head.weight";

/// Every parameter that any family has, in model order.
std::span<const ParameterKind> parameter_kinds();
const ParameterKind& kind_of(Part part);

/// The parameters of a layer of this model, in order.
std::vector<const ParameterKind*> layer_kinds(const ModelDims& dims);
/// The size that `extent` has in this model.
std::uint64_t extent(Extent extent, const ModelDims& dims);
/// The shape of a parameter in this model.
std::vector<std::uint64_t> shape_of(const ParameterKind& kind, const ModelDims& dims);
/// The number of elements in the parameters of a layer.
std::uint64_t layer_elements(const ModelDims& dims);
/// The number of elements in the matrices of a layer that are multiplied with each token: of the experts, only those
/// that the token uses.
std::uint64_t multiplied_elements(const ModelDims& dims);
/// The number of elements, over all layers, of the experts that a token does not use.
std::uint64_t inactive_elements(const ModelDims& dims);
/// The number of tokens that the last of `seq_len` tokens attends to, averaged over all layers.
std::int64_t mean_seen(const ModelDims& dims, std::int64_t seq_len);
/// How many parameters of this kind a layer has: one, or one per expert.
std::uint64_t count_of(const ParameterKind& kind, const ModelDims& dims);

/// Titan's name of a part, with `layer` if it is in a layer, and with `expert` if it belongs to an expert.
std::string name_of(Part part, std::uint64_t layer = 0, std::uint64_t expert = 0);

/// A part, with the numbers of its layer and of its expert.
struct NamedPart {
  const ParameterKind* kind;
  std::uint64_t layer = 0, expert = 0;
};
/// The part with Titan's name `name`; nullopt for other names.
std::optional<NamedPart> part_of(std::string_view name);

/// The digits in a name at the positions where its pattern has '#' and '@'.
struct PatternDigits {
  std::string_view layer, expert;
};
/// Whether `name` has the form of `pattern`; if so, `digits` gets the digits at '#' and '@'. Numbers with leading zeros
/// do not match.
bool fits_pattern(std::string_view name, std::string_view pattern, PatternDigits& digits);
/// `pattern` with `digits` in place of '#' and '@'.
std::string filled_pattern(std::string_view pattern, const PatternDigits& digits);

}  // namespace titan::recipe
