#include "libtrain/engine/pipeline/executor.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <stdexcept>

#include "libtrain/engine/device/device.h"
#include "libtrain/engine/device/host_values.h"
#include "libtrain/engine/parallel/tags.h"
#include "libtrain/job/schedule/schedule_simulator.h"
#include "recipe/plan/run_plan.h"

namespace titan::train {
namespace {

// Gradients sent and not yet known to have arrived, per stage.
constexpr std::size_t kGradientsUnderWay = 2;

template <typename T>
T value_of(ckpt::Result<T> result) {
  if (!result.ok()) throw std::runtime_error(result.status().to_string());
  return std::move(*result);
}

// One tag per sending stage, micro-batch and direction, so that transfers under way at once never share one.
std::uint64_t transfer_tag(bool backward, std::uint32_t stage, std::uint32_t micro_batch, std::uint32_t count) {
  return (std::uint64_t{stage} * count + micro_batch) * 2 + (backward ? 1 : 0);
}

void check_tags(std::size_t stages, std::uint32_t count) {
  if (std::uint64_t{stages} * count > kFirstExchangeTag / 2)
    throw std::length_error(std::to_string(stages) + " stages with " + std::to_string(count) +
                            " micro-batches each need more tags than there are");
}

/// As `stage` needs them.
Documents documents_for(const Stage& stage, const MicroBatch& batch) {
  std::vector<std::vector<std::int64_t>> starts;
  for (const SampleMarks& marks : batch.marks) starts.push_back(marks.starts);
  return documents_of(starts, batch.tokens.size(1), stage.rope());
}

}  // namespace

MicroBatch micro_batch_of(const at::Tensor& tokens, std::vector<SampleMarks> marks) {
  const std::int64_t length = tokens.size(1);
  const at::Tensor here = device().from_host(tokens);
  const auto part = [&](std::int64_t begin) { return here.slice(1, begin, begin + length - 1).contiguous(); };
  MicroBatch batch{part(0), part(1), std::move(marks)};
  std::vector<std::int64_t> places;
  for (std::size_t row = 0; row < batch.marks.size(); ++row)
    for (const std::int64_t place : batch.marks[row].untrained)
      places.push_back(static_cast<std::int64_t>(row) * (length - 1) + place - 1);
  if (places.empty()) return batch;
  const at::Tensor host = device().host_tensor({static_cast<std::int64_t>(places.size())}, at::kLong);
  std::ranges::copy(places, mutable_host_values<std::int64_t>(host).begin());
  batch.targets = batch.targets.clone();  // of one row it is a view, beside the tokens
  batch.targets.view(-1).index_fill_(0, device().from_host(host), kNoTarget);
  return batch;
}

Executor::Executor(World& world, const recipe::RunPlan& plan, std::vector<Stage*> stages, const ScheduleTable& compute)
    : world_(world),
      plan_(plan),
      share_(share_of(plan, static_cast<std::uint32_t>(world.dp_rank))),
      rank_of_(plan.stage_cuts.size() + 1) {
  actions_ = value_of(lower_schedule(compute)).at(static_cast<std::size_t>(world.stage));
  for (std::uint32_t rank = 0; rank < compute.size(); ++rank)
    for (const Action& action : compute[rank]) rank_of_.at(action.stage) = rank;
  check_tags(rank_of_.size(), share_.count);
  std::size_t sums = 0;
  for (Stage* stage : stages) {
    if (!is_here(stage->index())) throw std::logic_error("a stage that the table puts on another rank");
    held_.push_back({stage, sums, std::make_unique<StageGradients>()});
    sums += stage->parameters().size();
  }
}

const Executor::Held& Executor::held(std::uint32_t stage) const {
  const auto found = std::ranges::find_if(held_, [&](const Held& h) { return h.stage->index() == stage; });
  if (found == held_.end()) throw std::logic_error("the table has a stage on this rank that nobody built");
  return *found;
}

void Executor::post_receive(const Place& place) {
  const std::uint32_t from = place.backward ? place.stage + 1 : place.stage - 1;
  Incoming incoming;
  incoming.tensor =
      buffers_.take({plan_.batch.micro, plan_.batch.seq_len, plan_.dims.dim}, plan_.bf16 ? at::kBFloat16 : at::kFloat);
  incoming.transfer = world_.pp->recv(incoming.tensor, rank_of(from),
                                      transfer_tag(place.backward, from, place.micro_batch, share_.count));
  incoming_.emplace(place, std::move(incoming));
}

std::string Executor::description_of(const Place& place) const {
  const std::uint32_t from = place.backward ? place.stage + 1 : place.stage - 1;
  return "stage " + std::to_string(place.stage) + " waited for " +
         (place.backward ? "the gradient" : "the activations") + " of micro-batch " +
         std::to_string(share_.at(place.micro_batch)) + " from stage " + std::to_string(from) + " on pipeline rank " +
         std::to_string(rank_of(from));
}

at::Tensor Executor::take_received(const Place& place) {
  const auto found = incoming_.find(place);
  if (found == incoming_.end()) throw std::logic_error("pipeline table uses a tensor that was never received");
  if (found->second.transfer) {
    const StepClock::In waiting(clock_, &StepTimes::pipeline);
    const ActionTrace::In traced(trace_, "wait");
    try {
      found->second.transfer->wait();
    } catch (CommError& error) {
      error.status.causes.push_back(description_of(place));
      throw;
    }
  }
  at::Tensor tensor = std::move(found->second.tensor);
  incoming_.erase(found);
  return tensor;
}

void Executor::hand_over(const Place& place, at::Tensor tensor) {
  if (is_here(place.stage)) {
    incoming_.emplace(place, Incoming{std::move(tensor), nullptr});
  } else {
    to_send_.emplace(place, std::move(tensor));
  }
}

MicroBatch Executor::load(const BatchSource& batches, std::uint32_t index) {
  const StepClock::In loading(clock_, &StepTimes::data);
  return batches(index);
}

void Executor::forward(const Held& held, std::uint32_t local, const BatchSource& batches, std::uint64_t tokens,
                       StepOutput& out) {
  const Stage& stage = *held.stage;
  const MicroBatch batch = needs_data(stage) ? load(batches, share_.at(local)) : MicroBatch{};
  Flight flight{StagePass(stage, *held.gradients, documents_apart_ ? documents_for(stage, batch) : Documents{}), {}};
  at::Tensor output =
      flight.pass.forward(stage.spec().embedding ? batch.tokens : take_received({stage.index(), local, false}),
                          [&](std::size_t segment) { before_use(stage, segment); });
  if (stage.spec().head) {
    before_loss();
    HeadLoss loss = stage.loss(output, batch.targets, 1.0 / static_cast<double>(tokens));
    loss_sums_.emplace(share_.at(local), device().loss_sum(loss.losses));
    flight.seed = std::move(loss.grad_x);
    out.sums[held.first_sum + stage.head_parameter()].insert(share_.at(local), std::move(loss.grad_weight));
  } else {
    hand_over({stage.index() + 1, local, false}, std::move(output));
  }
  in_flight_.emplace(std::pair{stage.index(), local}, std::move(flight));
}

std::span<TreeSum> Executor::sums_of(const Held& held, StepOutput& out) const {
  return std::span(out.sums).subspan(held.first_sum, held.stage->parameters().size());
}

void Executor::backward(const Held& held, std::uint32_t local, std::vector<WeightProduct>* later, StepOutput& out) {
  const Stage& stage = *held.stage;
  const auto found = in_flight_.find({stage.index(), local});
  if (found == in_flight_.end()) throw std::logic_error("pipeline table runs a backward before its forward");
  Flight flight = std::move(found->second);
  in_flight_.erase(found);

  at::Tensor seed = std::move(flight.seed);
  if (!stage.spec().head) {
    seed = take_received({stage.index(), local, true});
    const StepClock::In waiting(clock_, &StepTimes::pipeline);
    if (!is_here(stage.index() + 1)) activations_.settle(transfer_tag(false, stage.index(), local, share_.count));
  }
  held.gradients->begin(sums_of(held, out), share_.at(local), later);
  // Where W comes later, ranks that lack the micro-batch pass over that, and no gradients leave before it.
  StagePass::OnSegment after;
  if (later == nullptr) after = [&](std::size_t) { after_backward(stage, local, out); };
  at::Tensor grad = flight.pass.backward(std::move(seed), after);
  if (!stage.spec().embedding) hand_over({stage.index() - 1, local, true}, std::move(grad));
}

void Executor::multiply_weights(const Held& held, std::uint32_t local, StepOutput& out) {
  auto node = products_.extract({held.stage->index(), local});
  if (node.empty()) throw std::logic_error("pipeline table runs W before its I");
  held.gradients->begin(sums_of(held, out), share_.at(local));
  held.gradients->multiply(std::move(node.mapped()), [&] {
    device().keep_pace(kLaunchesOfProduct);
    after_backward(*held.stage, local, out);
  });
}

void Executor::before_use(const Stage& stage, std::size_t segment) {
  if (!beside_.before_use) return;
  // A segment's parameters are one part of what travels.
  const StepClock::In waiting(clock_, &StepTimes::gather);
  beside_.before_use(stage.index(), stage.own_parameters(segment).front());
}

void Executor::before_loss() {
  if (!beside_.before_loss) return;
  const StepClock::In waiting(clock_, &StepTimes::gather);
  beside_.before_loss();
}

void Executor::after_backward(const Stage& stage, std::uint32_t local, StepOutput& out) {
  if (!beside_.after_backward) return;
  const StepClock::In exchanging(clock_, &StepTimes::exchange);
  beside_.after_backward(stage.index(), local, out.sums);
}

void Executor::collect(std::uint32_t stage, std::uint32_t local, std::span<TreeSum> sums) {
  if (!collect_) return;
  const StepClock::In exchanging(clock_, &StepTimes::exchange);
  const ActionTrace::In traced(trace_, "exchange");
  collect_(stage, local, sums);
}

void Executor::run(const Action& action, const BatchSource& batches, std::uint64_t tokens, StepOutput& out) {
  const auto [kind, stage, local] = action;
  const std::uint32_t count = share_.count;
  if (local >= count) {
    if (kind == ActionKind::kBackward || kind == ActionKind::kBackwardWeight) collect(stage, local, {});
    return;
  }
  const ActionTrace::In traced(trace_, action);
  switch (kind) {
    case ActionKind::kRecvForward: return post_receive({stage, local, false});
    case ActionKind::kRecvBackward: return post_receive({stage, local, true});
    case ActionKind::kForward: {
      const StepClock::In running(clock_, &StepTimes::forward);
      return forward(held(stage), local, batches, tokens, out);
    }
    case ActionKind::kBackward: {
      const StepClock::In running(clock_, &StepTimes::backward);
      backward(held(stage), local, nullptr, out);
      return collect(stage, local, sums_of(held(stage), out));
    }
    case ActionKind::kBackwardInput: {
      const StepClock::In running(clock_, &StepTimes::backward);
      return backward(held(stage), local, &products_[{stage, local}], out);
    }
    case ActionKind::kBackwardWeight: {
      const StepClock::In running(clock_, &StepTimes::backward);
      multiply_weights(held(stage), local, out);
      return collect(stage, local, sums_of(held(stage), out));
    }
    case ActionKind::kSendForward: {
      const auto node = to_send_.extract({stage + 1, local, false});
      return activations_.send(*world_.pp, node.mapped(), rank_of(stage + 1), transfer_tag(false, stage, local, count));
    }
    case ActionKind::kSendBackward: {
      const auto node = to_send_.extract({stage - 1, local, true});
      gradients_.send(*world_.pp, node.mapped(), rank_of(stage - 1), transfer_tag(true, stage, local, count));
      return gradients_.keep_newest(kGradientsUnderWay * held_.size());
    }
  }
}

void Executor::read_losses(std::vector<double>& losses) {
  std::vector<at::Tensor> sums;
  for (const auto& [index, sum] : loss_sums_) sums.push_back(sum);
  const std::vector<double> values = device().read(sums);
  std::size_t next = 0;
  for (const auto& [index, sum] : loss_sums_) losses[index] = values[next++];
  loss_sums_.clear();
}

Executor::StepOutput Executor::run_step(const BatchSource& batches, std::uint64_t tokens) {
  const auto count = static_cast<std::uint32_t>(plan_.batch.count);
  StepOutput out;
  out.losses.assign(count, 0.0);
  for (const Held& held : held_)
    for (std::size_t i = 0; i < held.stage->parameters().size(); ++i) out.sums.emplace_back(count, share_.block);
  const StepClock::In between(clock_, &StepTimes::pipeline);
  for (const Action& action : actions_) run(action, batches, tokens, out);
  gradients_.keep_newest(0);
  read_losses(out.losses);
  return out;
}

at::Tensor Executor::run_through(const Stage& stage, at::Tensor x, const MicroBatch& batch) {
  const Documents documents = documents_apart_ ? documents_for(stage, batch) : Documents{};
  for (std::size_t segment = 0; segment < stage.segments(); ++segment) {
    device().keep_pace(kLaunchesOfLayer);
    before_use(stage, segment);
    x = stage.run(segment, x, nullptr, documents);
  }
  return x;
}

std::optional<std::vector<double>> Executor::run_forward(const BatchSource& batches, std::uint32_t count,
                                                         std::int64_t rows, std::int64_t seq_len,
                                                         const std::function<std::int64_t(std::uint32_t)>& valid_rows,
                                                         const std::function<bool()>& goes_on) {
  const at::NoGradGuard no_grad;
  check_tags(rank_of_.size(), count);
  std::vector<double> losses(count, 0.0);
  const Node block = dp_block(count, plan_.mesh.dp, static_cast<std::uint32_t>(world_.dp_rank));
  const std::uint32_t most = (count + plan_.mesh.dp - 1) / plan_.mesh.dp;
  // Ranks with several stages take as many batches as there are ranks through each of them: one batch after the other
  // would come back to a rank only when it had been on every other one. All ranks ask goes_on at the same batches.
  const std::uint32_t window = rank_of_.size() > plan_.mesh.pp ? plan_.mesh.pp : 1;
  bool whole = true;
  for (std::uint32_t begin = 0; begin < most && whole; begin += window) {
    std::uint32_t end = begin;
    while (end < std::min(begin + window, most) && (whole = goes_on())) ++end;
    std::map<std::uint32_t, at::Tensor> outputs;  // by batch, for the next stage, where that is here
    for (const Held& held : held_)
      for (std::uint32_t index = block.lo + begin; index < std::min(block.lo + end, block.hi); ++index) {
        const Stage& stage = *held.stage;
        const MicroBatch batch = needs_data(stage) ? batches(index) : MicroBatch{};
        at::Tensor x = batch.tokens;
        if (!stage.spec().embedding && is_here(stage.index() - 1)) {
          x = std::move(outputs.at(index));
        } else if (!stage.spec().embedding) {
          x = buffers_.take({rows, seq_len, plan_.dims.dim}, plan_.bf16 ? at::kBFloat16 : at::kFloat);
          world_.pp->recv(x, rank_of(stage.index() - 1), transfer_tag(false, stage.index() - 1, index, count))->wait();
        }
        x = run_through(stage, std::move(x), batch);
        if (stage.spec().head) {
          before_loss();
          const at::Tensor of_tokens = stage.exact_losses(x, batch.targets, !batch.marks.empty());
          loss_sums_.emplace(index, device().loss_sum(of_tokens.slice(0, 0, valid_rows(index) * seq_len)));
        } else if (is_here(stage.index() + 1)) {
          outputs[index] = x;
        } else {
          activations_.send(*world_.pp, x, rank_of(stage.index() + 1),
                            transfer_tag(false, stage.index(), index, count));
          activations_.keep_newest(plan_.mesh.pp);
        }
      }
  }
  activations_.keep_newest(0);
  read_losses(losses);
  return whole ? std::optional(std::move(losses)) : std::nullopt;
}

}  // namespace titan::train
