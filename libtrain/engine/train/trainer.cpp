#include "libtrain/engine/train/trainer.h"

#include <ATen/ATen.h>

#include <chrono>

#include "ckpt/base/exit_code.h"
#include "ckpt/lock/lock_wait.h"
#include "libtrain/engine/device/device.h"
#include "libtrain/engine/device/tensor_memory.h"
#include "libtrain/engine/model/runtime.h"
#include "libtrain/engine/train/run_state.h"
#include "libtrain/engine/train/saves.h"
#include "libtrain/engine/train/startup.h"
#include "libtrain/engine/train/train_loop.h"
#include "libtrain/job/control/heartbeat.h"
#include "libtrain/job/forecast/out_of_memory.h"
#include "libtrain/job/launch/library_error.h"
#include "libtrain/job/launch/rank_process.h"
#include "libtrain/job/launch/signals.h"
#include "libtrain/job/metrics/log.h"
#include "libtrain/job/metrics/step_clock.h"
#include "libtrain/job/run/banner.h"

namespace titan::train {
namespace {

using ckpt::Status;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kLastLines{10};     // maximum wait for metrics lines at the end of a run
constexpr std::chrono::seconds kLastDeletions{1};  // maximum wait for deletions in progress after a stop signal

class Trainer {
 public:
  Trainer(const TrainOptions& options, const std::string& no_log_file) : run_(options) {
    run_.no_log_file = no_log_file;
  }

  int run();
  /// Whether this rank has connected to its peers.
  bool met() const { return run_.world.all != nullptr; }
  /// An error message for an exception from LibTorch or the standard library.
  Status explain(const std::string& what) const;
  /// Tells the other ranks why this one leaves; returns whether it is the first.
  bool tell_peers(const Status& status) const { return !run_.world.leave || run_.world.leave(log_text(status)); }
  bool at_stop() const { return is_at_stop(run_.config(), run_.start.decision); }
  /// Disconnects from the other ranks, then finishes publish commands and deletions, so that no rank waits for these.
  void shut_down();

 private:
  RunState run_;
  Saves saves_{run_};  // declared after run_, so that it is destroyed first
};

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
  run_.attempt_start = Clock::now();
  int code = 0;
  try {
    code = TrainLoop(run_, saves_).run();
  } catch (const StatusError&) {
    saves_.wait_ignoring_errors();
    throw;
  }
  if (run_.root_objects.near && code == 0) run_.root_objects.near->clear();
  // All saves are durable by now. The run does not fail because later metrics lines cannot be written.
  run_.on_root([&] {
    const Status closed =
        run_.root_objects.files->close(std::min<std::chrono::milliseconds>(kLastLines, run_.store_patience()));
    if (!closed.ok()) log_warn("the newest lines of metrics.jsonl may be missing: " + log_text(closed));
    return ckpt::ok_status();
  });
  return code;
}

void Trainer::shut_down() {
  if (run_.engine.exchange) run_.engine.exchange->await_weights();
  const auto& settings = run_.config().checkpoint;
  const bool publishes = run_.root_objects.hook && run_.root_objects.hook->busy();
  if (run_.root_objects.retention && !publishes) run_.root_objects.retention->release();
  if (publishes || (run_.root_objects.retention && run_.root_objects.retention->busy()))
    note_finishing(settings.io_timeout_seconds + (publishes ? 2 * settings.on_publish_timeout_seconds : 0));
  if (run_.world.shutdown) run_.world.shutdown();
  if (run_.root_objects.hook) run_.root_objects.hook->finish(stop_requested);
  if (!run_.root_objects.retention) return;
  run_.root_objects.retention->release();
  const auto begin = Clock::now();
  const bool over = run_.root_objects.retention->finish([&] {
    const auto passed = Clock::now() - begin;
    return passed >= std::chrono::duration<double>(settings.io_timeout_seconds) ||
           (stop_requested() && passed >= kLastDeletions);
  });
  if (!over && !stop_requested())
    log_warn("retention: deletions take longer than checkpoint.io_timeout_seconds; the next start continues with them");
  run_.root_objects.retention.reset();
}

Status Trainer::explain(const std::string& what) const {
  const MemoryFigures memory = device().memory();
  const std::string rank = "rank " + std::to_string(run_.options.env.rank);
  if (tells_of_memory(what) && !run_.plan().parameters.empty())
    return out_of_memory(run_.config(), run_.plan(), static_cast<std::uint32_t>(run_.world.stage),
                         {rank, memory.total, memory.tensors, memory.kept}, what);
  return library_failure(rank, what);
}

// Makes a wait for a lock log what it waits for, and end at a stop signal.
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
    speak_of_stops({rank_log(0, options.loaded.config.job.dump_folder), options.loaded.config.checkpoint.enable,
                    options.resume_hint});
  Trainer trainer(options, no_log_file);
  TrainOutcome outcome;
  try {
    outcome.exit_code = trainer.run();
    outcome.at_stop = trainer.at_stop();
    trainer.shut_down();
  } catch (const StatusError& error) {
    outcome.status = error.status;
    outcome.exit_code = ckpt::exit_code(error.status.code);
    if (error.scope != ErrorScope::kAllRanks) trainer.tell_peers(error.status);
    outcome.report = error.scope == ErrorScope::kThisRank || options.env.rank == 0 || options.env.own_terminal();
  } catch (const CommError& error) {
    outcome.status = error.status;
    outcome.exit_code = ckpt::exit_code(error.status.code);
    outcome.lost_rank = trainer.met();
    outcome.is_cause = outcome.lost_rank && error.lost.empty();
    // Every surviving rank has this error. Only the first of them reports it, unless each has a terminal of its own.
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
