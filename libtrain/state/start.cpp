#include "libtrain/state/start.h"

#include <algorithm>

#include "ckpt/io/reader.h"

namespace titan::train {
namespace {

using ckpt::Result;
using ckpt::Status;

std::string known_steps(const ckpt::RunScan& scan) {
  std::string text;
  for (const ckpt::StepEntry& entry : scan.steps) {
    if (!text.empty()) text += ", ";
    text += std::to_string(entry.step) + (entry.validity.ok() ? "" : " (invalid)");
  }
  return text.empty() ? "none" : text;
}

// A step that the user named is taken or refused, never replaced by another.
Result<StartDecision> explicit_start(ckpt::Fs& fs, const std::string& path, const ckpt::RunScan& own) {
  auto reader = ckpt::CheckpointReader::open(fs, path);
  if (!reader.ok()) return reader.status();
  const ckpt::Manifest& manifest = reader->manifest();
  for (const char* component : {"model", "optimizer", "lr_scheduler", "dataloader", "train_state"}) {
    if (manifest.component(component) == nullptr)
      return ckpt::incompatible(path + " has no " + component + ": it cannot be resumed").with_hint("resume from a full checkpoint of the run");
  }
  // By identity, not by spelling: the same folder may be named in many ways.
  const bool inside = std::any_of(own.steps.begin(), own.steps.end(), [&](const ckpt::StepEntry& entry) {
    return entry.step == manifest.step && entry.manifest && entry.manifest->id == manifest.id;
  });
  const ckpt::ResumeChoice newest = ckpt::select_resume(own);
  if (newest.entry != nullptr && inside && newest.entry->step > manifest.step)
    return ckpt::incompatible("step " + std::to_string(manifest.step) + " is older than step " + std::to_string(newest.entry->step) +
                              ", the newest of this run folder")
        .with_hint("the next `--resume auto` would take the abandoned branch: move the newer steps away, or resume into a new job.dump_folder");
  if (newest.entry != nullptr && !inside)
    return ckpt::incompatible("the run folder already has step " + std::to_string(newest.entry->step) + "; it cannot start from " + path)
        .with_hint("leave out --resume to go on with the run's own newest step, or choose a new job.dump_folder");
  StartDecision decision;
  decision.path = path;
  decision.step = manifest.step;
  decision.reason = "asked for by name";
  return decision;
}

}  // namespace

Result<StartDecision> decide_start(ckpt::Fs& fs, const StartRequest& request, const std::set<std::uint64_t>& damaged) {
  auto scanned = ckpt::scan_run(fs, request.checkpoint_dir);
  if (!scanned.ok()) return scanned.status();
  ckpt::RunScan& scan = *scanned;

  if (request.resume == "never") {
    if (!scan.steps.empty())
      return ckpt::invalid("--resume never, but " + request.checkpoint_dir + " holds steps " + known_steps(scan))
          .with_hint("choose a new job.dump_folder, or leave out --resume to go on");
    return StartDecision{"", 0, "fresh start: asked for by --resume never", {}, false};
  }
  if (request.resume != "auto") {
    auto path = ckpt::resolve_checkpoint(fs, request.resume);
    if (!path.ok()) return path.status();
    return explicit_start(fs, *path, scan);
  }
  if (request.load_step >= 0) {
    const std::string path = ckpt::join_path(request.checkpoint_dir, ckpt::step_name(static_cast<std::uint64_t>(request.load_step)));
    if (!fs.stat(path).ok())
      return ckpt::not_found("checkpoint.load_step = " + std::to_string(request.load_step) + ": no such step in " + request.checkpoint_dir +
                             " (there are: " + known_steps(scan) + ")");
    return explicit_start(fs, path, scan);
  }
  if (scan.steps.empty()) return StartDecision{"", 0, "fresh start: no checkpoint in " + request.checkpoint_dir, {}, false};

  for (ckpt::StepEntry& entry : scan.steps) {
    if (damaged.count(entry.step) != 0) entry.validity = ckpt::corrupt("damage found while loading");
  }
  const ckpt::ResumeChoice choice = ckpt::select_resume(scan);
  if (!choice.blocked.ok()) return choice.blocked;
  if (choice.entry == nullptr) {
    Status status = ckpt::corrupt("no step in " + request.checkpoint_dir + " can be resumed; training from scratch would abandon the run");
    status.causes = choice.skipped;
    return status.with_hint("`titan-ckpt verify` says what is damaged; start anew with another job.dump_folder");
  }
  StartDecision decision;
  decision.path = choice.entry->path;
  decision.step = choice.entry->step;
  decision.reason = "newest valid step of " + request.checkpoint_dir;
  decision.skipped = choice.skipped;
  decision.may_fall_back = true;
  return decision;
}

}  // namespace titan::train
