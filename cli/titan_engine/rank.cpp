// The process of one rank of a run.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>

#include "ckpt/base/exit_code.h"
#include "ckpt/base/fs_posix.h"
#include "cli/kit/errors.h"
#include "cli/kit/version.h"
#include "cli/titan_train/console.h"
#include "cli/titan_train/device.h"
#include "cli/titan_train/engine.h"
#include "cli/titan_train/resume_hint.h"
#include "cli/titan_train/weights.h"
#include "libtrain/engine/parallel/rendezvous.h"
#include "libtrain/engine/parallel/run_store.h"
#include "libtrain/engine/train/open_device.h"
#include "libtrain/engine/train/trainer.h"
#include "libtrain/job/launch/rank_process.h"
#include "libtrain/job/launch/signals.h"
#include "libtrain/job/metrics/log.h"
#include "libtrain/job/start/prepare.h"
#include "libtrain/job/start/resume_point.h"
#include "libtrain/job/start/threads.h"
#include "recipe/plan/run_config.h"
#include "recipe/plan/run_plan.h"

namespace titan::cli {
namespace {

using ckpt::Status;

// The number of threads of this rank. Titan's launcher passes it in the environment, and so does this process if it has
// executed itself again. Under another launcher rank 0 reads it from the checkpoint for all ranks, and sends it through
// torchrun's store if there is one.
int threads_of_rank(const train::StartInputs& inputs, const train::LaunchEnv& env) {
  if (env.threads > 0) return env.threads;
  if (const int threads = train::threads_of_restart(); threads > 0) return threads;
  const auto look = [&] { return std::to_string(train::choose_threads(ckpt::posix_fs(), inputs, env.local_world)); };
  const auto timeout =
      std::chrono::milliseconds(static_cast<std::int64_t>(inputs.loaded.config.comm.init_timeout_seconds * 1000));
  return std::max(1, std::atoi(train::word_of_rank_0(env, timeout, look).c_str()));
}

}  // namespace

// Ends the process without running static destructors, since threads of LibTorch may still run.
ckpt::Result<Answer> be_rank(const Request& request, const train::LaunchEnv& env) {
  const Command& command = request.command;
  const ColorChoice color = request.color;
  // Before the ranks are connected, each fails alone. Local rank 0 prints the error, each other rank one line.
  const auto leave = [&](const Status& status) {
    if (env.local_rank == 0)
      report_error(status, false, color);
    else
      report_note("rank " + std::to_string(env.rank) + " ends with exit code " +
                      std::to_string(ckpt::exit_code(status.code)) + ": " + status.message,
                  color);
    train::note_said_why(ckpt::exit_code(status.code));
    std::_Exit(ckpt::exit_code(status.code));
  };
  if (const Status bound = train::bind_to_launcher(); !bound.ok()) leave(bound);
  auto loaded = recipe::load_run_config(command.positionals[0], command.overrides);
  if (!loaded.ok()) leave(loaded.status());
  const auto mesh = recipe::make_run_mesh(loaded->config, static_cast<std::uint32_t>(env.world));
  if (!mesh.ok()) leave(mesh.status());
  const std::string resume = command.value("resume").value_or("auto");
  if (const auto start = train::start_request(loaded->config, resume); start.ok())  // errors show at the start
    if (const Status there = train::check_folder_to_resume(ckpt::posix_fs(), *start); !there.ok()) leave(there);
  const bool of_launcher = env.source == "titan";
  const auto device = settle_device(loaded->config, env.local_world, !of_launcher);
  if (!device.ok()) leave(device.status());
  if (!device->note.empty() && env.rank == 0 && !of_launcher) report_note(device->note, color);

  train::TrainOptions options;
  options.resume = resume;
  options.allow = command.all("allow");
  options.open_weights = weight_opener(loaded->config);
  options.threads = threads_of_rank(
      {*loaded, options.resume, options.allow, static_cast<std::uint32_t>(env.world), options.open_weights}, env);
  // The executed program does not know about a stop signal that came before.
  train::hold_stop_signals();
  if (train::stop_requested()) {
    const std::string text = "rank " + std::to_string(env.rank) + " was stopped by a signal before it began";
    leave(train::stop_signal() == SIGINT ? ckpt::interrupted(text) : ckpt::terminated(text));
  }
  train::ensure_thread_env(options.threads);
  train::handle_stops_in_own_thread();
  if (device->module) {
    const int index = train::gpu_of_rank(device->found, env.local_rank);
    const Status opened = train::open_device(*device->module, loaded->config, index, options.threads);
    if (!opened.ok()) leave(opened);
  }
  options.loaded = std::move(*loaded);
  options.env = env;
  options.version = version_line("titan-train");
  std::unique_ptr<Console> console;
  if (env.rank == options.loaded.config.metrics.log_rank) {
    console = make_console(options.loaded.config, color);
    options.watcher = console.get();
  } else {
    show_log_of_rank(env.rank, color);
  }
  if (!of_launcher) options.resume_hint = "the same job continues from the newest step";
  train::TrainOutcome outcome = train::train(options);
  if (console) console->end(outcome.exit_code, command.words);
  const Status& status = outcome.status;
  const train::Left left = outcome.is_cause ? train::Left::kCause : train::Left::kLostOne;
  if (!status.ok() && outcome.report &&
      !(outcome.lost_rank && train::leave_to_launcher(left, status.message, status.hint))) {
    report_error(status, false, color);
    train::note_said_why(outcome.exit_code);
  }
  const bool goes_on =
      outcome.at_stop || ckpt::stopped_early(outcome.exit_code) || (outcome.lost_rank && outcome.report);
  if (!of_launcher && goes_on && (env.rank == 0 || outcome.lost_rank))
    print_resume_command(outcome.exit_code, command.words, options.loaded.config, Starter::kLauncher, color);
  train::flush_log();
  std::_Exit(outcome.exit_code);
}

}  // namespace titan::cli
