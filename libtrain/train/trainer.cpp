#include "libtrain/train/trainer.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <thread>
#include <utility>

#include "ckpt/base/exit_code.h"
#include "ckpt/io/lock_wait.h"
#include "ckpt/model/history.h"
#include "ckpt/plan/lr_schedule.h"
#include "libtrain/device/device.h"
#include "libtrain/device/host_values.h"
#include "libtrain/device/tensor_memory.h"
#include "libtrain/forecast/out_of_memory.h"
#include "libtrain/launch/library_error.h"
#include "libtrain/launch/rank_process.h"
#include "libtrain/launch/signals.h"
#include "libtrain/metrics/chrome_trace.h"
#include "libtrain/metrics/device_use.h"
#include "libtrain/metrics/log.h"
#include "libtrain/metrics/step_clock.h"
#include "libtrain/model/runtime.h"
#include "libtrain/parallel/gather.h"
#include "libtrain/parallel/heartbeat.h"
#include "libtrain/pipeline/action_trace.h"
#include "libtrain/train/banner.h"
#include "libtrain/train/non_finite.h"
#include "libtrain/train/reload.h"
#include "libtrain/train/run_state.h"
#include "libtrain/train/saves.h"
#include "libtrain/train/spin_guard.h"
#include "libtrain/train/spoiled_gradient.h"
#include "libtrain/train/startup.h"
#include "libtrain/train/step_row.h"
#include "libtrain/train/validation.h"
#include "recipe/plan/flops.h"

namespace titan::train {
namespace {

using ckpt::Result;
using ckpt::Status;
using Clock = std::chrono::steady_clock;

PeakMemory memory_here() {
  const std::size_t tensors = device().memory().tensors;
  return {peak_resident_bytes(), tensors > 0 ? std::optional<std::uint64_t>(tensors) : std::nullopt};
}

/// Of any rank.
PeakMemory memory_of(const StepRow& row) {
  PeakMemory memory = row.memory();
  if (const std::size_t total = device().memory().total; total > 0) memory.device = total;
  return memory;
}

// A launcher tells its ranks one after the other: the signal that another rank has heard may be on its way.
std::string who_asks() {
  for (int look = 0; look < 20 && stop_signal() == 0; ++look)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return stop_signal() != 0 ? stop_name(stop_signal()) : "asked for on another rank";
}
constexpr std::chrono::seconds kLastLines{10};  // for the store to take them at the end of a run

class Trainer {
 public:
  Trainer(const TrainOptions& options, const std::string& no_log_file) : run_(options) {
    run_.no_log_file = no_log_file;
  }

  int run();
  /// Whether this rank had found its peers.
  bool met() const { return run_.world.all != nullptr; }
  /// What an error means that LibTorch or the library met on this rank.
  Status explain(const std::string& what) const;
  /// Tells the other ranks why this one leaves alone; whether none has before it.
  bool tell_peers(const Status& status) const { return !run_.world.leave || run_.world.leave(log_text(status)); }
  bool at_stop() const { return is_at_stop(run_.config(), run_.start.decision); }
  /// Leaves the ranks first: nobody waits for rank 0's commands and deletions.
  void shut_down();

 private:
  int loop();
  MicroBatch batch(std::uint32_t index, std::uint64_t position);
  /// For the answer to a stop signal.
  void note(StopPhase phase) const { note_progress(phase, run_.state.step, saves_.newest()); }
  /// What rank 0 has to tell.
  Status trouble() const { return run_.files->lost(); }
  /// False: a stop signal came meanwhile.
  bool validate(std::uint64_t step, const PeakMemory& memory);
  /// Says so of a validation.
  void left_out(std::uint64_t step) const {
    if (run_.root()) log_warn("the validation of step " + std::to_string(step) + " is left out: the run stops");
  }
  /// Ends the run early behind `step`, which is saved first where it is not. `asked`: by a signal. Returns the exit
  /// code.
  int stop_behind(std::uint64_t step, bool asked);
  int code_without_save() const;
  /// Updates what this rank owns, part by part, and brings each part to the others. The gradients go with their memory.
  void update(std::vector<OwnedGradient>& grads, double lr, double clip, ActionTrace* trace);
  /// Writes what was traced of `step`, which began at `begin`, on all ranks. Collective.
  void write_trace(std::uint64_t step, ActionTrace::Clock::time_point begin, const ActionTrace& trace);
  ckpt::SampleRange samples_of_step() const;
  void move_to(std::uint64_t sample);
  /// What training.on_nonfinite says happens. Returns the step that the run stands at then; ends the run by throwing.
  /// `stop`: the run ends there, so that nothing is read again. Nothing: a stop signal came while it was.
  std::optional<std::uint64_t> survive(const NonFinite& found, bool stop);
  void go_back(SavedPoint& saved, ckpt::SampleRange left_out);

