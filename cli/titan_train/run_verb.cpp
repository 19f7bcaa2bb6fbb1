#include <algorithm>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <optional>

#include "ckpt/io/open_run.h"
#include "ckpt/io/run_folder.h"
#include "cli/titan_train/go_on.h"
#include "cli/titan_train/verbs.h"
#include "cli/ui/errors.h"
#include "cli/ui/output.h"
#include "cli/ui/terminal.h"
#include "cli/ui/version.h"
#include "converters/import.h"
#include "libtrain/launch/cores.h"
#include "libtrain/launch/launch_env.h"
#include "libtrain/launch/launcher.h"
#include "libtrain/launch/process_limits.h"
#include "libtrain/launch/rank_process.h"
#include "libtrain/launch/signals.h"
#include "libtrain/parallel/rendezvous.h"
#include "libtrain/start/preview.h"
#include "libtrain/start/threads.h"
#include "libtrain/train/trainer.h"
#include "recipe/plan/run_config.h"
#include "recipe/plan/run_plan.h"

namespace titan::train_cli {
namespace {

using ckpt::Result;
using ckpt::Status;

std::optional<std::string> environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

// Our launcher has decided, or this process before it executed itself anew; else rank 0 looks at the checkpoint for
// all, where torchrun's agent carries its word.
int threads_of_rank(const recipe::Config& config, const train::LaunchEnv& env, const std::string& resume) {
  if (env.threads > 0) return env.threads;
  if (const int threads = train::threads_of_restart(); threads > 0) return threads;
  const auto look = [&] {
    return std::to_string(train::choose_threads(ckpt::posix_fs(), config, resume, env.local_world));
  };
  const auto timeout = std::chrono::milliseconds(static_cast<std::int64_t>(config.comm.init_timeout_seconds * 1000));
  return std::max(1, std::atoi(train::word_of_rank_0(env, timeout, look).c_str()));
}

// The process of one rank. Leaves without running static destructors: LibTorch's threads may still be alive.
[[noreturn]] void be_rank(const Arguments& arguments, const std::vector<std::string>& words,
                          const train::LaunchEnv& env, ui::ColorChoice color) {
  train::install_stop_handlers();
  // Before ranks have met, each ends for itself: one error a host, and a line of every other rank.
  const auto leave = [&](const Status& status) {
    if (env.local_rank == 0)
      ui::report_error(status, false, color);
    else
      ui::report_note("rank " + std::to_string(env.rank) + " ends with exit code " +
                          std::to_string(ckpt::exit_code(status.code)) + ": " + status.message,
                      color);
    train::note_said_why();
    std::_Exit(ckpt::exit_code(status.code));
  };
  if (const Status bound = train::bind_to_launcher(); !bound.ok()) leave(bound);
  auto loaded = recipe::load_run_config(arguments.command.positionals[0], arguments.overrides);
  if (!loaded.ok()) leave(loaded.status());
  const auto mesh = recipe::make_run_mesh(loaded->config, static_cast<std::uint32_t>(env.world));
  if (!mesh.ok()) leave(mesh.status());

  train::TrainOptions options;
  options.resume = arguments.command.value("resume").value_or("auto");
  options.allow = allow_words(arguments.command);
  options.open_weights = weight_opener();
  options.threads = threads_of_rank(loaded->config, env, options.resume);
  // The program that takes this one's place knows nothing of a signal that came before.
  if (train::stop_requested()) {
    const std::string text = "rank " + std::to_string(env.rank) + " was stopped by a signal before it began";
    leave(train::stop_signal() == SIGINT ? ckpt::interrupted(text) : ckpt::terminated(text));
  }
  train::ensure_thread_env(options.threads);
  options.loaded = std::move(*loaded);
  options.env = env;
  options.version = ui::version_line("titan-train");
  options.color = !options.loaded.config.metrics.disable_color_printing && ui::color_of_process(1, color);
  options.out = [](const std::string& line) {
    Status ignored;  // a closed stdout does not end a training run
    ui::deliver(1, line + "\n", &ignored);
  };
  const bool of_launcher = env.source == "titan";
  if (!of_launcher) options.go_on = "the same job goes on from the newest step";
  train::TrainOutcome outcome = train::train(options);
  const Status& status = outcome.status;
  if (!status.ok() && outcome.report && !(outcome.lost_rank && train::leave_to_launcher(status.message, status.hint))) {
    ui::report_error(status, false, color);
    train::note_said_why();
  }
  const bool goes_on = outcome.at_stop || outcome.exit_code == 75 || outcome.exit_code == 130 ||
                       outcome.exit_code == 143 || (outcome.lost_rank && outcome.report);
  if (!of_launcher && goes_on && (env.rank == 0 || outcome.lost_rank))
    say_how_to_go_on(outcome.exit_code, words, options.loaded.config, Starter::kLauncher, color);
  std::_Exit(outcome.exit_code);
}

}  // namespace

Result<int> parse_nproc(const ui::Command& command, int most) {
  const std::string text = command.value("nproc").value_or("1");
  int count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc{} || end != text.data() + text.size() || count < 1 || count > most)
    return ckpt::invalid("--nproc " + text + ": expected a number of ranks from 1 to " + std::to_string(most));
  return count;
}

Status check_nproc(const ui::Command& command, int nproc, const std::optional<train::LaunchEnv>& env) {
  if (!env || !command.has("nproc") || nproc == env->world) return ckpt::ok_status();
  return ckpt::invalid("--nproc " + std::to_string(nproc) +
                       ", but the environment says WORLD_SIZE=" + std::to_string(env->world))
      .with_hint("leave out --nproc under a launcher, or unset RANK and WORLD_SIZE");
}

