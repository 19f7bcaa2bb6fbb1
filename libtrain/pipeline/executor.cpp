#include "libtrain/pipeline/executor.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/autograd.h>

#include <stdexcept>

namespace titan::train {
namespace {

// One tag per (direction, micro-batch), so that transfers under way at once never share one.
std::uint64_t transfer_tag(bool backward, std::uint32_t micro_batch) {
  return std::uint64_t{micro_batch} * 2 + (backward ? 1 : 0);
}

}  // namespace

Executor::Executor(World& world, const recipe::RunPlan& plan, Stage& stage)
    : world_(world), plan_(plan), stage_(stage) {
  block_ =
      dp_block(static_cast<std::uint32_t>(plan.batch.count), plan.mesh.dp, static_cast<std::uint32_t>(world.dp_rank));
  auto compute = make_schedule(plan.schedule, plan.mesh.pp, block_.hi - block_.lo);
  if (!compute.ok()) throw std::runtime_error(compute.status().to_string());
  auto lowered = lower_schedule(*compute);
  if (!lowered.ok()) throw std::runtime_error(lowered.status().to_string());
  actions_ = lowered.value()[static_cast<std::size_t>(world.stage)];
}

at::Tensor Executor::hidden_buffer(std::int64_t rows, std::int64_t seq_len) const {
  return at::empty({rows, seq_len, plan_.dims.dim}, at::TensorOptions().dtype(plan_.bf16 ? at::kBFloat16 : at::kFloat));
}

void Executor::post_receive(const Action& action) {
  const bool backward = action.kind == ActionKind::kRecvBackward;
  Incoming incoming;
  incoming.tensor = hidden_buffer(plan_.batch.micro, plan_.batch.seq_len);
  incoming.transfer =
      world_.pp->recv(incoming.tensor, world_.stage + (backward ? 1 : -1), transfer_tag(backward, action.micro_batch));
  incoming_.emplace(std::pair{action.kind, action.micro_batch}, std::move(incoming));
}

at::Tensor Executor::take_received(ActionKind kind, std::uint32_t micro_batch) {
  const auto found = incoming_.find({kind, micro_batch});
  if (found == incoming_.end()) throw std::logic_error("pipeline table uses a tensor that was never received");
  found->second.transfer->wait();
  at::Tensor tensor = std::move(found->second.tensor);
  incoming_.erase(found);
  return tensor;
}

void Executor::send(const at::Tensor& tensor, int to, std::uint64_t tag) {
  Outgoing out;
  out.tensor = tensor.detach().contiguous();
  out.transfer = world_.pp->send(out.tensor, to, tag);
  outgoing_.push_back(std::move(out));
}

void Executor::drain_sends() {
  for (Outgoing& out : outgoing_) out.transfer->wait();
  outgoing_.clear();
}

void Executor::forward(std::uint32_t local, const BatchSource& batches, StepOutput& out) {
  const std::uint32_t global = block_.lo + local;
  const bool needs_data = stage_.spec().embedding || stage_.spec().head;
  const MicroBatch batch = needs_data ? batches(global) : MicroBatch{};
  InFlight flight;
  at::Tensor input = batch.tokens;
  if (!stage_.spec().embedding) {
    flight.input = take_received(ActionKind::kRecvForward, local).requires_grad_(true);
    input = flight.input;
  }
  flight.output = stage_.forward(input);
  if (stage_.spec().head) {
    flight.output = token_losses(flight.output, batch.targets);
    out.losses[global] = ordered_sum(flight.output.detach());
  }
  in_flight_[local] = std::move(flight);
}

void Executor::backward(std::uint32_t local, std::uint64_t tokens, StepOutput& out) {
  const auto found = in_flight_.find(local);
  if (found == in_flight_.end()) throw std::logic_error("pipeline table runs a backward before its forward");
  InFlight flight = std::move(found->second);
  in_flight_.erase(found);

  const at::Tensor seed = stage_.spec().head ? at::full_like(flight.output, 1.0 / static_cast<double>(tokens))
                                             : take_received(ActionKind::kRecvBackward, local);
  std::vector<at::Tensor> inputs;
  for (const StageParameter& parameter : stage_.parameters()) inputs.push_back(parameter.compute);
  if (flight.input.defined()) inputs.push_back(flight.input);
  std::vector<at::Tensor> grads = torch::autograd::grad({flight.output}, inputs, {seed});
  for (std::size_t i = 0; i < stage_.parameters().size(); ++i)
    out.sums[i].insert(block_.lo + local, std::move(grads[i]));
  if (flight.input.defined()) grad_to_send_[local] = std::move(grads.back());
}

Executor::StepOutput Executor::run_step(const BatchSource& batches, std::uint64_t tokens) {
  const auto count = static_cast<std::uint32_t>(plan_.batch.count);
  StepOutput out;
  out.losses.assign(count, 0.0);
  for (std::size_t i = 0; i < stage_.parameters().size(); ++i) out.sums.emplace_back(count, block_);

  for (const Action& action : actions_) {
    switch (action.kind) {
      case ActionKind::kRecvForward:
      case ActionKind::kRecvBackward: post_receive(action); break;
      case ActionKind::kForward: forward(action.micro_batch, batches, out); break;
      case ActionKind::kBackward: backward(action.micro_batch, tokens, out); break;
      case ActionKind::kSendForward:
        send(in_flight_.at(action.micro_batch).output, world_.stage + 1, transfer_tag(false, action.micro_batch));
        break;
      case ActionKind::kSendBackward:
        send(grad_to_send_.at(action.micro_batch), world_.stage - 1, transfer_tag(true, action.micro_batch));
        grad_to_send_.erase(action.micro_batch);
        break;
    }
  }
  drain_sends();
  return out;
}

std::vector<double> Executor::run_forward(const BatchSource& batches, std::uint32_t count, std::int64_t rows,
                                          std::int64_t seq_len,
                                          const std::function<std::int64_t(std::uint32_t)>& valid_rows) {
  const at::NoGradGuard no_grad;
  std::vector<double> losses(count, 0.0);
  const Node block = dp_block(count, plan_.mesh.dp, static_cast<std::uint32_t>(world_.dp_rank));
  for (std::uint32_t index = block.lo; index < block.hi; ++index) {
    const bool needs_data = stage_.spec().embedding || stage_.spec().head;
    const MicroBatch batch = needs_data ? batches(index) : MicroBatch{};
    at::Tensor input = batch.tokens;
    if (!stage_.spec().embedding) {
      input = hidden_buffer(rows, seq_len);
      world_.pp->recv(input, world_.stage - 1, transfer_tag(false, index))->wait();
    }
    const at::Tensor output = stage_.forward(input);
    if (stage_.spec().head) {
      losses[index] = ordered_sum(exact_token_losses(output, batch.targets).slice(0, 0, valid_rows(index) * seq_len));
    } else {
      send(output, world_.stage + 1, transfer_tag(false, index));
    }
  }
  drain_sends();
  return losses;
}

}  // namespace titan::train