  RunState run_;
  Saves saves_{run_};  // ends before what it reads
  NonFinitePolicy policy_{run_.options.loaded.config.training};
  ckpt::SkipNotes noted_skips_;
  SpinGuard spin_guard_;
};

MicroBatch Trainer::batch(std::uint32_t index, std::uint64_t position) {
  const std::int64_t rows = run_.plan().batch.micro, length = run_.plan().batch.seq_len + 1;
  const at::Tensor tokens = device().host_tensor({rows, length}, at::kLong);
  const std::span places = mutable_host_values<std::int64_t>(tokens);
  for (std::int64_t row = 0; row < rows; ++row) {
    const auto number = std::uint64_t{index} * static_cast<std::uint64_t>(rows) + static_cast<std::uint64_t>(row);
    const std::uint64_t sample = ckpt::kept_sample(run_.data.excluded, position, number);
    check(run_.start.dataset->sample(
              sample, places.subspan(static_cast<std::size_t>(row * length), static_cast<std::size_t>(length))),
          met_in_samples(run_.world.stage));
  }
  return micro_batch_of(tokens);
}

// The samples that a step reads from here, with what it leaves out between them.
ckpt::SampleRange Trainer::samples_of_step() const {
  const auto last = static_cast<std::uint64_t>(run_.plan().batch.global) - 1;
  const std::uint64_t first = ckpt::kept_sample(run_.data.excluded, run_.data.samples, 0);
  return {first, ckpt::kept_sample(run_.data.excluded, run_.data.samples, last) + 1 - first};
}

void Trainer::move_to(std::uint64_t sample) {
  run_.data.samples = sample;
  run_.data.excluded = ckpt::ahead_of(run_.data.excluded, sample);
}

// Nothing was updated: what was found leaves no trace but the position. All ranks found the same.
std::optional<std::uint64_t> Trainer::survive(const NonFinite& found, bool stop) {
  using enum NonFinitePolicy::Action;
  if (policy_.goes_back()) saves_.drain();
  const NonFinitePolicy::Action action = policy_.meet(saves_.saved().has_value());
  if (action == kStop) {
    const Status status = policy_.stop_status(found);
    if (run_.root()) run_.files->event(found.step, "non_finite", event_fields(found, "stop"));
    throw StatusError(status);
  }
  const std::uint64_t back = action == kRollback ? saves_.saved()->step : found.step - 1;
  if (action == kRollback && stop) {
    log_warn(one_line(found) + "; the run stops, and goes on from step " + std::to_string(back));
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
    run_.files->event(action == kRollback ? back : found.step, "non_finite", fields);
  }
  return back;
}

void Trainer::go_back(SavedPoint& saved, ckpt::SampleRange left_out) {
  reload(run_, saved.path, saved.id, saved.moments);
  // A second time back to here leaves out both.
  saved.data.excluded = ckpt::with_ranges(saved.data.excluded, {left_out});
  run_.data = saved.data;
  run_.state.step = saved.step;
  run_.state.tokens = saved.tokens;
  run_.optimizer_step = saved.optimizer_step;
  run_.next_epoch = saved.next_epoch;
  run_.on_root(
      [&] { return run_.files->back_to(saved.step, run_.state.attempts.back().number, run_.store_patience()); });
}

bool Trainer::validate(std::uint64_t step, const PeakMemory& memory) {
  const auto start = Clock::now();
  const std::optional<ValidationResult> result =
      run_validation(run_.world, *run_.executor, *run_.start.dataset, run_.config(), stop_requested);
  if (!result) {
    left_out(step);
    return false;
  }
  ValidationMetrics metrics{.step = step, .loss = result->loss, .tokens = result->tokens, .memory = memory};
  metrics.time_s = seconds_since(start);
  metrics.tps = static_cast<double>(result->tokens) / metrics.time_s / run_.world.size;
  if (run_.retention) run_.retention->validated(step, result->loss);
  run_.options.watcher->validated(metrics);
  if (run_.root()) run_.files->validated(metrics);
  return true;
}

int Trainer::code_without_save() const {
  return stop_signal() == SIGINT ? ckpt::kExitInterrupted : ckpt::kExitTerminated;
}

int Trainer::stop_behind(std::uint64_t step, bool asked) {
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
             (asked ? who_asks() : "debug.stop_at_step") + ")");
  }
  saves_.last(step);
  note(StopPhase::kEnding);
  return ckpt::kExitSaved;
}

