#pragma once
// One pipeline stage of a Llama-style model: its parameters, and its forward as a sequence of segments. A segment is
// the embedding, one layer, or the final norm. Head and loss follow the last segment (functions/head_loss.h).
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

/// The part of the model on a stage: layers [first_layer, end_layer), and whether it has the embedding and the head.
struct StageSpec {
  std::int64_t first_layer = 0, end_layer = 0;
  bool embedding = false, head = false;
  bool operator==(const StageSpec&) const = default;
};
/// The part of the model on stage `stage`. `cuts` has one number for each stage after the first, the part of the model
/// with which the stage begins: 0 is the embedding, k the k-th layer, n_layers + 1 the head.
StageSpec stage_spec(const recipe::ModelDims& dims, const std::vector<std::uint32_t>& cuts, std::uint32_t stage);

/// A parameter of a stage, with two tensors. `master` is the fp32 master weight: contiguous, 64-byte aligned, or
/// undefined (see Masters). `compute` is the compute copy, which the forward uses: an autograd leaf that requires grad.
/// An fp32 `compute` shares storage with `master`; a bf16 one is a copy. The embedding's `compute` is always fp32, and
/// the looked-up rows are rounded: so LibTorch adds in fp32 the gradients of a token that occurs often (in bf16, 256 +
/// 1 is 256).
struct StageParameter {
  std::string name;
  std::uint32_t index = 0;  ///< index into RunPlan::parameters
  at::Tensor master;
  at::Tensor compute;
  /// Whether this is a tied head: the head's use of the embedding's weight. Its gradients are summed apart from the
  /// embedding's, on every layout. On the embedding's stage the tied head shares `master` with the embedding; on
  /// another stage it holds a received copy of the weight. No rank owns or saves a tied head.
  bool tied_head = false;
};

/// Where the fp32 master weights of bf16 compute copies are. kOnDevice: in the memory of the device. kOnHost: in host
/// memory, to be loaded without GPU memory. kNone: the stage has none, since the optimizer holds those that this rank
/// owns. (An fp32 compute copy shares storage with its master in all three cases.)
enum class Masters : std::uint8_t { kOnDevice, kOnHost, kNone };

/// The parameters of a stage and its forward. It has many members because it keeps what each forward needs of the plan:
/// sizes, places of parameters, tables by position.
class Stage {
 public:
  /// Allocates parameters, uninitialised. The RoPE table has `max_seq_len` positions.
  Stage(const recipe::RunPlan& plan, std::uint32_t stage, std::int64_t max_seq_len,
        Masters masters = Masters::kOnDevice);

  std::uint32_t index() const { return index_; }  ///< index among the model's stages
  const StageSpec& spec() const { return spec_; }
  /// The parameters, in model order; a tied head comes last (StageParameter::tied_head).
  std::vector<StageParameter>& parameters() { return parameters_; }
  const std::vector<StageParameter>& parameters() const { return parameters_; }

  /// Draws all masters (init.h), with the same values on every layout, and calls refresh(). Not with Masters::kNone in
  /// bf16.
  /// \source torchtitan v0.2.2 models/llama3/model/model.py init_weights, depth_init
  void init_weights(std::uint64_t seed);
  /// Copies masters to the bf16 compute copies that are on the same device. Does nothing for fp32 compute copies.
  void refresh();

  /// The number of segments.
  std::size_t segments() const { return segments_.size(); }
  /// Computes one segment. `input`: tokens int64 [B,T] for the embedding, else hidden [B,T,D] in the compute dtype.
  /// Returns hidden [B,T,D]. If `sink` is given, the backward passes it the operands of the linear layers' weight
  /// gradients.
  at::Tensor run(std::size_t segment, const at::Tensor& input, GradientSink* sink,
                 const Documents& documents = {}) const {
    return run_with(segment, input, {gemm_, sink}, documents);
  }
  /// As run(), to recompute a layer for its backward: the returned tensor has the graph and the shape of the output,
  /// but its values may be undefined.
  at::Tensor run_again(std::size_t segment, const at::Tensor& input, GradientSink* sink,
                       const Documents& documents = {}) const {
    return run_with(segment, input, {.gemm = gemm_, .sink = sink, .unread = true}, documents);
  }
  /// The RoPE rotations by position, complex64 [max_seq_len, head_dim / 2].
  const at::Tensor& rope() const { return rope_; }
  /// Indices in parameters() of a segment's parameters other than weights of linear layers: norms, biases, the
  /// embedding.
  const std::vector<std::size_t>& own_parameters(std::size_t segment) const { return segments_[segment].parameters; }
  /// Whether the segment is recomputed in the backward (activation checkpointing).
  bool recomputes(std::size_t segment) const { return segments_[segment].recompute; }
  /// Last stage only: the losses of the tokens, and the gradients of `hidden_BTD` and of the head. See head_loss().
  HeadLoss loss(const at::Tensor& hidden_BTD, const at::Tensor& targets_BT, double scale) const;
  /// Last stage only: index in parameters() of the head's weight.
  std::size_t head_parameter() const { return head_; }
  /// Last stage only: each token's loss in fp64, [B*T], as validation reports it. `masked`: some targets may be
  /// kNoTarget; their loss is 0.
  at::Tensor exact_losses(const at::Tensor& hidden_BTD, const at::Tensor& targets_BT, bool masked = false) const;

  /// Computes all segments, then the head if the stage has it. Returns hidden [B,T,D], or logits [B,T,V], in the
  /// compute dtype.
  at::Tensor forward(const at::Tensor& input) const;
  /// For a single-stage model: appends `tokens_T` (int64) to the text in `cache` and returns the logits [V] of the
  /// token after it, in the compute dtype. T may be any number if the cache is empty, else 1. Call it without
  /// gradients.
  at::Tensor extend(const at::Tensor& tokens_T, KvCache& cache) const;
  /// As extend(), for a whole text and without a cache.
  at::Tensor next_logits(const at::Tensor& tokens_T) const;
  /// Frees the fp32 masters of bf16 compute copies. Afterwards init_weights() and refresh() must not be called.
  void drop_masters();

 private:
  // Indices in parameters_ by recipe::Part; kAbsent for parts that a layer lacks.
  using Places = std::array<std::size_t, recipe::kParts>;
  static constexpr std::size_t kAbsent = SIZE_MAX;
  struct Layer {
    Places parts;
    std::vector<Places> experts;
    std::int64_t window = 0;  // size of the sliding window in tokens; 0: none
  };
  struct Segment {
    enum class Kind : std::uint8_t { kEmbedding, kLayer, kNorm } kind;
    std::size_t layer = 0;  // index in layers_
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
  at::Tensor window_mask_;  // undefined if no layer has a window that is shorter than max_seq_len
  double balance_ = 0;      // coefficient of each layer's load-balancing loss in the gradients of a micro-batch
};

}  // namespace titan::train
