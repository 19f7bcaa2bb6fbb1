#include "libtrain/engine/model/stage.h"

#include <algorithm>
#include <stdexcept>

#include <ATen/ATen.h>

#include "libtrain/engine/device/device.h"
#include "libtrain/engine/device/host_values.h"
#include "libtrain/engine/model/blocks.h"
#include "libtrain/engine/model/functions/rms_norm.h"
#include "libtrain/engine/model/functions/rope.h"
#include "libtrain/engine/model/init.h"
#include "libtrain/engine/model/moe.h"
#include "recipe/plan/run_plan.h"

namespace titan::train {
namespace {

using recipe::Part;

at::Tensor bf16_leaf(at::IntArrayRef sizes) {
  return at::empty(sizes, device().options(at::kBFloat16)).set_requires_grad(true);
}

}  // namespace

StageSpec stage_spec(const recipe::ModelDims& dims, const std::vector<std::uint32_t>& cuts, std::uint32_t stage) {
  // Groups: 0 embedding, 1..L layers, L+1 head.
  const std::int64_t head_group = dims.n_layers + 1;
  const std::int64_t begin = stage == 0 ? 0 : cuts.at(stage - 1);
  const std::int64_t end = stage < cuts.size() ? cuts[stage] : head_group + 1;
  return {.first_layer = std::max<std::int64_t>(begin, 1) - 1,
          .end_layer = std::min(end, head_group) - 1,
          .embedding = begin == 0,
          .head = end == head_group + 1};
}

Stage::Stage(const recipe::RunPlan& plan, std::uint32_t stage, std::int64_t max_seq_len, Masters masters)
    : index_(stage),
      masters_(masters),
      gemm_(plan.gemm),
      loss_chunk_(plan.loss_chunk),
      dims_(plan.dims),
      spec_(stage_spec(plan.dims, plan.stage_cuts, stage)),
      bf16_(plan.bf16) {
  for (std::uint32_t i = 0; i < plan.parameters.size(); ++i)
    if (plan.stage_of(i) == stage)
      add_parameter(plan.parameters[i].name, i, plan.parameters[i].shape,
                    bf16_ && plan.parameters[i].name != recipe::kEmbeddingName);
  if (spec_.head && dims_.tied) add_tied_head(plan);
  if (spec_.embedding) {
    embedding_ = place(std::string(recipe::kEmbeddingName));
    segments_.push_back({Segment::Kind::kEmbedding, 0, {embedding_}});
  }
  for (std::int64_t i = spec_.first_layer; i < spec_.end_layer; ++i) add_layer(i, recipe::recomputes(plan, i));
  if (spec_.head) {
    norm_ = place(std::string(recipe::kFinalNormName));
    head_ = dims_.tied ? parameters_.size() - 1 : place(std::string(recipe::kHeadName));
    segments_.push_back({Segment::Kind::kNorm, 0, {norm_}});
  }
  rope_ = rope_table(max_seq_len, dims_.head_dim, dims_.rope_theta, dims_.rope_scaling);
  window_mask_ = window_mask(dims_.window.tokens, max_seq_len, bf16_ ? at::kBFloat16 : at::kFloat);
  balance_ = plan.router_aux_loss / static_cast<double>(dims_.n_layers * plan.batch.count);
}

void Stage::add_layer(std::int64_t index, bool recompute) {
  Layer layer;
  layer.parts.fill(kAbsent);
  layer.experts.assign(static_cast<std::size_t>(dims_.n_experts), layer.parts);
  layer.window = dims_.window.of(index);
  Segment segment{Segment::Kind::kLayer, layers_.size(), {}};
  segment.recompute = recompute;
  for (const recipe::ParameterKind* kind : recipe::layer_kinds(dims_)) {
    for (std::uint64_t i = 0; i < recipe::count_of(*kind, dims_); ++i) {
      const std::size_t at = place(recipe::name_of(kind->part, static_cast<std::uint64_t>(index), i));
      (kind->of_expert() ? layer.experts[i] : layer.parts)[static_cast<std::size_t>(kind->part)] = at;
      if (!kind->is_matrix()) segment.parameters.push_back(at);
    }
  }
  layers_.push_back(std::move(layer));
  segments_.push_back(std::move(segment));
}

void Stage::add_parameter(const std::string& name, std::uint32_t index, const std::vector<std::uint64_t>& shape,
                          bool bf16) {
  StageParameter parameter{.name = name, .index = index};
  const std::vector<std::int64_t> sizes(shape.begin(), shape.end());
  if (bf16) parameter.compute = bf16_leaf(sizes);
  if (!bf16 || masters_ == Masters::kOnDevice) {
    parameter.master = at::empty(sizes, device().options(at::kFloat));
  } else if (masters_ == Masters::kOnHost) {
    parameter.master = at::empty(sizes, at::kFloat);
  }
  if (!bf16) parameter.compute = parameter.master.detach().set_requires_grad(true);
  parameters_.push_back(std::move(parameter));
}

void Stage::add_tied_head(const recipe::RunPlan& plan) {
  const auto found = std::ranges::find(plan.parameters, recipe::kEmbeddingName, &ckpt::ParameterMeta::name);
  if (found == plan.parameters.end()) throw std::invalid_argument("a tied model without an embedding");
  if (!spec_.embedding) {
    add_parameter(found->name, found - plan.parameters.begin(), found->shape, bf16_);
  } else {
    StageParameter head = parameters_[embedding_];
    head.compute = bf16_ ? bf16_leaf(head.master.sizes()) : head.master.detach().set_requires_grad(true);
    parameters_.push_back(std::move(head));
  }
  parameters_.back().tied_head = true;
}

std::size_t Stage::place(const std::string& name) const {
  for (std::size_t i = 0; i < parameters_.size(); ++i)
    if (parameters_[i].name == name) return i;
  throw std::invalid_argument("the plan puts no parameter '" + name + "' on the stage that needs it");
}

void Stage::init_weights(std::uint64_t seed) {
  std::vector<at::Tensor> hosts;
  std::vector<Drawing> drawings;
  for (const StageParameter& p : parameters_) {
    hosts.push_back(p.master.is_cpu() ? p.master : device().host_for(p.master));
    drawings.push_back({p.name, 0, mutable_host_values<float>(hosts.back())});
  }
  draw_all(dims_, seed, drawings);
  for (std::size_t i = 0; i < parameters_.size(); ++i)
    if (!parameters_[i].master.is_cpu()) device().upload(hosts[i], parameters_[i].master);
  refresh();
}

void Stage::refresh() {
  for (StageParameter& p : parameters_)
    if (p.compute.scalar_type() != at::kFloat && p.master.device() == p.compute.device())
      p.compute.detach().copy_(p.master);
}

at::Tensor Stage::part(const Places& places, Part which) const {
  const std::size_t at = places[static_cast<std::size_t>(which)];
  return at == kAbsent ? at::Tensor() : weight(at);
}

LinearWeight Stage::linear_weight(const Places& places, Part matrix) const {
  return linear_weight(places[static_cast<std::size_t>(matrix)]);
}

LinearWeight Stage::linear_weight(const Places& places, Part matrix, Part bias) const {
  const std::size_t at = places[static_cast<std::size_t>(matrix)];
  return {weight(at), at, part(places, bias)};
}

AttentionWeights Stage::attention_weights(const Layer& layer) const {
  const Places& l = layer.parts;
  return {.query = linear_weight(l, Part::kQuery, Part::kQueryBias),
          .key = linear_weight(l, Part::kKey, Part::kKeyBias),
          .value = linear_weight(l, Part::kValue, Part::kValueBias),
          .out = linear_weight(l, Part::kAttentionOut),
          .query_norm = part(l, Part::kQueryNorm),
          .key_norm = part(l, Part::kKeyNorm),
          .head_dim = dims_.head_dim,
          .norm_eps = dims_.norm_eps,
          .whole_norm = dims_.whole_qk_norm,
          .window = {layer.window, window_mask_}};
}

at::Tensor Stage::run_feed_forward(const Layer& layer, const at::Tensor& x_BTD, const ProductUse& use) const {
  if (!dims_.experts)
    return feed_forward(x_BTD,
                        {.gate = linear_weight(layer.parts, Part::kGate),
                         .down = linear_weight(layer.parts, Part::kDown),
                         .up = linear_weight(layer.parts, Part::kUp)},
                        use);
  MoeWeights w{.router = linear_weight(layer.parts, Part::kRouter),
               .experts = {},
               .per_token = dims_.experts_per_token,
               .normed = dims_.route_norm,
               .balance = balance_};
  for (const Places& expert : layer.experts)
    w.experts.push_back({.gate = linear_weight(expert, Part::kExpertGate),
                         .down = linear_weight(expert, Part::kExpertDown),
                         .up = linear_weight(expert, Part::kExpertUp)});
  return moe(x_BTD, w, use);
}

template <typename Attend>
at::Tensor Stage::run_layer(const Layer& layer, const at::Tensor& x_BTD, const ProductUse& use, Attend attend) const {
  const Places& l = layer.parts;
  if (dims_.post_norm) {
    ProductUse read = use;
    read.unread = false;  // a norm reads it
    const at::Tensor middle_BTD = x_BTD + rms_norm(attend(x_BTD), part(l, Part::kAttentionPostNorm), dims_.norm_eps);
    const at::Tensor out_BTD = run_feed_forward(layer, middle_BTD, read);
    return middle_BTD + rms_norm(out_BTD, part(l, Part::kFeedForwardPostNorm), dims_.norm_eps);
  }
  const Branch first = rms_norm_branch(x_BTD, part(l, Part::kAttentionNorm), dims_.norm_eps);
  const Branch second = rms_norm_branch(first.x, attend(first.normed), part(l, Part::kFeedForwardNorm), dims_.norm_eps);
  return second.x + run_feed_forward(layer, second.normed, use);
}

at::Tensor Stage::run_with(std::size_t segment, const at::Tensor& input, const ProductUse& use,
                           const Documents& documents) const {
  const Segment& s = segments_.at(segment);
  switch (s.kind) {
    case Segment::Kind::kEmbedding:
      return at::embedding(weight(embedding_), input).to(bf16_ ? at::kBFloat16 : at::kFloat);
    case Segment::Kind::kLayer: {
      const Layer& layer = layers_[s.layer];
      return run_layer(layer, input, use, [&](const at::Tensor& x) {
        return attention(x, attention_weights(layer), rope_, use, documents);
      });
    }
    case Segment::Kind::kNorm: return rms_norm(input, weight(norm_), dims_.norm_eps);
  }
  throw std::logic_error("a segment of no kind");
}

HeadLoss Stage::loss(const at::Tensor& hidden_BTD, const at::Tensor& targets_BT, double scale) const {
  return head_loss(hidden_BTD, weight(head_), targets_BT, scale, gemm_, loss_chunk_);
}

at::Tensor Stage::exact_losses(const at::Tensor& hidden_BTD, const at::Tensor& targets_BT, bool masked) const {
  const at::Tensor rows = hidden_BTD.flatten(0, 1),
                   targets = masked ? targets_BT.flatten().clamp_min(0) : targets_BT.flatten();
  const std::int64_t count = rows.size(0), chunk = loss_chunk_ == 0 ? count : loss_chunk_;
  std::vector<at::Tensor> losses;
  for (std::int64_t begin = 0; begin < count; begin += chunk) {
    const at::Tensor some = rows.slice(0, begin, begin + chunk);
    losses.push_back(
        kernels().exact_losses(output_product(gemm_, some, weight(head_)), targets.slice(0, begin, begin + chunk)));
  }
  return masked ? at::cat(losses).masked_fill(targets_BT.flatten() == kNoTarget, 0) : at::cat(losses);
}

at::Tensor Stage::forward(const at::Tensor& input) const {
  at::Tensor x = input;
  for (std::size_t i = 0; i < segments(); ++i) x = run(i, x, nullptr);
  return spec_.head ? linear(x, linear_weight(head_), {gemm_}) : x;
}

at::Tensor Stage::extend(const at::Tensor& tokens_T, KvCache& cache) const {
  const ProductUse use{gemm_, nullptr, /*single_row=*/tokens_T.size(0) == 1};
  at::Tensor x_BTD = run(0, tokens_T.unsqueeze(0), nullptr);
  for (std::size_t i = 0; i < layers_.size(); ++i)
    x_BTD = run_layer(layers_[i], x_BTD, use, [&](const at::Tensor& x) {
      return cached_attention(x, attention_weights(layers_[i]), rope_, use, cache, i);
    });
  cache.advance(tokens_T.size(0));
  return logits_of_last(x_BTD);
}

at::Tensor Stage::next_logits(const at::Tensor& tokens_T) const {
  at::Tensor x_BTD = tokens_T.unsqueeze(0);
  for (std::size_t i = 0; i + 1 < segments(); ++i) x_BTD = run(i, x_BTD, nullptr);
  return logits_of_last(x_BTD);
}

at::Tensor Stage::logits_of_last(const at::Tensor& hidden_BTD) const {
  const at::Tensor last = rms_norm(hidden_BTD.narrow(1, hidden_BTD.size(1) - 1, 1), weight(norm_), dims_.norm_eps);
  return linear(last, linear_weight(head_), {gemm_, nullptr, /*single_row=*/true}).flatten();
}

void Stage::drop_masters() {
  for (StageParameter& p : parameters_)
    if (p.compute.scalar_type() != at::kFloat) p.master.reset();
}

}  // namespace titan::train
