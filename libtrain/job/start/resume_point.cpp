#include "libtrain/job/start/resume_point.h"

#include <algorithm>
#include <cctype>
#include <cerrno>

#include "ckpt/base/fs.h"
#include "ckpt/base/nearest.h"
#include "ckpt/base/path.h"
#include "ckpt/base/quoting.h"
#include "ckpt/format/member_names.h"
#include "ckpt/format/parity_file.h"
#include "ckpt/read/reader.h"
#include "ckpt/run/run_check.h"
#include "ckpt/run/run_resolve.h"
#include "libtrain/job/start/own_steps.h"
#include "recipe/change/name_rules.h"
#include "recipe/history/best_step.h"
#include "recipe/keys/config.h"

namespace titan::train {
namespace {

using ckpt::Result;
using ckpt::Status;

Status no_data_position(const std::string& path) {
  return ckpt::incompatible(path +
                            " has no dataloader: it was imported, and where its run was in the data is not known")
      .with_hint("--allow training.dataset begins the data at sample 0");
}

Status check_components(const ckpt::Manifest& manifest, const std::string& path,
                        const std::vector<std::string>& exclude, OwnSteps& own) {
  const std::string missing = ckpt::missing_components(manifest, exclude);
  if (missing.empty()) return ckpt::ok_status();
  if (missing == "dataloader") return no_data_position(path);
  // torchtitan's optimizer without its LR scheduler: converted without a configuration.
  if (manifest.component("optimizer") != nullptr && manifest.component("lr_scheduler") == nullptr &&
      manifest.component("train_state") == nullptr) {
    return ckpt::incompatible(path + " has no " + missing + ": it cannot be resumed")
        .with_hint(
            "it was converted without a configuration: convert it again with `titan-ckpt convert SRC DST --to titan "
            "--config torchtitan.toml`; or "
            "start a new run from its weights: --init-from " +
            ckpt::shell_word(path));
  }
  const ckpt::ResumeChoice newest = own.newest();
  std::string full = "a full checkpoint of the run";
  if (newest.entry != nullptr)
    full = newest.entry->path + ", the newest full step";
  else if (manifest.derived_from)
    full = manifest.derived_from->path + ", which it was made from";
  return ckpt::incompatible(path + " has no " + missing + ": it cannot be resumed")
      .with_hint("resume from " + full + "; or start a new run from its weights: --init-from " +
                 ckpt::shell_word(path));
}

StartDecision own_step(const OwnSteps& own, const ckpt::ResumeChoice& choice, std::string reason) {
  StartDecision decision{StartMode::kResume, choice.entry->path, choice.entry->step};
  decision.near = own.is_near(*choice.entry);
  decision.durable = own.is_durable(*choice.entry);
  decision.reason = std::move(reason);
  decision.skipped = choice.skipped;
  if (!choice.entry->link.empty()) decision.notes.push_back(choice.entry->path + " is a link to " + choice.entry->link);
  if (choice.entry->moved_aside)
    decision.notes.push_back(choice.entry->path +
                             " was moved aside by an interrupted tool; a start puts it back first");
  decision.manifest = choice.entry->manifest;
  decision.may_fall_back = true;
  return decision;
}

/// The origin recorded in a checkpoint whose members were already checked.
Result<std::string> origin_of(ckpt::Fs& fs, const std::string& path, const ckpt::Manifest& manifest) {
  TITAN_ASSIGN_OR_RETURN(const ckpt::TrainState state, ckpt::CheckpointReader::known(fs, path, manifest).train_state());
  return state.origin;
}

/// Resuming the run itself requires that it began at the checkpoint given on the command line (`given`, with id `id`).
Status check_origin(ckpt::Fs& fs, const std::string& path, const ckpt::Manifest& manifest, const std::string& id,
                    const std::string& given) {
  TITAN_ASSIGN_OR_RETURN(const std::string origin, origin_of(fs, path, manifest));
  if (origin == id && !id.empty()) return ckpt::ok_status();
  return ckpt::incompatible("the run folder already has step " + std::to_string(manifest.step) +
                            ", which did not begin from " + given)
      .with_hint("leave out " + given + " to continue with the run's own newest step, or choose a new job.dump_folder");
}

Result<StartDecision> go_on_if_from(ckpt::Fs& fs, const OwnSteps& own, const ckpt::ResumeChoice& newest,
                                    const std::string& id, const std::string& given) {
  TITAN_RETURN_IF_ERROR(check_origin(fs, newest.entry->path, *newest.entry->manifest, id, given));
  return own_step(own, newest, "newest valid step of the run that began from " + given);
}

/// For a checkpoint on the command line (`given`) that cannot be opened. A run that already began from one no longer
/// needs it.
Result<StartDecision> go_on_without(ckpt::Fs& fs, const OwnSteps& own, const ckpt::ResumeChoice& newest,
                                    const std::string& given, const Status& why) {
  TITAN_ASSIGN_OR_RETURN(const std::string origin, origin_of(fs, newest.entry->path, *newest.entry->manifest));
  if (origin.empty()) return why;
  StartDecision decision = own_step(own, newest, "newest valid step of the run, which began from id " + origin);
  decision.notes.push_back(given + " cannot be compared with what the run began from, id " + origin + ": " +
                           why.message);
  return decision;
}

/// Whether `spec` names a step of the run itself, existing or not.
bool means_own_step(ckpt::Fs& fs, const std::string& spec, const std::string& checkpoint_dir) {
  const std::size_t sign = spec.rfind('@'), slash = spec.find_last_of('/', spec.find_last_not_of('/'));
  std::string folder = slash == std::string::npos ? "." : spec.substr(0, std::max<std::size_t>(slash, 1));
  if (!fs.stat(spec).ok() && sign != std::string::npos) {
    const auto run = ckpt::resolve_run(fs, spec.substr(0, sign));
    if (!run.ok()) return false;
    folder = *run;
  }
  const auto own = fs.real_path(checkpoint_dir), named = fs.real_path(folder);
  return own.ok() && named.ok() && *own == *named;
}

// An existing step is taken or refused, never replaced by another.
Result<StartDecision> explicit_start(ckpt::Fs& fs, const std::string& path, OwnSteps& own,
                                     const StartRequest& request) {
  TITAN_ASSIGN_OR_RETURN(ckpt::CheckpointReader reader, ckpt::open_checkpoint(fs, path, request.check_depth));
  const ckpt::Manifest& manifest = reader.manifest();
  const bool inside = own.contains(manifest);
  const ckpt::ResumeChoice newest = own.newest();
  if (!inside && !newest.blocked.ok()) return newest.blocked;
  if (!inside && newest.entry != nullptr) return go_on_if_from(fs, own, newest, manifest.id.hex(), path);
  TITAN_RETURN_IF_ERROR(check_components(manifest, path, request.exclude, own));
  if (newest.entry != nullptr && newest.entry->step > manifest.step)
    return ckpt::incompatible("step " + std::to_string(manifest.step) + " is older than step " +
                              std::to_string(newest.entry->step) + ", the newest of this run folder")
        .with_hint(
            "the next `--resume auto` would take the abandoned branch: move the newer steps away, or resume into a new "
            "job.dump_folder");
  StartDecision decision{StartMode::kResume, path, manifest.step};
  decision.near = own.is_near(decision.path);
  decision.durable = !decision.near || own.has_durable(decision.step);
  decision.reason = inside ? "asked for by name" : "this run starts from another run's checkpoint";
  if (!inside) decision.origin = manifest.id.hex();
  if (!inside) decision.skipped = newest.skipped;
  decision.manifest = std::move(reader).take_manifest();
  return decision;
}

// A path has a slash, and a step of a run has an "@": any other text that is not a path is a mistyped word.
Status check_word(ckpt::Fs& fs, const StartRequest& request) {
  const std::string& word = request.resume;
  if (!request.typed || word.find_first_of("/@") != std::string::npos || fs.stat(word).ok()) return ckpt::ok_status();
  std::string small = word;
  std::ranges::transform(small, small.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const Status wrong = ckpt::invalid("--resume " + word + ": expected auto, required, never or a path");
  const std::string meant = ckpt::did_you_mean(small, {"auto", "required", "never"});
  return wrong.with_hint(!meant.empty() ? meant : "there is no file or folder of this name: write a path with a slash");
}

Result<StartDecision> start_from_path(ckpt::Fs& fs, const StartRequest& request, OwnSteps& own) {
  TITAN_RETURN_IF_ERROR(check_word(fs, request));
  const ckpt::Result<std::string> named = recipe::resolve_best(fs, request.resume);
  const auto path = named.ok() ? ckpt::resolve_checkpoint(fs, *named) : named;
  if (path.ok() && fs.stat(ckpt::join_path(*path, ckpt::kManifestFile)).ok())
    return explicit_start(fs, *path, own, request);
  Status absent = path.ok() ? ckpt::no_manifest(fs, *path) : path.status();
  if (path.ok() && absent.hint.empty())
    absent = absent.with_hint(
        "a checkpoint of another program is made one with `titan-ckpt convert`; --init-from takes its weights as they "
        "are");
  // A folder that is not a checkpoint is an error, and so is a missing step of the run itself.
  const bool slip = !path.ok() && (absent.code != ckpt::Code::kNotFound || fs.stat(request.resume).ok());
  if (slip || means_own_step(fs, path.ok() ? *path : request.resume, request.checkpoint_dir)) return absent;
  const ckpt::ResumeChoice newest = own.newest();
  if (!newest.blocked.ok()) return newest.blocked;
  if (newest.entry == nullptr) return absent;
  return go_on_without(fs, own, newest, request.resume, absent);
}

Result<std::unique_ptr<ckpt::WeightSource>> open_source(ckpt::Fs& fs, const StartRequest& request) {
  if (request.open_weights) return request.open_weights(fs, request.init_from);
  TITAN_ASSIGN_OR_RETURN(const std::string named, recipe::resolve_best(fs, request.init_from));
  TITAN_ASSIGN_OR_RETURN(const std::string path, ckpt::resolve_checkpoint(fs, named));
  return ckpt::open_weights(fs, path);
}

Status nothing_to_resume(const StartRequest& request) {
  return ckpt::not_found("--resume required, and there is no checkpoint in " + request.checkpoint_dir + " to resume")
      .with_hint("is its file system mounted? Leave out --resume required for the first start of a run");
}

bool is_missing(ckpt::Fs& fs, const std::string& folder) {
  return folder.empty() || fs.stat(folder).status().code == ckpt::Code::kNotFound;
}

Result<StartDecision> transfer(ckpt::Fs& fs, const StartRequest& request, OwnSteps& own) {
  const ckpt::ResumeChoice newest = own.newest();
  if (!newest.blocked.ok()) return newest.blocked;
  // Weights are needed to load or compare them, not to tell which step a start would take.
  if (request.check_depth == ckpt::CheckDepth::kManifest)
    return newest.entry != nullptr ? own_step(own, newest, "") : StartDecision{StartMode::kTransfer};
  const auto source = open_source(fs, request);
  if (newest.entry != nullptr) {
    if (source.ok()) return go_on_if_from(fs, own, newest, (*source)->id(), "--init-from " + request.init_from);
    return go_on_without(fs, own, newest, request.init_from, source.status());
  }
  if (!source.ok()) return source.status();
  if (request.required) return nothing_to_resume(request);
  StartDecision decision{StartMode::kTransfer, (*source)->path()};
  decision.origin = (*source)->id();
  decision.reason = "a new run from the weights of " + (*source)->path() +
                    ((*source)->step() > 0 ? " (step " + std::to_string((*source)->step()) + ")" : "");
  decision.skipped = newest.skipped;
  if (const ckpt::Manifest* manifest = (*source)->manifest()) decision.manifest = *manifest;
  return decision;
}

/// checkpoint.load_step: a step of this run.
Result<StartDecision> start_from_step(ckpt::Fs& fs, const StartRequest& request, OwnSteps& own) {
  const auto step = static_cast<std::uint64_t>(request.load_step);
  const std::vector<ckpt::StepEntry>& steps = own.names().steps;
  const auto found = std::ranges::find(steps, step, &ckpt::StepEntry::step);
  const std::string path =
      found != steps.end() ? found->path : ckpt::join_path(request.checkpoint_dir, ckpt::step_name(step));
  if (!fs.stat(path).ok())
    return ckpt::not_found("checkpoint.load_step = " + std::to_string(step) + ": no such step in " +
                           request.checkpoint_dir + " (there are: " + own.list() + ")");
  if (!request.init_from.empty()) {
    // Initial weights that no longer exist are not needed any more.
    if (const auto source = open_source(fs, request); source.ok()) {
      TITAN_ASSIGN_OR_RETURN(ckpt::CheckpointReader reader, ckpt::CheckpointReader::open(fs, path));
      TITAN_RETURN_IF_ERROR(
          check_origin(fs, path, reader.manifest(), (*source)->id(), "--init-from " + request.init_from));
    }
  }
  return explicit_start(fs, path, own, request);
}

// A save moves a valid step aside instead of replacing it. The user who put it there should know this before the run
// starts.
Status check_way(const std::vector<const ckpt::StepEntry*>& newer, const SavePlan& saves, StartDecision& decision) {
  for (const ckpt::StepEntry* step : newer) {
    const ckpt::StepEntry& entry = *step;
    if (!entry.validity.ok()) continue;
    const std::string what =
        entry.path + (entry.pinned ? ", pinned by .keep," : "") + " is valid, and no resume can start from it";
    if (saves.publishes(entry.step))
      return ckpt::incompatible(what + ": this run continues after step " + std::to_string(decision.step) +
                                " and will save a step " + std::to_string(entry.step) +
                                " of its own, which never replaces it")
          .with_hint("move it out of the folder, or use another job.dump_folder");
    if (saves.enabled)
      decision.notes.push_back(what + "; a save of step " + std::to_string(entry.step) + " moves it aside");
  }
  return ckpt::ok_status();
}

// A user who names torchtitan's own run folder wants to continue that run.
Status check_nobody_elses(ckpt::Fs& fs, const std::string& folder, const ckpt::RunScan& scan) {
  for (const std::string& name : scan.foreign) {
    if (!fs.stat(ckpt::join_path(ckpt::join_path(folder, name), ".metadata")).ok()) continue;
    return ckpt::incompatible(folder + " holds torch checkpoints (" + name +
                              ") and none of Titan's: a fresh start would abandon that run")
        .with_hint("choose another job.dump_folder RUN and `mkdir -p RUN/checkpoint && titan-ckpt convert " +
                   ckpt::shell_word(ckpt::join_path(folder, name)) +
                   " RUN/checkpoint/step-NNNNNNNN --to titan --config torchtitan.toml`, or start afresh here with "
                   "--resume never");
  }
  return ckpt::ok_status();
}

Result<StartDecision> choose(ckpt::Fs& fs, const StartRequest& request, OwnSteps& own) {
  if (!request.init_from.empty() && request.load_step < 0) return transfer(fs, request, own);
  if (request.resume == "never")
    return StartDecision{StartMode::kFresh, "", 0, "", "fresh start: asked for by --resume never"};
  if (request.resume != "auto") return start_from_path(fs, request, own);
  if (request.load_step >= 0) return start_from_step(fs, request, own);
  if (own.names().steps.empty()) {
    if (request.required) return nothing_to_resume(request);
    TITAN_RETURN_IF_ERROR(check_nobody_elses(fs, request.checkpoint_dir, own.names()));
    return StartDecision{StartMode::kFresh, "", 0, "", "fresh start: no checkpoint in " + request.checkpoint_dir};
  }

  const ckpt::ResumeChoice choice = own.newest();
  if (!choice.blocked.ok()) return choice.blocked;
  if (choice.entry == nullptr) {
    const ckpt::RunScan& scan = own.all();
    for (const ckpt::StepEntry& entry : scan.steps)
      if (entry.validity.ok() && entry.manifest &&
          ckpt::missing_components(*entry.manifest, request.exclude) == "dataloader")
        return no_data_position(entry.path);
    if (std::ranges::all_of(scan.steps,
                            [](const ckpt::StepEntry& entry) { return entry.validity.ok() && entry.manifest; })) {
      const ckpt::StepEntry& newest = scan.steps.front();
      return check_components(*newest.manifest, newest.path, request.exclude, own);
    }
    Status status = ckpt::corrupt("no step in " + request.checkpoint_dir +
                                  " can be resumed; training from scratch would abandon the run");
    status.causes = choice.skipped;
    return status.with_hint("`titan-ckpt verify " + ckpt::shell_word(request.checkpoint_dir) +
                            "` says what is damaged; start anew with another job.dump_folder");
  }
  return own_step(own, choice, "newest valid step of " + request.checkpoint_dir);
}

}  // namespace

Result<StartRequest> start_request(const recipe::Config& config, const std::string& resume) {
  StartRequest request;
  request.resume = resume;
  request.load_step = config.checkpoint.load_step;
  request.checkpoint_dir = ckpt::join_path(config.job.dump_folder, config.checkpoint.folder);
  request.exclude = config.checkpoint.exclude_from_loading;
  request.near_root = config.checkpoint.near.value_or("");
  request.only_new = resume == "never";
  request.saves = {config.checkpoint.enable, config.checkpoint.interval.known_steps(),
                   static_cast<std::uint64_t>(config.training.steps),
                   static_cast<std::uint64_t>(config.debug.stop_at_step.value_or(0)),
                   config.checkpoint.enable_first_step_checkpoint};
  if (config.debug.stop_at_step && !config.checkpoint.enable)
    return ckpt::invalid("debug.stop_at_step = " + std::to_string(*config.debug.stop_at_step) +
                         " saves a step, but checkpoint.enable = false")
        .with_hint("leave one of them out");
  request.required = resume == "required";
  if (request.required) request.resume = "auto";
  const bool named = resume != "auto" && resume != "never" && resume != "required";
  request.typed = named;
  if (named && request.load_step >= 0)
    return ckpt::invalid("--resume " + resume + " and checkpoint.load_step = " + std::to_string(request.load_step) +
                         ": a run starts from one checkpoint")
        .with_hint("leave one of them out");
  if (recipe::gives_rules(config) && !config.checkpoint.initial_load_path)
    return ckpt::invalid(
               "rules for names (--init-map, --skip, --rename, --rows) without --init-from: there are no weights to "
               "map")
        .with_hint("add --init-from PATH, or leave out the rules");
  if (!config.checkpoint.initial_load_path) return request;
  const std::string& path = *config.checkpoint.initial_load_path;
  if (path.empty()) return ckpt::invalid("checkpoint.initial_load_path is empty: expected a checkpoint");
  if (named)
    return ckpt::invalid("--resume " + resume + " and --init-from (checkpoint.initial_load_path) " + path +
                         ": a run starts from one checkpoint")
        .with_hint("leave one of them out");
  if (config.checkpoint.initial_load_model_only) {
    request.init_from = path;
  } else {
    if (recipe::gives_rules(config))
      return ckpt::invalid(
                 "rules for names (--init-map, --skip, --rename, --rows) with "
                 "checkpoint.initial_load_model_only = false: everything is loaded under its own name")
          .with_hint("leave one of them out");
    if (request.load_step >= 0)
      return ckpt::invalid("checkpoint.initial_load_path " + path +
                           " with initial_load_model_only = false and checkpoint.load_step = " +
                           std::to_string(request.load_step) + ": a run starts from one checkpoint")
          .with_hint("leave one of them out");
    request.resume = path;
  }
  return request;
}

Status check_folder_to_resume(ckpt::Fs& fs, const StartRequest& request) {
  if (!request.required || !is_missing(fs, request.checkpoint_dir) || !is_missing(fs, request.near_root))
    return ckpt::ok_status();
  return nothing_to_resume(request);
}

bool SavePlan::publishes(std::uint64_t step) const {
  if (!enabled || step > last || (stop_at != 0 && step > stop_at)) return false;
  return step == last || step == stop_at || (first && step == 1) || (interval != 0 && step % interval == 0);
}

Result<StartDecision> decide_start(ckpt::Fs& fs, const StartRequest& request, const std::set<std::uint64_t>& damaged) {
  auto listed = ckpt::list_steps(fs, request.checkpoint_dir);
  if (listed.status().error == ENOTDIR) {
    const Status in_the_way =
        listed.status().wrapped("there can be no steps in " + request.checkpoint_dir + ": a file is in the way");
    return in_the_way.hint.empty() ? in_the_way.with_hint("choose another job.dump_folder") : in_the_way;
  }
  if (listed.status().code == ckpt::Code::kFailed)
    return listed.status().wrapped("the run's checkpoints in " + request.checkpoint_dir + " cannot be listed");
  TITAN_ASSIGN_OR_RETURN(ckpt::RunScan names, std::move(listed));
  TITAN_ASSIGN_OR_RETURN(OwnSteps own, OwnSteps::open(fs, std::move(names), request, damaged));

  if (request.only_new && !own.names().steps.empty())
    return ckpt::invalid("--resume never, but " + request.checkpoint_dir + " holds steps " + own.list())
        .with_hint("choose a new job.dump_folder, or leave out --resume to continue");
  TITAN_ASSIGN_OR_RETURN(StartDecision decision, choose(fs, request, own));
  TITAN_RETURN_IF_ERROR(check_way(own.newer_than(decision.step), request.saves, decision));
  return decision;
}

}  // namespace titan::train
