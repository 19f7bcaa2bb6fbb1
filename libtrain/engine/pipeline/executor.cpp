#include "libtrain/engine/pipeline/executor.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "ckpt/base/integers.h"
#include "libtrain/engine/device/device.h"
#include "libtrain/engine/device/host_values.h"
#include "libtrain/job/schedule/schedule_simulator.h"
#include "recipe/plan/plan_values.h"

namespace titan::train {
namespace {

// Maximum number of activation gradients in transit, per stage.
constexpr std::size_t kGradientsUnderWay = 2;

template <typename T>
T value_of(ckpt::Result<T> result) {
  if (!result.ok()) throw std::runtime_error(result.status().to_string());
  return std::move(*result);
}

at::ScalarType type_of(const recipe::RunPlan& plan) { return plan.bf16 ? at::kBFloat16 : at::kFloat; }

std::vector<std::uint32_t> ranks_of_stages(const recipe::RunPlan& plan, const ScheduleTable& compute) {
  std::vector<std::uint32_t> ranks(plan.stage_cuts.size() + 1);
  for (std::uint32_t rank = 0; rank < compute.size(); ++rank)
    for (const Action& action : compute[rank]) ranks.at(action.stage) = rank;
  return ranks;
}

/// The documents of a micro-batch, with the RoPE rotations of `stage`.
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
  batch.targets = batch.targets.clone();  // if there is one row it is a view of the tokens' memory
  batch.targets.view(-1).index_fill_(0, device().from_host(host), kNoTarget);
  return batch;
}

Executor::Executor(World& world, const recipe::RunPlan& plan, std::vector<Stage*> stages, const ScheduleTable& compute)
    : world_(world),
      plan_(plan),
      share_(share_of(plan, static_cast<std::uint32_t>(world.dp_rank))),
      transfers_(world, ranks_of_stages(plan, compute),
                 {share_, {plan.batch.micro, plan.batch.seq_len, plan.dims.dim}, type_of(plan)}) {
  actions_ = value_of(lower_schedule(compute)).at(static_cast<std::size_t>(world.stage));
  std::size_t sums = 0;
  for (Stage* stage : stages) {
    if (!transfers_.is_here(stage->index())) throw std::logic_error("a stage that the table puts on another rank");
    held_.push_back({stage, sums, std::make_unique<StageGradients>()});
    sums += stage->parameters().size();
  }
}

const Executor::Held& Executor::held(std::uint32_t stage) const {
  const auto found = std::ranges::find_if(held_, [&](const Held& h) { return h.stage->index() == stage; });
  if (found == held_.end()) throw std::logic_error("the table has a stage on this rank that nobody built");
  return *found;
}

at::Tensor Executor::take(const TransferPlace& place) {
  if (!transfers_.is_posted(place)) return transfers_.take(place);
  const StepClock::In waiting(clock_, &StepTimes::pipeline);
  const ActionTrace::In traced(trace_, "wait");
  return transfers_.take(place);
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
  at::Tensor output = flight.pass.forward(stage.spec().embedding ? batch.tokens : take({stage.index(), local, false}),
                                          [&](std::size_t segment) { before_use(stage, segment); });
  if (stage.spec().head) {
    before_loss();
    HeadLoss loss = stage.loss(output, batch.targets, 1.0 / static_cast<double>(tokens));
    loss_sums_.emplace(share_.at(local), kernels().loss_sum(loss.losses));
    flight.seed = std::move(loss.grad_x);
    out.sums[held.first_sum + stage.head_parameter()].insert(share_.at(local), std::move(loss.grad_weight));
  } else {
    transfers_.hand_over({stage.index() + 1, local, false}, std::move(output));
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
    seed = take({stage.index(), local, true});
    const StepClock::In waiting(clock_, &StepTimes::pipeline);
    if (!transfers_.is_here(stage.index() + 1)) transfers_.settle({stage.index() + 1, local, false});
  }
  held.gradients->begin(sums_of(held, out), share_.at(local), later);
  // If weight gradients are computed later (action W), after_backward() is called then, not here.
  StagePass::OnSegment after;
  if (later == nullptr) after = [&](std::size_t) { after_backward(stage, local, out); };
  at::Tensor grad = flight.pass.backward(std::move(seed), after);
  if (!stage.spec().embedding) transfers_.hand_over({stage.index() - 1, local, true}, std::move(grad));
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
  if (!exchange_ || !exchange_->overlaps()) return;
  // All parameters of a segment belong to one part of the exchange, so waiting for one of them is enough.
  const StepClock::In waiting(clock_, &StepTimes::gather);
  exchange_->await_weights(stage.index(), stage.own_parameters(segment).front());
}

void Executor::before_loss() {
  if (!exchange_ || !exchange_->overlaps()) return;
  const StepClock::In waiting(clock_, &StepTimes::gather);
  exchange_->await_copies();
}

void Executor::after_backward(const Stage& stage, std::uint32_t local, StepOutput& out) {
  if (!exchange_ || !exchange_->overlaps()) return;
  const StepClock::In exchanging(clock_, &StepTimes::exchange);
  exchange_->begin(stage.index(), local, out.sums);
}

void Executor::collect(std::uint32_t stage, std::uint32_t local, std::span<TreeSum> sums) {
  if (!exchange_ || !exchange_->per_micro_batch()) return;
  const StepClock::In exchanging(clock_, &StepTimes::exchange);
  const ActionTrace::In traced(trace_, "exchange");
  exchange_->collect(stage, local, sums);
}

void Executor::run(const Action& action, const BatchSource& batches, std::uint64_t tokens, StepOutput& out) {
  const auto [kind, stage, local] = action;
  if (local >= share_.count) {
    if (kind == ActionKind::kBackward || kind == ActionKind::kBackwardWeight) collect(stage, local, {});
    return;
  }
  const ActionTrace::In traced(trace_, action);
  switch (kind) {
    case ActionKind::kRecvForward: return transfers_.post_receive({stage, local, false});
    case ActionKind::kRecvBackward: return transfers_.post_receive({stage, local, true});
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
    case ActionKind::kSendForward: return transfers_.send({stage + 1, local, false});
    case ActionKind::kSendBackward:
      transfers_.send({stage - 1, local, true});
      return transfers_.keep_newest(true, kGradientsUnderWay * held_.size());
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

double Executor::read_balance() {
  std::vector<at::Tensor> noted;
  for (const Held& held : held_)
    for (at::Tensor& loss : held.gradients->take_balance()) noted.push_back(std::move(loss));
  double sum = 0;
  if (noted.empty()) return sum;
  for (const double loss : device().read(noted)) sum += std::round(loss / kBalanceUnit);
  return sum * kBalanceUnit;
}

Executor::StepOutput Executor::run_step(const BatchSource& batches, std::uint64_t tokens) {
  const auto count = static_cast<std::uint32_t>(plan_.batch.count);
  StepOutput out;
  out.losses.assign(count, 0.0);
  for (const Held& held : held_)
    for (std::size_t i = 0; i < held.stage->parameters().size(); ++i) out.sums.emplace_back(count, share_.block);
  const StepClock::In between(clock_, &StepTimes::pipeline);
  for (const Action& action : actions_) run(action, batches, tokens, out);
  transfers_.keep_newest(true, 0);
  read_losses(out.losses);
  out.balance = read_balance();
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
  std::vector<double> losses(count, 0.0);
  StageTransfers transfers(transfers_, {{0, count, 1, {}}, {rows, seq_len, plan_.dims.dim}, type_of(plan_)});
  const Node block = dp_block(count, plan_.mesh.dp, static_cast<std::uint32_t>(world_.dp_rank));
  const std::uint32_t most = ckpt::ceil_div(count, plan_.mesh.dp);
  // If ranks have several stages, they pass `window` batches through one stage before they go to the next stage. With a
  // single batch, a rank would wait until the batch had been on all other ranks. goes_on() is called at the same
  // batches on all ranks.
  const std::uint32_t window = plan_.stage_cuts.size() >= plan_.mesh.pp ? plan_.mesh.pp : 1;
  bool whole = true;
  for (std::uint32_t begin = 0; begin < most && whole; begin += window) {
    std::uint32_t end = begin;
    while (end < std::min(begin + window, most) && (whole = goes_on())) ++end;
    for (const Held& held : held_)
      for (std::uint32_t index = block.lo + begin; index < std::min(block.lo + end, block.hi); ++index) {
        const Stage& stage = *held.stage;
        const MicroBatch batch = needs_data(stage) ? batches(index) : MicroBatch{};
        at::Tensor x = batch.tokens;
        if (!stage.spec().embedding) {
          const TransferPlace input{stage.index(), index, false};
          if (!transfers.is_here(input.from())) transfers.post_receive(input);
          x = transfers.take(input);
        }
        x = run_through(stage, std::move(x), batch);
        if (stage.spec().head) {
          before_loss();
          const at::Tensor of_tokens = stage.exact_losses(x, batch.targets, !batch.marks.empty());
          loss_sums_.emplace(index, kernels().loss_sum(of_tokens.slice(0, 0, valid_rows(index) * seq_len)));
        } else {
          const TransferPlace next{stage.index() + 1, index, false};
          transfers.hand_over(next, x);
          if (transfers.is_here(next.stage)) continue;
          transfers.send(next);
          transfers.keep_newest(false, plan_.mesh.pp);
        }
      }
  }
  transfers.keep_newest(false, 0);
  read_losses(losses);
  return whole ? std::optional(std::move(losses)) : std::nullopt;
}

}  // namespace titan::train