Result<ui::ColorChoice> parse_color(const ui::Command& command) {
  const std::string text = command.value("color").value_or("auto");
  if (text == "auto") return ui::ColorChoice::kAuto;
  if (text == "always") return ui::ColorChoice::kAlways;
  if (text == "never") return ui::ColorChoice::kNever;
  return ckpt::invalid("--color " + text + ": expected auto, always or never");
}

ckpt::WeightOpener weight_opener() {
  return [](const std::string& spec) -> Result<std::unique_ptr<ckpt::WeightSource>> {
    ckpt::Fs& fs = ckpt::posix_fs();
    const std::string path = convert::resolve_any(fs, spec);
    TITAN_ASSIGN_OR_RETURN(const convert::Format* format, convert::detect_format(fs, path));
    TITAN_ASSIGN_OR_RETURN(const std::string folder,
                           format != nullptr ? Result<std::string>(path) : ckpt::resolve_checkpoint(fs, path));
    TITAN_ASSIGN_OR_RETURN(ckpt::CheckpointReader reader, convert::open_any(fs, folder));
    return ckpt::weights_of(std::move(reader));
  };
}

// A run that is complete never starts ranks again: what its last deletion left would hold its space for good.
void free_leftovers(const recipe::Config& config, ui::ColorChoice color) {
  ckpt::Fs& fs = ckpt::posix_fs();
  const std::string folder = ckpt::join_path(config.job.dump_folder, config.checkpoint.folder);
  const auto entries = fs.list(folder);
  if (!entries.ok() || std::none_of(entries->begin(), entries->end(), ckpt::is_leftover)) return;
  const auto opened = ckpt::open_run(fs, config.job.dump_folder, folder);
  if (!opened.ok()) return ui::report_note("leftovers stay in " + folder + ": " + opened.status().message, color);
  for (const std::string& warning : opened->warnings) ui::report_note("leftover: " + warning, color);
}

// Nothing is trained, so nothing is written; but what the configuration asks for beyond that is not passed over in
// silence.
void say_complete(const recipe::LoadedConfig& loaded, const train::StartPreview& preview, ui::ColorChoice color) {
  ui::report_note(train::complete_line(loaded.config, preview.decision), color);
  bool model = false, data = false;
  for (const recipe::Change& change : preview.continuation.changes) {
    const std::string& key = change.drift.key;
    ui::report_note("not the checkpoint's setting: " + key + " is " + change.drift.stored + " there, " +
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
    ui::report_note("this command asks for " + other + " than that run: did you mean another --job.dump_folder?",
                    color);
}

int run_verb(const Arguments& arguments, const std::vector<std::string>& words) {
  const auto color = parse_color(arguments.command);
  const auto fail = [&](const Status& status) {
    return ui::report_error(status, false, color.ok() ? *color : ui::ColorChoice::kAuto);
  };
  if (!color.ok()) return fail(color.status());
  const auto nproc = parse_nproc(arguments.command);
  if (!nproc.ok()) return fail(nproc.status());
  const auto env = train::read_launch_env(environment);
  if (!env.ok()) return fail(env.status());
  if (const Status limits = train::check_process_limits(); !limits.ok()) {
    if (env->has_value() && (*env)->local_rank != 0) {  // an error once on each host
      ui::report_note("rank " + std::to_string((*env)->rank) + " ends with exit code " +
                          std::to_string(ckpt::exit_code(limits.code)) + ": " + limits.message,
                      *color);
      return ckpt::exit_code(limits.code);
    }
    return fail(limits);
  }
  if (const Status agrees = check_nproc(arguments.command, *nproc, *env); !agrees.ok()) return fail(agrees);
  if (env->has_value()) be_rank(arguments, words, **env, *color);

  // What every rank would refuse is refused here, once.
  const auto loaded = recipe::load_run_config(arguments.command.positionals[0], arguments.overrides);
  if (!loaded.ok()) return fail(loaded.status());
  const std::string resume = arguments.command.value("resume").value_or("auto");
  const auto preview = train::preview_start(
      ckpt::posix_fs(),
      {*loaded, resume, allow_words(arguments.command), static_cast<std::uint32_t>(*nproc), weight_opener(), true});
  if (!preview.ok()) return fail(preview.status());
  if (!preview->verdict.ok()) return fail(preview->verdict);
  if (preview->complete) {
    free_leftovers(loaded->config, *color);
    say_complete(*loaded, *preview, *color);
    return 0;
  }
  for (const std::string& warning : loaded->warnings) ui::report_note(warning, ui::ColorChoice::kAuto);

  train::LaunchOptions options;
  options.nproc = *nproc;
  options.argv = words;
  options.threads_per_rank = train::threads_per_rank(
      loaded->config, preview->stored ? train::stored_threads(preview->stored->state.environment) : std::nullopt,
      *nproc);
  options.run_dir = loaded->config.job.dump_folder;
  if (const std::string line = train::too_many_threads(*nproc, options.threads_per_rank, {train::allowed_cores()});
      !line.empty())
    ui::report_note(line, *color);
  train::LaunchEvents events;
  bool lost_rank = false;
  events.failed = [&](const std::string& message, const std::string& hint) {
    lost_rank = true;
    fail(ckpt::failed(message).with_hint(hint));
  };
  const int code = train::launch_local(options, events);
  const bool early =
      code == 75 || code == 130 || code == 143 || (code == 0 && train::is_at_stop(loaded->config, preview->decision));
  if (early || (code == 3 && lost_rank)) say_how_to_go_on(code, words, loaded->config, Starter::kUs, *color);
  return code;
}

}  // namespace titan::train_cli
