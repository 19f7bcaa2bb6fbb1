#include "libtrain/engine/train/startup.h"

#include <algorithm>
#include <optional>

#include "ckpt/lock/lock_wait.h"
#include "ckpt/plan/file_makers.h"
#include "libtrain/engine/checkpoint/load_weights.h"
#include "libtrain/engine/parallel/hosts.h"
#include "libtrain/engine/parallel/rendezvous.h"
#include "libtrain/engine/train/announce.h"
#include "libtrain/engine/train/choose_start.h"
#include "libtrain/engine/train/near_steps.h"
#include "libtrain/engine/train/on_damage.h"
#include "libtrain/engine/train/same_ranks.h"
#include "libtrain/engine/train/start_retention.h"
#include "libtrain/job/control/agree.h"
#include "libtrain/job/launch/signals.h"
#include "libtrain/job/metrics/log.h"
#include "libtrain/job/schedule/schedule_of_run.h"
#include "libtrain/job/start/shared_folder.h"
#include "libtrain/job/start/space.h"
#include "recipe/plan/run_plan.h"

namespace titan::train {
namespace {

using ckpt::Status;

void connect_ranks(RunState& run) {
  ConnectOptions connect_options;
  connect_options.env = run.options.env;
  connect_options.mesh = take(recipe::make_run_mesh(run.config(), run.inputs.world));  // the model is not known yet
  const auto ms = [](double seconds) { return std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000)); };
  connect_options.init_timeout = ms(run.config().comm.init_timeout_seconds);
  connect_options.train_timeout = ms(run.config().comm.train_timeout_seconds);
  connect_options.io_timeout = ms(run.config().checkpoint.io_timeout_seconds);
  connect_options.background_saves = run.config().checkpoint.enable && run.config().checkpoint.async_mode != "disabled";
  connect_options.node_groups = run.config().parallelism.gradient_exchange == "node";
  connect_options.say = log_warn;
  connect_options.met = check_devices;
  run.world = run.options.connect ? run.options.connect(connect_options) : connect(connect_options);
  run.inputs.node_ranks = run.world.node_ranks;
  note_progress(StopPhase::kStarting, 0, 0);
}

void open_run_folder(RunState& run) {
  run.on_root([&]() -> Status {
    TITAN_ASSIGN_OR_RETURN(run.root_objects.files, RunFiles::open(run.fs, run.config(), run.checkpoint_dir));
    return ckpt::ok_status();
  });
  // Without checkpoints, only rank 0 writes files, so the folder need not be shared.
  if (!run.config().checkpoint.enable) return;
  check(check_shared_folder(*run.world.io, run.fs, run.checkpoint_dir, run.root() ? run.root_objects.files->mark() : "",
                            ckpt::lock_wait()));
  open_near_folder(run);
}

// The ranks that create shard files; empty if each rank creates its own.
std::vector<std::uint32_t> agree_on_makers(Control& io, std::int64_t files_per_host) {
  const std::vector<std::string> hosts = hosts_of_ranks(io);
  if (files_per_host == 0) return {};
  return ckpt::file_makers(hosts, static_cast<std::uint32_t>(files_per_host));
}

void load_or_init(RunState& run) {
  const std::int64_t max_seq = std::max(run.plan().batch.seq_len, run.start.dataset->validation_seq_len());
  // The fp32 masters of all weights, in addition to the moments, would need more device memory than any step. So the
  // optimizer draws or loads only what this rank owns. Weights of another checkpoint (a transfer) are read whole, to
  // host memory.
  run.engine.stages = std::make_unique<RankStages>(run.plan(), static_cast<std::uint32_t>(run.world.stage), max_seq,
                                                   run.start.weight_source ? Masters::kOnHost : Masters::kNone);
  run.engine.owners = std::make_shared<const ckpt::Ownership>(recipe::owners_of(run.plan()));
  run.engine.makers = agree_on_makers(*run.world.io, run.config().checkpoint.files_per_host);
  AdamWOptions adamw{run.config().optimizer.beta1, run.config().optimizer.beta2, run.config().optimizer.eps,
                     run.config().optimizer.weight_decay, run.config().training.ema};
  const bool moments =
      run.start.source != nullptr && !run.start.weight_source && !run.start.continuation.fresh_optimizer;
  run.engine.optimizer =
      std::make_unique<ShardedAdamW>(run.plan(), *run.engine.owners, run.world, *run.engine.stages, adamw,
                                     moments ? ShardedAdamW::Moments::kLoaded : ShardedAdamW::Moments::kZero);
  run.engine.checkpointer = std::make_unique<Checkpointer>(run.fs, run.world, run.checkpoint_dir);

  if (run.start.weight_source) {
    // Hosts may have different copies of the weights. This is checked after every rank has read its own.
    run.engine.stages->init_weights(run.state.seed);
    check(agree(*run.world.io,
                load_weights(*run.start.weight_source, run.start.match, *run.engine.stages, run.inputs.stop)));
    check(agree_on_weights(*run.world.io, run.plan(), *run.engine.stages));
    run.engine.optimizer->start_ema();
    return;
  }
  if (run.start.source == nullptr) {
    run.engine.optimizer->init_weights(run.plan(), run.state.seed);
    run.engine.optimizer->start_ema();
    return;
  }
  const Status loaded =
      Checkpointer::load(*run.start.source, run.plan(), *run.engine.optimizer, moments, run.inputs.stop);
  run.lost.met_here = loaded.code == ckpt::Code::kCorrupt;
  check(agree(*run.world.io, loaded));
  run.progress.optimizer_step = moments ? run.start.stored->optimizer_step : 0;
}