void Trainer::update(std::vector<OwnedGradient>& grads, double lr, double clip, ActionTrace* trace) {
  StepClock& clock = run_.executor->clock();
  const std::vector<at::Tensor> params = run_.optimizer->params();
  for (std::size_t part = 0; part < run_.exchange->parts(); ++part) {
    const auto [first, end] = run_.exchange->pieces_of(part);
    const std::span of_part = std::span(grads).subspan(first, end - first);
    clock.time(&StepTimes::optimizer, [&] {
      const ActionTrace::In traced(trace, "optimizer");
      run_.optimizer->step(first, of_part, lr, clip, run_.optimizer_step + 1);
    });
    for (OwnedGradient& gradient : of_part) gradient.grad.reset();
    clock.time(&StepTimes::gather, [&] {
      const ActionTrace::In traced(trace, "gather");
      run_.exchange->share(part, std::span(params).subspan(first, end - first));
    });
  }
}

void Trainer::write_trace(std::uint64_t step, ActionTrace::Clock::time_point begin, const ActionTrace& trace) {
  // All count from the begin of rank 0.
  const std::string ticks = std::to_string(begin.time_since_epoch().count());
  const ActionTrace::Clock::duration origin(std::stoll(run_.world.io->broadcast(run_.root() ? ticks : "", 0)));
  std::string rows;
  gather_to_root(*run_.world.io,
                 chrome_rows(trace.spans(run_.world.rank, ActionTrace::Clock::time_point(origin)),
                             run_.plan().schedule_name() + " step " + std::to_string(step)),
                 [&](int, std::string_view bytes) { rows += bytes; });
  if (!run_.root()) return;
  run_.files->trace(run_.config().profiling.save_traces_folder, step, chrome_document(rows));
}

