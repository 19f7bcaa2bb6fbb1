#include "cli/titan_train/program.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "ckpt/base/exit_code.h"
#include "ckpt/base/fs.h"
#include "ckpt/base/fs_posix.h"
#include "ckpt/base/path.h"
#include "ckpt/base/text.h"
#include "ckpt/run/near_folder.h"
#include "ckpt/run/open_run.h"
#include "cli/kit/errors.h"
#include "cli/kit/flag_values.h"
#include "cli/titan_train/console.h"
#include "cli/titan_train/device.h"
#include "cli/titan_train/engine.h"
#include "cli/titan_train/ranks.h"
#include "cli/titan_train/resume_hint.h"
#include "cli/titan_train/weights.h"
#include "libtrain/job/host/cores.h"
#include "libtrain/job/launch/launch_env.h"
#include "libtrain/job/launch/launcher.h"
#include "libtrain/job/launch/process_state.h"
#include "libtrain/job/launch/restarts.h"
#include "libtrain/job/launch/signals.h"
#include "libtrain/job/run/publish_note.h"
#include "libtrain/job/start/preview.h"
#include "libtrain/job/start/resume_command.h"
#include "libtrain/job/start/threads.h"
#include "recipe/plan/plan_values.h"
#include "recipe/plan/run_config.h"

namespace titan::cli {
namespace {

using ckpt::Status;

// Removes leftovers of deleted steps. Ranks do this when they start, but a complete run starts no ranks again.
void free_leftovers(const recipe::Config& config, ColorChoice color) {
  ckpt::Fs& fs = ckpt::posix_fs();
  const std::string folder = ckpt::join_path(config.job.dump_folder, config.checkpoint.folder);
  const auto entries = fs.list(folder);
  if (!entries.ok() || std::none_of(entries->begin(), entries->end(), ckpt::is_leftover)) return;
  const auto opened = ckpt::open_run(fs, config.job.dump_folder, folder);
  if (!opened.ok()) return report_note("leftovers stay in " + folder + ": " + opened.status().message, color);
  for (const std::string& warning : opened->warnings) report_note("leftover: " + warning, color);
}

// Runs the command of checkpoint.on_publish for the last step, if the last start ended before the command succeeded. A
// failure is only printed as a note, since the run is complete.
void publish_missed(const recipe::Config& config, const std::string& path, ColorChoice color) {
  ckpt::Fs& fs = ckpt::posix_fs();
  const auto note = [color](const std::string& text) { report_note(text, color); };
  const auto opened =
      ckpt::open_run(fs, config.job.dump_folder, ckpt::join_path(config.job.dump_folder, config.checkpoint.folder));
  if (!opened.ok()) return note("checkpoint.on_publish is not looked at: " + opened.status().message);
  const auto hook =
      train::make_publish_hook(fs, config, {[&opened] { return opened->locks.still_ours(); }, note, note});
  if (const Status missed = train::publish_missed(fs, config, path, *hook); !missed.ok()) note(missed.message);
  hook->finish(train::stop_requested);
}

// Prints that the run is complete, and a note for each setting that differs from the checkpoint's and so has no effect.
void say_complete(const recipe::LoadedConfig& loaded, const train::StartPreview& preview, ColorChoice color) {
  report_note(train::complete_line(loaded.config, preview.decision), color);
  bool model = false, data = false;
  for (const recipe::Change& change : preview.continuation.changes) {
    const std::string& key = change.drift.key;
    report_note("not the checkpoint's setting: " + key + " is " + change.drift.stored + " there, " +
                    change.drift.config + " here",
                color);
    model |= key.starts_with("model.");
    data |= key.starts_with("training.dataset");
  }
  const std::string other = model && data ? "another model and dataset"
                            : model       ? "another model"
                            : data        ? "another dataset"
                                          : "";
  if (!other.empty())
    report_note("this command asks for " + other + " than that run: did you mean another --job.dump_folder?", color);
}

/// `words`, a command line, without --max-restarts.
std::vector<std::string> words_without_restarts(const std::vector<std::string>& words) {
  std::vector<std::string> kept;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--max-restarts") {
      ++i;
    } else if (!words[i].starts_with("--max-restarts=")) {
      kept.push_back(words[i]);
    }
  }
  return kept;
}

/// `run --max-restarts`: runs the same command in a child process, again after each failure. `text`: the flag's value.
ckpt::Result<Answer> run_again(const Request& request, const std::string& text) {
  const std::optional<unsigned> most = ckpt::number_of<unsigned>(text);
  if (!most) return wrong_value("max-restarts", text, "a number of 0 or more");
  const Command& command = request.command;
  TITAN_ASSIGN_OR_RETURN(const auto loaded, recipe::load_run_config(command.positionals[0], command.overrides));
  const std::vector<std::string> words = words_without_restarts(command.words);
  train::RestartOptions options;
  options.most = *most;
  options.newest = [&] { return train::step_to_go_on(ckpt::posix_fs(), loaded.config); };
  options.words = [&](unsigned restart) {
    return restart == 0 ? words : train::words_to_go_on(words, loaded.config, options.newest());
  };
  options.say = [&](const std::string& line) { report_note(line, request.color); };
  return Answer{.exit_code = train::run_with_restarts(options)};
}

}  // namespace

