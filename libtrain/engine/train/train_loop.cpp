#include "libtrain/engine/train/train_loop.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "ckpt/base/exit_code.h"
#include "ckpt/plan/lr_schedule.h"
#include "libtrain/engine/device/device.h"
#include "libtrain/engine/device/host_values.h"
#include "libtrain/engine/train/validation.h"
#include "libtrain/job/control/gather.h"
#include "libtrain/job/metrics/chrome_trace.h"
#include "libtrain/job/metrics/device_use.h"
#include "libtrain/job/metrics/log.h"
#include "libtrain/job/metrics/step_clock.h"
#include "recipe/plan/flops.h"

namespace titan::train {
namespace {

using ckpt::Status;
using Clock = std::chrono::steady_clock;

PeakMemory memory_here() {
  const std::size_t tensors = device().memory().tensors;
  return {peak_resident_bytes(), tensors > 0 ? std::optional<std::uint64_t>(tensors) : std::nullopt};
}

/// The peak memory of the rank that used most.
PeakMemory memory_of(const StepRow& row) {
  PeakMemory memory = row.memory();
  if (const std::size_t total = device().memory().total; total > 0) memory.device = total;
  return memory;
}

ActionTrace* trace_of(std::optional<ActionTrace>& trace) { return trace ? &*trace : nullptr; }

bool every(std::int64_t interval, std::uint64_t step) { return step % static_cast<std::uint64_t>(interval) == 0; }

}  // namespace

TrainLoop::TrainLoop(RunState& run, Saves& saves)
    : run_(run),
      saves_(saves),
      steps_(static_cast<std::uint64_t>(run.config().training.steps)),
      tokens_per_step_(static_cast<std::uint64_t>(run.plan().batch.tokens_per_step())),
      flops_per_token_(recipe::flops_per_token(run.plan())),
      peak_tflops_(run.config().metrics.peak_tflops ? run.config().metrics.peak_tflops
                                                    : known_peak_tflops(device().name())),
      row_(run.plan(), NormOrder::of(run.config().training.norm_type)),
      policy_(run.config().training.on_nonfinite, run.config().training.max_skips, run.config().training.max_rollbacks),
      fault_(std::getenv("TITAN_SPOIL_GRADIENT"), run.world.rank, run.plan()) {
  for (const ckpt::ParameterMeta& parameter : run.plan().parameters) names_.push_back(parameter.name);
}

int TrainLoop::run() {
  note(StopPhase::kTraining);
  run_.options.watcher->begins(run_.start.decision.step, steps_, run_.world.size);
  spin_guard_.update();  // so that the next look measures the first step, not the start
  for (std::uint64_t number = run_.start.decision.step + 1; number <= steps_;) {
    Step step{number};
    compute(step);
    if (!all_finite(step.loss, step.norm)) {
      const std::optional<std::uint64_t> back = survive(step, row_.stop());
      if (row_.stop() || !back) return stop_after(back.value_or(saves_.newest()), true);
      number = *back + 1;
      continue;
    }
    apply(step);
    report(step);
    if (const std::optional<int> code = boundary(number)) return *code;
    ++number;
  }
  if (run_.root()) log_info("training completed at step " + std::to_string(steps_));
  return 0;
}

void TrainLoop::compute(Step& step) {
  StepClock& clock = run_.engine.executor->clock();
  clock.start();
  const recipe::Config::Profiling& profiling = run_.config().profiling;
  if (profiling.enable_profiling && every(profiling.profile_freq, step.number)) step.trace.emplace();
  ActionTrace* const trace = trace_of(step.trace);
  run_.engine.executor->trace(trace);

  step.trained = trained_tokens();
  Executor::StepOutput out = run_.engine.executor->run_step(
      [&](std::uint32_t index) { return batch(index, run_.progress.data.samples); }, step.trained);
  step.grads = clock.time(&StepTimes::exchange, [&] {
    const ActionTrace::In traced(trace, "exchange");
    return run_.engine.exchange->reduce(out.sums);
  });
  step.samples = samples_of_step();
  fault_.spoil(step.samples, step.grads);
  clock.time(&StepTimes::optimizer, [&] {
    const bool root = run_.root();
    row_.fill(out.losses, {stop_requested(), root && !trouble().ok(), saves_.over_here(), root && saves_.time_is_up()},
              step.grads);
    row_.note_memory(run_.world.rank, memory_here());
    row_.note_balance(out.balance);
  });
  clock.time(&StepTimes::exchange, [&] {
    const ActionTrace::In traced(trace, "exchange");
    row_.add_up(*run_.world.all);
  });
  // A failed save does not end a run that is stopping: the save of the stop replaces it.
  if (row_.saved() == run_.world.size && !row_.stop()) saves_.over_everywhere();
  if (row_.trouble()) run_.on_root([&] { return trouble(); });
  step.loss = row_.loss_sum() / static_cast<double>(step.trained);
  step.norm = row_.grad_norm();
}

void TrainLoop::apply(Step& step) {
  policy_.passed();
  run_.engine.executor->clock().time(&StepTimes::save, [&] { saves_.before_update(); });
  const double lr = ckpt::lr_at(run_.start.lr.phases, step.number);
  update(step, lr);
  // Metrics report the rate that was applied. It must be that of the schedule which checkpoints store.
  if (run_.engine.optimizer->applied_lr() != lr)
    throw std::logic_error("step " + std::to_string(step.number) + ": the learning rate applied is not the schedule's");
  if (run_.world.first_step_done) std::exchange(run_.world.first_step_done, nullptr)();

  move_to(step.samples.end());
  run_.progress.tokens += tokens_per_step_;
  run_.progress.step = step.number;
  ++run_.progress.optimizer_step;
  note(StopPhase::kTraining);
  spin_guard_.update();
}

void TrainLoop::report(Step& step) {
  const double tokens_per_micro_batch =
      static_cast<double>(step.trained) / static_cast<double>(run_.plan().batch.count);
  StepMetrics metrics{.step = step.number,
                      .loss = step.loss,
                      .max_loss = row_.largest_loss() / tokens_per_micro_batch,
                      .router_aux_loss = row_.balance(),
                      .grad_norm = step.norm,
                      .lr = run_.engine.optimizer->applied_lr(),
                      .tokens = run_.progress.tokens,
                      .samples = run_.progress.data.samples,
                      .time_s = seconds_since(step.begin),
                      .times = run_.engine.executor->clock().read(),
                      .memory = memory_of(row_)};
  metrics.tps_total = static_cast<double>(tokens_per_step_) / metrics.time_s;
  metrics.tps = metrics.tps_total / run_.world.size;
  metrics.tflops = flops_per_token_ * metrics.tps / 1e12;
  if (peak_tflops_) metrics.mfu = 100 * *metrics.tflops / *peak_tflops_;
  const auto& settings = run_.config().metrics;
  const bool shown =
      step.number == run_.start.decision.step + 1 || every(settings.log_freq, step.number) || is_last(step.number);
  run_.options.watcher->step(metrics, shown);
  if (run_.root()) {
    run_.root_objects.files->step(metrics, shown);
    if (settings.parameter_norms > 0 && every(settings.parameter_norms, step.number))
      run_.root_objects.files->parameter_norms(step.number, names_, row_.parameter_norms());
    for (; run_.progress.next_epoch <= ckpt::last_epoch(run_.progress.data); ++run_.progress.next_epoch) {
      log_info("epoch " + std::to_string(run_.progress.next_epoch) + " begins within step " +
               std::to_string(step.number));
      run_.root_objects.files->event(step.number, "epoch", {{"epoch", run_.progress.next_epoch}});
    }
  }
  if (step.trace) write_trace(step);
}

std::optional<int> TrainLoop::boundary(std::uint64_t step) {
  const recipe::Config& config = run_.config();
  const bool last = is_last(step), stop = row_.stop();
  const bool validates = config.validation.enable && (last || every(config.validation.freq, step));
  if (validates && stop) left_out(step);
  if (!last && stop) return stop_after(step, true);
  std::optional<int> code;
  if (!last && step == static_cast<std::uint64_t>(config.debug.stop_at_step.value_or(0)))
    code = stop_after(step, false);
  else if (config.checkpoint.enable && last)
    saves_.last(step);
  else if (config.checkpoint.enable && saves_.is_due(step, row_.save_due()))
    saves_.due(step);
  note(last || code ? StopPhase::kEnding : StopPhase::kTraining);
  if (validates && !stop && !validate(step) && !last && !code) return stop_after(step, true);
  return code;
}

// The rank of stage 0 in each pipeline counts the tokens without a loss in its micro-batches.
std::uint64_t TrainLoop::trained_tokens() {
  if (run_.start.dataset->is_plain()) return tokens_per_step_;
  double left_out[1] = {0};
  const Share share = share_of(run_.plan(), static_cast<std::uint32_t>(run_.world.dp_rank));
  for (std::uint32_t local = 0; run_.world.stage == 0 && local < share.count; ++local)
    for (const SampleMarks& row : read_batch(share.at(local), run_.progress.data.samples).marks)
      left_out[0] += static_cast<double>(row.untrained.size());
  run_.world.all->sum(left_out);
  // At least 1, since losses are divided by it: there may be a step in which no token has a loss.
  return std::max<std::uint64_t>(1, tokens_per_step_ - static_cast<std::uint64_t>(left_out[0]));
}

MicroBatch TrainLoop::batch(std::uint32_t index, std::uint64_t position) {
  HostBatch read = read_batch(index, position);
  return micro_batch_of(read.tokens, std::move(read.marks));
}

TrainLoop::HostBatch TrainLoop::read_batch(std::uint32_t index, std::uint64_t position) {
  const std::int64_t rows = run_.plan().batch.micro, length = run_.plan().batch.seq_len + 1;
  const Dataset& data = *run_.start.dataset;
  HostBatch batch{device().host_tensor({rows, length}, at::kLong), {}};
  const std::span places = mutable_host_values<std::int64_t>(batch.tokens);
  for (std::int64_t row = 0; row < rows; ++row) {
    const auto number = std::uint64_t{index} * static_cast<std::uint64_t>(rows) + static_cast<std::uint64_t>(row);
    const std::uint64_t sample = ckpt::kept_sample(run_.progress.data.excluded, position, number);
    const std::span of_row = places.subspan(static_cast<std::size_t>(row * length), static_cast<std::size_t>(length));
    check(data.sample(sample, of_row), scope_of_sample_error(run_.world.stage));
    if (data.is_plain()) continue;
    auto marks = data.marks(sample, of_row);
    check(marks.status(), scope_of_sample_error(run_.world.stage));
    batch.marks.push_back(std::move(*marks));
  }
  return batch;
}

// From the first to the last sample of the step. Excluded samples in between are part of the range.
ckpt::SampleRange TrainLoop::samples_of_step() const {
  const auto last = static_cast<std::uint64_t>(run_.plan().batch.global) - 1;
  const std::uint64_t first = ckpt::kept_sample(run_.progress.data.excluded, run_.progress.data.samples, 0);
  return {first, ckpt::kept_sample(run_.progress.data.excluded, run_.progress.data.samples, last) + 1 - first};
}

void TrainLoop::move_to(std::uint64_t sample) {
  run_.progress.data.samples = sample;
  run_.progress.data.excluded = ckpt::ahead_of(run_.progress.data.excluded, sample);
}

// The step has not updated anything. All ranks have the same loss and norm, so they decide the same.
std::optional<std::uint64_t> TrainLoop::survive(const Step& step, bool stop) {
  using enum NonFinitePolicy::Action;
  const NonFinite found =
      non_finite(run_.plan(), step.number, step.samples, step.loss, step.norm, row_.first_non_finite());
  if (policy_.goes_back()) saves_.wait();
  const NonFinitePolicy::Action action = policy_.meet(saves_.saved().has_value());
  if (action == kStop) {
    const Status status = policy_.stop_status(found);
    if (run_.root()) run_.root_objects.files->event(found.step, "non_finite", event_fields(found, "stop"));
    throw StatusError(status);
  }
  const std::uint64_t back = action == kRollback ? saves_.saved()->progress.step : found.step - 1;
  if (action == kRollback && stop) {
    log_warn(one_line(found) + "; the run stops, and continues from step " + std::to_string(back));
    return back;
  }
  const std::string then = action == kRollback
                               ? "went back to step " + std::to_string(back) + ", these samples are left out"
                               : "these samples are skipped";
  log_warn(one_line(found) + "; " + then);
  noted_skips_.add(run_.state.attempts.back().notes, one_line(found) + "; " + then);
  if (action == kRollback) {
    try {
      go_back(*saves_.saved(), found.samples);
    } catch (const StatusError& error) {
      if (!is_stop(error.status)) throw;
      return std::nullopt;
    }
  } else {
    move_to(found.samples.end());
  }
  if (run_.root()) {
    EventFields fields = event_fields(found, action == kRollback ? "rollback" : "skip");
    if (action == kRollback) fields.emplace_back("from_step", found.step);
    run_.root_objects.files->event(action == kRollback ? back : found.step, "non_finite", fields);
  }
  return back;
}

void TrainLoop::go_back(SavedPoint& saved, ckpt::SampleRange left_out) {
  reload(run_, saved.path, saved.id, saved.moments);
  // Stored in `saved`, so that a second return to this checkpoint excludes these samples, too.
  saved.progress.data.excluded = ckpt::with_ranges(saved.progress.data.excluded, {left_out});
  run_.progress = saved.progress;
  run_.on_root([&] {
    return run_.root_objects.files->back_to(saved.progress.step, run_.state.attempts.back().number,
                                            run_.store_patience());
  });
}

void TrainLoop::left_out(std::uint64_t step) const {
  if (run_.root()) log_warn("the validation of step " + std::to_string(step) + " is left out: the run stops");
}

bool TrainLoop::validate(std::uint64_t step) {
  const auto start = Clock::now();
  const std::optional<ValidationResult> result =
      run_validation(run_.world, *run_.engine.executor, *run_.start.dataset, run_.config(), stop_requested);
  if (!result) {
    left_out(step);
    return false;
  }
  ValidationMetrics metrics{.step = step, .loss = result->loss, .tokens = result->tokens, .memory = memory_of(row_)};
  metrics.time_s = seconds_since(start);
  metrics.tps = static_cast<double>(result->tokens) / metrics.time_s / run_.world.size;
  if (run_.root_objects.retention) run_.root_objects.retention->validated(step, result->loss);
  run_.options.watcher->validated(metrics);
  if (run_.root()) run_.root_objects.files->validated(metrics);
  return true;
}

int TrainLoop::stop_after(std::uint64_t step, bool asked) {
  if (!run_.config().checkpoint.enable) {
    note(StopPhase::kEnding);
    if (run_.root()) log_warn("stopped without a save: checkpoint.enable = false");
    return code_without_save();
  }
  if (run_.root()) {
    const std::string name = "step " + std::to_string(step);
    log_info((step > saves_.newest() ? "saving " + name + ", then stopping ("
              : step > 0             ? name + " is saved; stopping ("
                                     : "no step is done; stopping (") +
             (asked                 ? who_asks()
              : run_.start.data_end ? "the data end"
                                    : "debug.stop_at_step") +
             ")");
  }
  saves_.last(step);
  note(StopPhase::kEnding);
  return ckpt::kExitSaved;
}

void TrainLoop::update(Step& step, double lr) {
  ActionTrace* const trace = trace_of(step.trace);
  const double clip = clip_coefficient(step.norm, run_.config().training.max_norm);
  StepClock& clock = run_.engine.executor->clock();
  const std::vector<at::Tensor> params = run_.engine.optimizer->params();
  for (std::size_t part = 0; part < run_.engine.exchange->parts(); ++part) {
    const auto [first, end] = run_.engine.exchange->pieces_of(part);
    const std::span of_part = std::span(step.grads).subspan(first, end - first);
    clock.time(&StepTimes::optimizer, [&] {
      const ActionTrace::In traced(trace, "optimizer");
      run_.engine.optimizer->step(first, of_part, lr, clip, run_.progress.optimizer_step + 1);
    });
    for (OwnedGradient& gradient : of_part) gradient.grad.reset();
    clock.time(&StepTimes::gather, [&] {
      const ActionTrace::In traced(trace, "gather");
      run_.engine.exchange->send_weights(part, std::span(params).subspan(first, end - first));
    });
  }
}

void TrainLoop::write_trace(const Step& step) {
  // All times are relative to rank 0's start of the step.
  const std::string ticks = std::to_string(step.trace_begin.time_since_epoch().count());
  const ActionTrace::Clock::duration origin(std::stoll(run_.world.io->broadcast(run_.root() ? ticks : "", 0)));
  std::string rows;
  gather_to_root(*run_.world.io,
                 chrome_rows(step.trace->spans(run_.world.rank, ActionTrace::Clock::time_point(origin)),
                             run_.plan().schedule_name() + " step " + std::to_string(step.number)),
                 [&](int, std::string_view bytes) { rows += bytes; });
  if (!run_.root()) return;
  run_.root_objects.files->trace(run_.config().profiling.save_traces_folder, step.number, chrome_document(rows));
}

}  // namespace titan::train
