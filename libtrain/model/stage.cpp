#include "libtrain/model/stage.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <stdexcept>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include "libtrain/model/blocks.h"
#include "libtrain/model/init.h"

namespace titan::train {
namespace {

constexpr const char* kEmbedding = "tok_embeddings.weight";

at::Tensor make_leaf(const at::Tensor& master, bool bf16) {
  at::Tensor leaf = bf16 ? at::empty(master.sizes(), at::kBFloat16) : master.detach();
  return leaf.set_requires_grad(true);
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

Stage::Stage(const recipe::RunPlan& plan, std::uint32_t stage, std::int64_t max_seq_len)
    : dims_(plan.dims), spec_(stage_spec(plan.dims, plan.stage_cuts, stage)), bf16_(plan.bf16) {
  for (std::uint32_t i = 0; i < plan.parameters.size(); ++i)
    if (plan.parameters[i].stage == stage) add_parameter(plan.parameters[i].name, i, plan.parameters[i].shape);
  if (spec_.embedding) embedding_ = place(kEmbedding);
  if (spec_.head && dims_.tied) add_tied_head(plan);

  for (std::int64_t i = spec_.first_layer; i < spec_.end_layer; ++i) {
    const std::string layer = "layers." + std::to_string(i) + ".";
    const auto at = [&](const char* name) { return place(layer + name + ".weight"); };
    layers_.push_back({at("attention.wq"), at("attention.wk"), at("attention.wv"), at("attention.wo"),
                       at("feed_forward.w1"), at("feed_forward.w2"), at("feed_forward.w3"), at("attention_norm"),
                       at("ffn_norm")});
    if (dims_.qkv_bias) {
      layers_.back().q_bias = place(layer + "attention.wq.bias");
      layers_.back().k_bias = place(layer + "attention.wk.bias");
      layers_.back().v_bias = place(layer + "attention.wv.bias");
    }
  }
  if (spec_.head) {
    norm_ = place("norm.weight");
    head_ = dims_.tied ? parameters_.size() - 1 : place("output.weight");
  }
  rope_ = rope_table(max_seq_len, dims_.head_dim, dims_.rope_theta, dims_.rope_scaling);
}

void Stage::add_parameter(const std::string& name, std::uint32_t index, const std::vector<std::uint64_t>& shape) {
  StageParameter parameter{.name = name, .index = index};
  parameter.master = at::empty(std::vector<std::int64_t>(shape.begin(), shape.end()), at::kFloat);
  parameter.compute = make_leaf(parameter.master, bf16_ && name != kEmbedding);
  parameters_.push_back(std::move(parameter));
}

void Stage::add_tied_head(const recipe::RunPlan& plan) {
  const auto found =
      std::find_if(plan.parameters.begin(), plan.parameters.end(), [](const auto& p) { return p.name == kEmbedding; });
  if (found == plan.parameters.end()) throw std::invalid_argument("a tied model without tok_embeddings.weight");
  if (!spec_.embedding) {
    add_parameter(kEmbedding, found - plan.parameters.begin(), found->shape);
  } else {
    parameters_.push_back(parameters_[embedding_]);
  }
  StageParameter& head = parameters_.back();
  head.compute = make_leaf(head.master, bf16_);
  head.tied_head = true;
}

std::size_t Stage::place(const std::string& name) const {
  for (std::size_t i = 0; i < parameters_.size(); ++i)
    if (parameters_[i].name == name) return i;
  throw std::invalid_argument("the plan puts no parameter '" + name + "' on the stage that needs it");
}

void Stage::init_weights(std::uint64_t seed) {
  std::vector<Drawing> drawings;
  for (StageParameter& p : parameters_)
    drawings.push_back({p.name, 0, {p.master.mutable_data_ptr<float>(), static_cast<std::size_t>(p.master.numel())}});
  draw_all(dims_, seed, drawings);
  refresh();
}

void Stage::refresh() {
  for (StageParameter& p : parameters_)
    if (p.compute.scalar_type() != at::kFloat) p.compute.detach().copy_(p.master);
}

at::Tensor Stage::forward(const at::Tensor& input) const {
  at::Tensor x_BTD = input;
  if (spec_.embedding) x_BTD = at::embedding(weight(embedding_), input).to(bf16_ ? at::kBFloat16 : at::kFloat);
  for (const Layer& l : layers_) {
    AttentionWeights w{weight(l.wq), weight(l.wk), weight(l.wv), weight(l.wo)};
    if (dims_.qkv_bias) {
      w.q_bias = weight(l.q_bias);
      w.k_bias = weight(l.k_bias);
      w.v_bias = weight(l.v_bias);
    }
    x_BTD = x_BTD + attention(rms_norm(x_BTD, weight(l.attention_norm), dims_.norm_eps), w, dims_.head_dim, rope_);
    x_BTD = x_BTD +
            feed_forward(rms_norm(x_BTD, weight(l.ffn_norm), dims_.norm_eps), weight(l.w1), weight(l.w2), weight(l.w3));
  }
  if (!spec_.head) return x_BTD;
  return at::linear(rms_norm(x_BTD, weight(norm_), dims_.norm_eps), weight(head_));
}

at::Tensor token_losses(const at::Tensor& logits_BTV, const at::Tensor& targets_BT) {
  return at::cross_entropy_loss(logits_BTV.to(at::kFloat).flatten(0, 1), targets_BT.flatten(), /*weight=*/{},
                                at::Reduction::None);
}

at::Tensor exact_token_losses(const at::Tensor& logits_BTV, const at::Tensor& targets_BT) {
  const at::Tensor logits = logits_BTV.detach().to(at::kFloat).flatten(0, 1).contiguous(),
                   targets = targets_BT.flatten().contiguous();
  const at::Tensor losses = at::empty({logits.size(0)}, at::kDouble);
  const std::int64_t vocab = logits.size(1);
  at::parallel_for(0, logits.size(0), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const std::span x(logits.const_data_ptr<float>() + row * vocab, static_cast<std::size_t>(vocab));
      const double greatest = *std::max_element(x.begin(), x.end());
      double sum = 0;
      for (const float value : x) sum += std::exp(value - greatest);
      losses.data_ptr<double>()[row] =
          std::log(sum) + greatest - x[static_cast<std::size_t>(targets.const_data_ptr<std::int64_t>()[row])];
    }
  });
  return losses;
}

double ordered_sum(const at::Tensor& losses) {
  const at::Tensor values = losses.detach().to(at::kDouble).contiguous();
  double sum = 0;
  for (const double x : std::span(values.const_data_ptr<double>(), static_cast<std::size_t>(values.numel()))) sum += x;
  return sum;
}

}  // namespace titan::train
