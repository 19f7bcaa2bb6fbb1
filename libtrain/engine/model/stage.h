#pragma once
// One pipeline stage of a Llama-style model: its parameters, and its forward as a sequence of segments. A segment is
// the embedding, one layer, or the final norm; head and loss come after the last one (functions/head_loss.h).
//
// Shape letters: B sequences of a micro-batch, T tokens, D model dim, V vocabulary.
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "libtrain/engine/model/document_attention.h"
#include "libtrain/engine/model/functions/head_loss.h"
#include "libtrain/engine/model/functions/linear.h"
#include "libtrain/engine/model/kv_cache.h"
#include "recipe/model/dims.h"
#include "recipe/model/family.h"

namespace titan::recipe {
struct RunPlan;
}

namespace titan::train {

struct AttentionWeights;

/// The part of the model on a stage: layers [first_layer, end_layer).
struct StageSpec {
  std::int64_t first_layer = 0, end_layer = 0;
  bool embedding = false, head = false;
  bool operator==(const StageSpec&) const = default;
};
StageSpec stage_spec(const recipe::ModelDims& dims, const std::vector<std::uint32_t>& cuts, std::uint32_t stage);

/// A parameter of a stage. `master` is fp32, contiguous and 64-byte aligned, or undefined (see Masters). The forward
/// uses `compute`: a leaf tensor that requires grad and shares storage with `master` (fp32), or a bf16 copy that
/// refresh() updates. The embedding's lookup always uses an fp32 leaf: rounding after the lookup gives the same values,
/// while LibTorch would add up a token's bf16 gradients in bf16, where 256 + 1 = 256.
struct StageParameter {
  std::string name;
  std::uint32_t index = 0;  ///< index into RunPlan::parameters
  at::Tensor master;
  at::Tensor compute;
  /// The head's use of a tied embedding: a separate gradient slot at every PP degree. Shares master (and storage) with
  /// the embedding if both are on the same stage; otherwise holds the received copy of the embedding. Never saved or
  /// owned.
  bool tied_head = false;
};

/// Where the fp32 master weights of bf16 compute copies are. kOnHost: not in GPU memory while weights are read. kNone:
/// nowhere, since the optimizer keeps its own.
enum class Masters : std::uint8_t { kOnDevice, kOnHost, kNone };

/// Parameters and the functions that use them. One class, since the functions find weights by index in parameters().
class Stage {
 public:
  /// Allocates parameters (uninitialised). `max_seq_len` sizes the RoPE table.
  Stage(const recipe::RunPlan& plan, std::uint32_t stage, std::int64_t max_seq_len,
        Masters masters = Masters::kOnDevice);

  std::uint32_t index() const { return index_; }  ///< index among the model's stages
  const StageSpec& spec() const { return spec_; }
  /// In model order; a tied head's slot comes last.
  std::vector<StageParameter>& parameters() { return parameters_; }
  const std::vector<StageParameter>& parameters() const { return parameters_; }

  /// Draws every parameter from its own generator, keyed by (seed, name): the same values on every layout. Calls
  /// refresh().
  /// \source torchtitan v0.2.2 models/llama3/model/model.py init_weights, depth_init
  void init_weights(std::uint64_t seed);
  /// Updates bf16 compute copies from their masters. Does nothing in fp32.
  void refresh();

  std::size_t segments() const { return segments_.size(); }
  /// Computes one segment. `input`: tokens int64 [B,T] for the embedding, else hidden [B,T,D] in the compute dtype.
  /// Returns hidden [B,T,D]. A `sink` gets the weight gradients of linear layers.
  at::Tensor run(std::size_t segment, const at::Tensor& input, GradientSink* sink,
                 const Documents& documents = {}) const {
    return run_with(segment, input, {gemm_, sink}, documents);
  }
  /// As run(), for a backward that recomputes a layer whose output is known: the returned tensor has a graph and a
  /// shape, but no values.
  at::Tensor run_again(std::size_t segment, const at::Tensor& input, GradientSink* sink,
                       const Documents& documents = {}) const {
    return run_with(segment, input, {.gemm = gemm_, .sink = sink, .unread = true}, documents);
  }
  /// RoPE rotations for the tokens of a text, from the first on, complex64 [max_seq_len,K/2].
  const at::Tensor& rope() const { return rope_; }
  /// Indices in parameters() of all that a segment uses except the weights of linear layers.
  const std::vector<std::size_t>& own_parameters(std::size_t segment) const { return segments_[segment].parameters; }
  bool recomputes(std::size_t segment) const { return segments_[segment].recompute; }
  /// Last stage only: the losses, and the gradients of the last segment's output. See head_loss().
  HeadLoss loss(const at::Tensor& hidden_BTD, const at::Tensor& targets_BT, double scale) const;
  std::size_t head_parameter() const { return head_; }
  /// Last stage only: each token's fp64 loss, as validation reports it. `masked`: some targets are kNoTarget and have
  /// no loss.
  at::Tensor exact_losses(const at::Tensor& hidden_BTD, const at::Tensor& targets_BT, bool masked = false) const;