ckpt::Result<Answer> run_run(const Request& request) {
  const Command& command = request.command;
  TITAN_ASSIGN_OR_RETURN(const int nproc, parse_nproc(command));
  TITAN_ASSIGN_OR_RETURN(const std::optional<train::LaunchEnv> env, launch_env());
  if (const Status limits = train::check_process_limits(); !limits.ok()) {
    if (env && env->local_rank != 0) {  // only local rank 0 prints the error, so that it appears once per host
      report_note("rank " + std::to_string(env->rank) + " ends with exit code " +
                      std::to_string(ckpt::exit_code(limits.code)) + ": " + limits.message,
                  request.color);
      return Answer{.exit_code = ckpt::exit_code(limits.code)};
    }
    return limits;
  }
  TITAN_RETURN_IF_ERROR(check_nproc(command, nproc, env));
  const std::optional<std::string> restarts = command.value("max-restarts");
  if (restarts && env)
    return ckpt::invalid("--max-restarts is for titan-train's own launcher, and " + env->source + " starts these ranks")
        .with_hint("leave it out: that launcher restarts its job itself");
  if (restarts) return run_again(request, *restarts);
  if (env) return be_rank(request, *env);

  // Errors that every rank would report are found here, so that they appear once.
  TITAN_ASSIGN_OR_RETURN(auto loaded, recipe::load_run_config(command.positionals[0], command.overrides));
  TITAN_ASSIGN_OR_RETURN(const auto device, settle_device(loaded.config, nproc));
  if (!device.note.empty()) report_note(device.note, request.color);
  const std::string resume = command.value("resume").value_or("auto");
  TITAN_ASSIGN_OR_RETURN(const auto preview,
                         train::preview_start(ckpt::posix_fs(),
                                              {loaded, resume, command.all("allow"), static_cast<std::uint32_t>(nproc),
                                               weight_opener(loaded.config)},
                                              true));
  if (!preview.verdict.ok()) return preview.verdict;
  if (preview.complete && preview.decision.durable) {
    free_leftovers(loaded.config, request.color);
    say_complete(loaded, preview, request.color);
    // on_publish is not run for a step in another run's folder: that run has done so.
    if (loaded.config.checkpoint.on_publish && preview.decision.origin.empty())
      publish_missed(loaded.config, preview.decision.path, request.color);
    return Answer{};
  }
  if (const auto& near = loaded.config.checkpoint.near) TITAN_RETURN_IF_ERROR(ckpt::make_near(ckpt::posix_fs(), *near));
  for (const std::string& warning : loaded.warnings) report_note(warning, ColorChoice::kAuto);

  train::LaunchOptions options;
  TITAN_ASSIGN_OR_RETURN(options.program, engine_program());
  options.nproc = nproc;
  options.argv = command.words;
  const train::CoreShare cores{train::allowed_cores()};
  options.threads_per_rank =
      train::threads_per_rank(loaded.config, preview.stored ? &preview.stored->state : nullptr, nproc, cores);
  options.run_dir = loaded.config.job.dump_folder;
  const bool stored = preview.stored && train::stored_threads(preview.stored->state.environment);
  const char* const typed = std::getenv("OMP_NUM_THREADS");
  if (const std::string line = train::unused_thread_variable(typed ? std::optional<std::string>(typed) : std::nullopt,
                                                             loaded.config, stored, options.threads_per_rank);
      !line.empty())
    report_note(line, request.color);
  if (const std::string line = train::too_many_threads(nproc, options.threads_per_rank, cores); !line.empty())
    report_note(line, request.color);
  train::LaunchEvents events;
  bool lost_rank = false;
  events.failed = [&](const std::string& message, const std::string& hint) {
    lost_rank = true;
    clear_bar(request.color);  // a killed rank may have left its bar
    report_error(ckpt::failed(message).with_hint(hint), false, request.color);
  };
  const int code = train::launch_local(options, events);
  const bool early =
      ckpt::stopped_early(code) || (code == ckpt::kExitDone && train::is_at_stop(loaded.config, preview.decision));
  if (early || (code == ckpt::kExitFailed && lost_rank))
    print_resume_command(code, command.words, loaded.config, Starter::kTitanTrain, request.color);
  return Answer{.exit_code = code};
}

}  // namespace titan::cli
