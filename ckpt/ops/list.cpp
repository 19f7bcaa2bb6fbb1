#include "ckpt/ops/list.h"

#include "ckpt/base/fs.h"
#include "ckpt/base/path.h"
#include "ckpt/base/quoting.h"
#include "ckpt/format/member_names.h"
#include "ckpt/run/run_check.h"
#include "ckpt/run/run_folder.h"
#include "ckpt/run/run_resolve.h"

namespace titan::ckpt {

namespace {

// Explains what is wrong with an invalid step, and what to do.
std::string what_to_do(const Status& validity) {
  if (validity.code == Code::kCorrupt || validity.code == Code::kNotFound) {
    const bool way = validity.code == Code::kNotFound && !validity.hint.empty();  // parity files are there
    return validity.message + "; a resume skips it" + (way ? "; " + validity.hint : "");
  }
  const std::string stops = validity.message + "; a resume stops here: ";
  if (!validity.hint.empty()) return stops + validity.hint;
  return stops +
         (validity.code == Code::kIncompatible ? "use a version that reads it" : "make it readable, or move it away");
}

std::string why_not(const StepEntry& entry, const ResumeChoice& choice) {
  const StepEntry* taken = choice.entry;
  if (!entry.validity.ok()) return what_to_do(entry.validity);
  if (!entry.full) {
    const std::string missing = entry.manifest ? missing_components(*entry.manifest) : "";
    // An imported checkpoint: titan-train can resume from it if it is allowed to start the data from the beginning.
    if (missing == kDataloader)
      return "no dataloader (position in the data): a resume needs `--allow training.dataset`";
    return "not a full checkpoint: a resume needs " + missing + " too";
  }
  if (taken != nullptr && taken->step > entry.step) return "older";
  return choice.blocked.ok() ? "" : "a newer step cannot be judged: a resume stops there";
}

ListedStep listed(Fs& fs, const StepEntry& entry, const ResumeChoice& choice) {
  ListedStep step;
  step.step = entry.step;
  step.path = entry.path;
  step.valid = entry.validity.ok();
  step.full = entry.full;
  step.pinned = entry.pinned;
  step.link = entry.link;
  step.moved_aside = entry.moved_aside;
  step.resume = &entry == choice.entry;
  if (!step.resume) step.reason = why_not(entry, choice);
  step.bytes = tree_bytes(fs, entry.path);
  if (entry.manifest) {
    step.id = entry.manifest->id;
    step.mesh = entry.manifest->mesh;
    step.created = entry.manifest->created;
  }
  if (const Result<FileInfo> info = fs.stat(entry.path); info.ok()) step.mtime_ns = info->mtime_ns;
  return step;
}

/// A checkpoint outside of a run: made by a tool, or named by its own path.
Result<ListReport> list_one(Fs& fs, const std::string& path) {
  StepEntry entry;
  entry.path = path;
  entry.pinned = is_pinned(fs, path);
  Result<Manifest> manifest = look_at_step(fs, path);
  if (manifest.ok()) {
    entry.step = manifest->step;
    entry.full = missing_components(*manifest).empty();
    entry.manifest = std::move(*manifest);
  } else {
    entry.validity = manifest.status();
  }
  ListedStep step = listed(fs, entry, {});
  if (!step.valid)
    step.reason = entry.validity.message;
  else if (step.full)
    step.reason = "one checkpoint: --resume " + shell_word(path) + " continues from it, --init-from takes its weights";
  return ListReport{.folder = path, .steps = {std::move(step)}};
}

}  // namespace

std::uint64_t tree_bytes(Fs& fs, const std::string& path) {
  const Result<std::vector<DirEntry>> entries = fs.list(path);
  if (!entries.ok()) return 0;
  std::uint64_t bytes = 0;
  for (const DirEntry& entry : *entries) {
    const std::string member = join_path(path, entry.name);
    if (entry.type == FileType::kDirectory) {
      bytes += tree_bytes(fs, member);
    } else if (const Result<FileInfo> info = fs.stat(member); info.ok() && info->type == FileType::kFile) {
      bytes += info->size;
    }
  }
  return bytes;
}

Result<ListReport> list_run(Fs& fs, const std::string& run) {
  if (fs.stat(join_path(run, "manifest.json")).ok()) return list_one(fs, run);
  ListReport report;
  TITAN_ASSIGN_OR_RETURN(report.folder, resolve_run(fs, run));
  TITAN_ASSIGN_OR_RETURN(RunScan scan, scan_run(fs, report.folder));
  const ResumeChoice choice = select_resume(scan);
  for (const StepEntry& entry : scan.steps) report.steps.push_back(listed(fs, entry, choice));
  for (const std::string& name : scan.damaged) {
    const std::string path = join_path(report.folder, name);
    report.damaged.push_back({name, is_pinned(fs, path), tree_bytes(fs, path)});
  }
  report.leftovers = std::move(scan.leftovers);
  report.foreign = std::move(scan.foreign);
  return report;
}

}  // namespace titan::ckpt