  /// Computes all segments, then the head if the stage has it. Returns hidden [B,T,D], or logits [B,T,V] (compute
  /// dtype).
  at::Tensor forward(const at::Tensor& input) const;
  /// For a single-stage model, without gradients: appends `tokens`, int64 [T], to those in `cache` and returns the
  /// logits [V] of the next token (compute dtype). Any number of tokens if the cache is empty, else one.
  at::Tensor extend(const at::Tensor& tokens_T, KvCache& cache) const;
  /// As extend(), for a whole text without a cache.
  at::Tensor next_logits(const at::Tensor& tokens_T) const;
  /// Frees the fp32 master weights of bf16 compute copies: afterwards the stage can only compute.
  void drop_masters();

 private:
  // Indices in parameters_ by recipe::Part; kAbsent for parts that a layer lacks.
  using Places = std::array<std::size_t, recipe::kParts>;
  static constexpr std::size_t kAbsent = SIZE_MAX;
  struct Layer {
    Places parts;
    std::vector<Places> experts;
    std::int64_t window = 0;  // tokens; 0: none
  };
  struct Segment {
    enum class Kind : std::uint8_t { kEmbedding, kLayer, kNorm } kind;
    std::size_t layer = 0;  // place in layers_
    std::vector<std::size_t> parameters;
    bool recompute = false;
  };
  std::size_t place(const std::string& name) const;
  const at::Tensor& weight(std::size_t place) const { return parameters_[place].compute; }
  void add_parameter(const std::string& name, std::uint32_t index, const std::vector<std::uint64_t>& shape, bool bf16);
  void add_tied_head(const recipe::RunPlan& plan);
  void add_layer(std::int64_t index, bool recompute);
  LinearWeight linear_weight(std::size_t place) const { return {weight(place), place}; }
  /// The weight of a layer's part; undefined if the layer lacks it.
  at::Tensor part(const Places& places, recipe::Part which) const;
  LinearWeight linear_weight(const Places& places, recipe::Part matrix) const;
  LinearWeight linear_weight(const Places& places, recipe::Part matrix, recipe::Part bias) const;
  at::Tensor run_with(std::size_t segment, const at::Tensor& input, const ProductUse& use,
                      const Documents& documents) const;
  /// `attend` computes the layer's attention from its normalised input.
  template <typename Attend>
  at::Tensor run_layer(const Layer& layer, const at::Tensor& x_BTD, const ProductUse& use, Attend attend) const;
  AttentionWeights attention_weights(const Layer& layer) const;
  at::Tensor run_feed_forward(const Layer& layer, const at::Tensor& x_BTD, const ProductUse& use) const;
  at::Tensor logits_of_last(const at::Tensor& hidden_BTD) const;

  std::uint32_t index_;
  Masters masters_;
  Gemm gemm_;
  std::int64_t loss_chunk_;
  recipe::ModelDims dims_;
  StageSpec spec_;
  bool bf16_ = false;
  std::vector<StageParameter> parameters_;
  std::vector<Layer> layers_;
  std::vector<Segment> segments_;
  std::size_t embedding_ = 0, norm_ = 0, head_ = 0;
  at::Tensor rope_;
  at::Tensor window_mask_;  // defined if a layer has a window that is shorter than rows
  double balance_ = 0;      // coefficient of each layer's load-balancing loss in the gradients of a micro-batch
};

}  // namespace titan::train