int Trainer::loop() {
  const auto steps = static_cast<std::uint64_t>(run_.config().training.steps);
  const auto stop_at = static_cast<std::uint64_t>(run_.config().debug.stop_at_step.value_or(0));
  const auto tokens_per_step = static_cast<std::uint64_t>(run_.plan().batch.tokens_per_step());
  const double tokens_per_micro_batch =
      static_cast<double>(tokens_per_step) / static_cast<double>(run_.plan().batch.count);
  const double flops = recipe::flops_per_token(run_.plan());
  const auto norms_every = static_cast<std::uint64_t>(run_.config().metrics.parameter_norms);
  std::vector<std::string> names;
  for (const ckpt::ParameterMeta& parameter : run_.plan().parameters) names.push_back(parameter.name);
  StepRow row(run_.plan(), NormOrder::of(run_.config().training.norm_type));
  const std::optional<double> given = run_.config().metrics.peak_tflops;
  const std::optional<double> peak = given ? given : known_peak_tflops(device().name());
  const recipe::Config::Profiling& profiling = run_.config().profiling;

  note(StopPhase::kTraining);
  run_.options.watcher->begins(run_.start.decision.step, steps, run_.world.size);
  spin_guard_.look();  // how it was at the start is no matter of the first step
  const SpoiledGradient fault(std::getenv("TITAN_SPOIL_GRADIENT"), run_.world.rank, run_.plan());
  for (std::uint64_t step = run_.start.decision.step + 1; step <= steps;) {
    const auto begin = Clock::now();
    StepClock& clock = run_.executor->clock();
    clock.start();
    const double lr = ckpt::lr_at(run_.start.lr.phases, step);
    const ActionTrace::Clock::time_point trace_begin = ActionTrace::Clock::now();
    ActionTrace step_trace;
    ActionTrace* const trace =
        profiling.enable_profiling && step % static_cast<std::uint64_t>(profiling.profile_freq) == 0 ? &step_trace
                                                                                                     : nullptr;
    run_.executor->trace(trace);

    Executor::StepOutput out =
        run_.executor->run_step([&](std::uint32_t index) { return batch(index, run_.data.samples); }, tokens_per_step);
    std::vector<OwnedGradient> grads = clock.time(&StepTimes::exchange, [&] {
      const ActionTrace::In traced(trace, "exchange");
      return run_.exchange->reduce(out.sums);
    });
    const ckpt::SampleRange samples = samples_of_step();
    fault.spoil(samples, grads);
    clock.time(&StepTimes::optimizer, [&] {
      const bool root = run_.root();
      row.fill(out.losses, {stop_requested(), root && !trouble().ok(), saves_.over_here(), root && saves_.time_is_up()},
               grads);
      row.note_memory(run_.world.rank, memory_here());
    });
    clock.time(&StepTimes::exchange, [&] {
      const ActionTrace::In traced(trace, "exchange");
      row.add_up(*run_.world.all);
    });
    // A save that failed ends no run that stops: the save of the stop takes its place.
    if (row.saved() == run_.world.size && !row.stop()) saves_.over_everywhere();
    if (row.trouble()) run_.on_root([&] { return trouble(); });
    const double loss = row.loss_sum() / static_cast<double>(tokens_per_step), norm = row.grad_norm();
    const bool stop = row.stop();

    if (!all_finite(loss, norm)) {
      const std::optional<std::uint64_t> back =
          survive(non_finite(run_.plan(), step, samples, loss, norm, row.first_non_finite()), stop);
      if (stop || !back) return stop_behind(back.value_or(saves_.newest()), true);
      step = *back + 1;
      continue;
    }
    policy_.passed();

    clock.time(&StepTimes::save, [&] { saves_.let_change(); });
    const double clip = clip_coefficient(norm, run_.config().training.max_norm);
    update(grads, lr, clip, trace);
    // What is logged is what was applied, and what the schedule in the checkpoint says.
    const double applied = run_.optimizer->applied_lr();
    if (applied != ckpt::lr_at(run_.start.lr.phases, step))
      throw std::logic_error("step " + std::to_string(step) + ": the learning rate applied is not the schedule's");
    if (run_.world.first_step_done) std::exchange(run_.world.first_step_done, nullptr)();

    move_to(samples.end());
    run_.state.tokens += tokens_per_step;
    run_.state.step = step;
    ++run_.optimizer_step;
    note(StopPhase::kTraining);
    spin_guard_.look();

    StepMetrics metrics{.step = step,
                        .loss = loss,
                        .max_loss = row.largest_loss() / tokens_per_micro_batch,
                        .grad_norm = norm,
                        .lr = applied,
                        .tokens = run_.state.tokens,
                        .samples = run_.data.samples,
                        .time_s = seconds_since(begin),
                        .times = clock.read(),
                        .memory = memory_of(row)};
    metrics.tps_total = static_cast<double>(tokens_per_step) / metrics.time_s;
    metrics.tps = metrics.tps_total / run_.world.size;
    metrics.tflops = flops * metrics.tps / 1e12;
    if (peak) metrics.mfu = 100 * *metrics.tflops / *peak;
    const bool shown = step == run_.start.decision.step + 1 ||
                       step % static_cast<std::uint64_t>(run_.config().metrics.log_freq) == 0 || step == steps;
    run_.options.watcher->step(metrics, shown);
    if (run_.root()) {
      run_.files->step(metrics, shown);
      if (norms_every > 0 && step % norms_every == 0) run_.files->parameter_norms(step, names, row.parameter_norms());
      for (; run_.next_epoch <= ckpt::last_epoch(run_.data); ++run_.next_epoch) {
        log_info("epoch " + std::to_string(run_.next_epoch) + " begins within step " + std::to_string(step));
        run_.files->event(step, "epoch", {{"epoch", run_.next_epoch}});
      }
    }

    if (trace != nullptr) write_trace(step, trace_begin, *trace);

    const bool last = step == steps;
    const bool validates = run_.config().validation.enable &&
                           (last || step % static_cast<std::uint64_t>(run_.config().validation.freq) == 0);
    if (validates && stop) left_out(step);
    if (!last && stop) return stop_behind(step, true);
    std::optional<int> code;
    if (!last && step == stop_at)
      code = stop_behind(step, false);
    else if (run_.config().checkpoint.enable && last)
      saves_.last(step);
    else if (run_.config().checkpoint.enable && saves_.is_due(step, row.save_due()))
      saves_.due(step);
    note(last || code ? StopPhase::kEnding : StopPhase::kTraining);
    if (validates && !stop && !validate(step, memory_of(row)) && !last && !code) return stop_behind(step, true);
    if (code) return *code;
    ++step;
  }
  if (run_.root()) log_info("training completed at step " + std::to_string(steps));
  return 0;
}