ScheduleTable planned_table(const RunState& run) {
  const std::uint32_t count = scheduled_count(run.plan(), static_cast<std::uint32_t>(run.world.dp_rank));
  Result<ScheduleTable> table = schedule_of(run.plan(), count);
  check(table.status());
  return std::move(*table);
}

// Each rank has drawn or read the weights that it owns. Now they are sent to all ranks of the stage.
void share_start(RunState& run) {
  run.engine.optimizer->own_masters(*run.engine.stages);
  run.engine.exchange =
      std::make_unique<GradientExchange>(run.world, run.plan(), *run.engine.owners, *run.engine.stages);
  // If a rank has run out of memory, the barrier fails. Without it the others would wait for that rank to connect.
  run.world.io->barrier();
  run.engine.exchange->connect();
  run.engine.exchange->send_weights(run.engine.optimizer->params());
}

void build_executor(RunState& run) {
  run.engine.executor =
      std::make_unique<Executor>(run.world, run.plan(), run.engine.stages->stages(), planned_table(run));
  if (run.start.dataset->keeps_documents_apart()) run.engine.executor->keep_documents_apart();
  run.engine.executor->work_with(run.engine.exchange.get());
}

// Reports now if the disk is too small for the coming saves.
void check_store(RunState& run) {
  run.on_root([&]() -> Status {
    const SpaceVerdict space = look_at_space(run.fs, run.config(), run.plan(), run.start.decision.step);
    if (!space.warning.empty()) log_warn(space.warning);
    return space.refused;
  });
}

// Chooses a step and loads it, or begins a new run. nullopt: the choice has to be made again.
std::optional<StartOutcome> load_chosen_step(RunState& run) {
  choose_start(run);
  run.heed_stop();
  if (run.start.decision.near && (run.start.complete || is_at_stop(run.config(), run.start.decision))) {
    copy_to_run_folder(run);
    return std::nullopt;
  }
  if (run.start.complete) {
    prove_last_step(run);
    remove_near_folder(run);
    return StartOutcome::kComplete;
  }
  resolve_settings(run);
  check_store(run);
  run.heed_stop();
  load_or_init(run);  // checks that the step is not damaged
  return is_at_stop(run.config(), run.start.decision) ? StartOutcome::kComplete : StartOutcome::kReady;
}

// Adds the step that could not be loaded to run.lost. \error throws `error` itself, with its scope, if no other step
// may be chosen
void skip_chosen_step(RunState& run, const StatusError& error) {
  const Status& status = error.status;
  if (status.code == ckpt::Code::kMediaError) return skip_unreadable_step(run, status);
  if (status.code != ckpt::Code::kCorrupt || !run.start.decision.may_fall_back) throw error;
  confirm_damage(run, status);
  if (run.root())
    log_warn("step " + std::to_string(run.start.decision.step) +
             " is damaged, trying the next older: " + log_text(status));
  (run.start.decision.near ? run.lost.near : run.lost.damaged).insert(run.start.decision.step);
}

StartOutcome load_first_good_step(RunState& run) {
  while (true) {
    try {
      if (const std::optional<StartOutcome> outcome = load_chosen_step(run)) return *outcome;
    } catch (const StatusError& error) {
      skip_chosen_step(run, error);
    }
  }
}

void begin_metrics(RunState& run) {
  // If rank 0 cannot write, all ranks end with that error. Otherwise they would report that they lost rank 0.
  run.on_root([&] {
    return run.root_objects.files->start(run.resolved, run.start.decision.step, run.state.attempts.back(),
                                         run.start.source ? run.start.decision.path : "", run.start.decision.durable);
  });
  if (!run.no_log_file.empty()) log_warn(run.no_log_file);
}

// The sources are no longer needed, and their open files would keep the disk space of a step that retention deletes.
void close_sources(RunState& run) {
  run.start.source.reset();
  run.start.weight_source.reset();
}

// The parts of a start after the run folder was locked.
StartOutcome start_in_folder(RunState& run) {
  if (load_first_good_step(run) == StartOutcome::kComplete) {
    if (run.root()) begin_publishing(run, run.start.decision.origin.empty());
    return StartOutcome::kComplete;
  }
  run.heed_stop();
  start_retention(run);
  begin_attempt(run);
  begin_metrics(run);
  announce(run);
  close_sources(run);
  share_start(run);
  build_executor(run);
  run.heed_stop();
  return StartOutcome::kReady;
}

}  // namespace

StartOutcome start_run(RunState& run) {
  run.permission = take(recipe::read_permission(run.config(), run.options.allow));
  connect_ranks(run);
  open_run_folder(run);
  try {
    return start_in_folder(run);
  } catch (const StatusError& error) {
    if (!is_stop(error.status)) throw;
    return StartOutcome::kStopped;
  }
}

}  // namespace titan::train