int Trainer::run() {
  switch (start_run(run_)) {
    case StartOutcome::kReady: break;
    case StartOutcome::kComplete:
      if (run_.root()) log_info(complete_line(run_.config(), run_.start.decision));
      return 0;
    case StartOutcome::kStopped:
      note_progress(StopPhase::kEnding, 0, 0);
      if (run_.root()) log_info("stopped before the first step (" + who_asks() + "); nothing is lost");
      return run_.config().checkpoint.enable ? int{ckpt::kExitSaved} : code_without_save();
  }
  saves_.begin();
  run_.state.step = run_.start.decision.step;
  run_.attempt_start = Clock::now();
  int code = 0;
  try {
    code = loop();
  } catch (const StatusError&) {
    saves_.settle();
    throw;
  }
  // What a save promised is durable; a run does not fail for the lines behind it.
  run_.on_root([&] {
    const Status closed = run_.files->close(std::min<std::chrono::milliseconds>(kLastLines, run_.store_patience()));
    if (!closed.ok()) log_warn("the newest lines of metrics.jsonl may be missing: " + log_text(closed));
    return ckpt::ok_status();
  });
  return code;
}

void Trainer::shut_down() {
  if (run_.exchange) run_.exchange->await_weights();
  const auto& settings = run_.config().checkpoint;
  const bool publishes = run_.hook && run_.hook->busy();
  if (run_.retention && !publishes) run_.retention->release();
  if (publishes || (run_.retention && run_.retention->busy()))
    note_finishing(settings.io_timeout_seconds + (publishes ? 2 * settings.on_publish_timeout_seconds : 0));
  if (run_.world.shutdown) run_.world.shutdown();
  if (run_.hook) run_.hook->finish(stop_requested);
  if (!run_.retention) return;
  run_.retention->release();
  const auto begin = Clock::now();
  const bool over =
      run_.retention->finish([&] { return stop_requested() || seconds_since(begin) >= settings.io_timeout_seconds; });
  if (!over && !stop_requested())
    log_warn("retention: deletions take longer than checkpoint.io_timeout_seconds; the next start goes on with them");
  run_.retention.reset();
}

Status Trainer::explain(const std::string& what) const {
  const MemoryFigures memory = device().memory();
  const std::string rank = "rank " + std::to_string(run_.options.env.rank);
  if (tells_of_memory(what) && !run_.plan().parameters.empty())
    return out_of_memory(run_.config(), run_.plan(), static_cast<std::uint32_t>(run_.world.stage),
                         {rank, memory.total, memory.tensors, memory.kept}, what);
  return library_failure(rank, what);
}

// Rank 0 may wait for a lock before anything is logged or trained.
void tell_of_locks() {
  ckpt::lock_wait().say = log_warn;
  ckpt::lock_wait().cancel = stop_token();
}

}  // namespace

TrainOutcome train(const TrainOptions& given) {
  RunWatcher nobody;
  TrainOptions options = given;
  if (options.watcher == nullptr) options.watcher = &nobody;
  setup_determinism(options.threads);
  use_tensor_memory();
  const std::string no_log_file = init_log(options.env.rank, options.loaded.config.job.dump_folder);
  tell_of_locks();
  if (options.env.rank == 0)
    speak_of_stops(
        {rank_log(0, options.loaded.config.job.dump_folder), options.loaded.config.checkpoint.enable, options.go_on});
  Trainer trainer(options, no_log_file);
  TrainOutcome outcome;
  try {
    outcome.exit_code = trainer.run();
    outcome.at_stop = trainer.at_stop();
    trainer.shut_down();
  } catch (const StatusError& error) {
    outcome.status = error.status;
    outcome.exit_code = ckpt::exit_code(error.status.code);
    if (error.met != Met::kByAll) trainer.tell_peers(error.status);
    outcome.report = error.met == Met::kHere || options.env.rank == 0 || options.env.own_terminal();
  } catch (const CommError& error) {
    outcome.status = error.status;
    outcome.exit_code = ckpt::exit_code(error.status.code);
    outcome.lost_rank = trainer.met();
    outcome.is_cause = outcome.lost_rank && error.lost.empty();
    // Every survivor notices. Where they share a terminal, the first of them says so.
    const bool first =
        outcome.is_cause ? trainer.tell_peers(error.status) : options.env.rank == first_survivor(error.lost);
    outcome.report = first || options.env.own_terminal();
  } catch (const std::exception& error) {
    outcome.status = trainer.explain(error.what());
    outcome.exit_code = ckpt::kExitFailed;
    trainer.tell_peers(outcome.status);
  }
  if (!outcome.status.ok()) log_debug("ends with: " + log_text(outcome.status));
  flush_log();
  return outcome;
}

}  // namespace titan::train
