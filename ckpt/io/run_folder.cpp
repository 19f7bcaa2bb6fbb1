#include "ckpt/io/run_folder.h"

#include <algorithm>
#include <charconv>

#include "ckpt/format/layout.h"
#include "ckpt/io/run_lock.h"

namespace titan::ckpt {
namespace {

constexpr std::string_view kTrashPrefix = ".trash-";
constexpr const char* kResumeComponents[] = {"model", "optimizer", "lr_scheduler", "dataloader", "train_state"};

/// "latest" and the file that becomes it (advice only, looked at by nobody), and the lock of a folder of steps that lies alone.
bool is_ours(const DirEntry& entry) {
  return entry.type == FileType::kFile && (entry.name == "latest" || entry.name == "latest.tmp" || entry.name == kRunLockFile);
}

StepEntry check_step(Fs& fs, std::uint64_t step, std::string path, const StepCheck& check) {
  StepEntry entry;
  entry.step = step;
  entry.path = std::move(path);
  // When in doubt it is pinned: a pin only keeps things.
  const Result<FileInfo> pin = fs.stat(join_path(entry.path, ".keep"));
  entry.pinned = pin.ok() || pin.status().code != Code::kNotFound;
  Result<Manifest> manifest = check(entry.path);
  if (!manifest.ok()) {
    entry.validity = manifest.status();
  } else if (manifest->step != step) {
    entry.validity = corrupt(entry.path + ": the manifest is of step " + std::to_string(manifest->step) + ", expected " +
                             std::to_string(step) + " as the folder's name says");
  } else {
    entry.full = missing_components(*manifest).empty();
    entry.manifest = std::move(*manifest);
  }
  return entry;
}

}  // namespace

bool is_leftover(const DirEntry& entry) {
  if (entry.type != FileType::kDirectory) return false;
  const std::string_view name = entry.name;
  if (name.starts_with(kTrashPrefix)) {
    // ".trash-" + step name + "-" + id, or what a store probe left: anything else was made by somebody else.
    const std::string_view rest = name.substr(kTrashPrefix.size());
    if (rest.starts_with("probe-")) return true;
    const std::size_t dash = rest.rfind('-');
    return dash != std::string_view::npos && dash + 1 < rest.size() && parse_step_name(rest.substr(0, dash));
  }
  constexpr std::string_view kTemporary = ".tmp-";
  const std::size_t dot = name.find('.');
  return dot != std::string_view::npos && parse_step_name(name.substr(0, dot)) && name.substr(dot).starts_with(kTemporary) &&
         name.size() > dot + kTemporary.size();
}

std::string one_line(const Status& status) {
  std::string text = status.message;
  for (const std::string& cause : status.causes) text += "; " + cause;
  return text;
}

std::string missing_components(const Manifest& manifest) {
  std::string missing;
  for (const char* name : kResumeComponents) {
    const bool there = std::any_of(manifest.components.begin(), manifest.components.end(),
                                   [name](const ComponentEntry& component) { return component.name == name; });
    if (!there) missing += (missing.empty() ? "" : ", ") + std::string(name);
  }
  return missing;
}

Result<RunScan> scan_run(Fs& fs, const std::string& checkpoint_dir, const StepCheck& check) {
  RunScan scan;
  Result<std::vector<DirEntry>> entries = fs.list(checkpoint_dir);
  if (!entries.ok()) {
    if (entries.status().code == Code::kNotFound) return scan;
    return entries.status();
  }
  for (const DirEntry& entry : *entries) {
    const std::optional<std::uint64_t> step = parse_step_name(entry.name);
    if (step && entry.type == FileType::kDirectory) {
      scan.steps.push_back(check_step(fs, *step, join_path(checkpoint_dir, entry.name), check));
    } else if (!is_ours(entry)) {
      (is_leftover(entry) ? scan.leftovers : scan.foreign).push_back(entry.name);
    }
  }
  std::sort(scan.steps.begin(), scan.steps.end(), [](const StepEntry& a, const StepEntry& b) { return a.step > b.step; });
  return scan;
}

ResumeChoice select_resume(const RunScan& scan) {
  ResumeChoice choice;
  for (const StepEntry& entry : scan.steps) {
    if (entry.validity.ok() && entry.full) {
      choice.entry = &entry;
      break;
    }
    if (!entry.validity.ok() && entry.validity.code != Code::kCorrupt && entry.validity.code != Code::kNotFound) {
      choice.blocked = entry.validity;
      break;
    }
    std::string why = one_line(entry.validity);
    if (entry.validity.ok())
      why = "not enough for a resume" + (entry.manifest ? ": it has no " + missing_components(*entry.manifest) : "");
    choice.skipped.push_back(step_name(entry.step) + ": " + why);
  }
  return choice;
}

std::vector<std::size_t> select_expired(const RunScan& scan, std::uint64_t keep_latest) {
  std::vector<std::size_t> expired;
  if (keep_latest == 0) return expired;
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < scan.steps.size(); ++i) {
    const StepEntry& entry = scan.steps[i];
    if (!entry.validity.ok() || !entry.full) continue;
    if (++seen > keep_latest && !entry.pinned && entry.step != 0) expired.push_back(i);
  }
  return expired;
}

bool retention_must_wait(const RunScan& scan) { return scan.steps.size() > 1 && !scan.steps.front().validity.ok(); }

Status delete_step(Fs& fs, const std::string& checkpoint_dir, const std::string& name, const std::string& trash_id) {
  if (!parse_step_name(name)) return invalid("'" + name + "' is not the name of a step, expected the form " + step_name(0));
  if (trash_id.empty() || trash_id.find('/') != std::string::npos) return invalid("'" + trash_id + "' cannot be part of a file name");
  const std::string trash = join_path(checkpoint_dir, std::string(kTrashPrefix) + name + "-" + trash_id);
  // Renamed first and made durable: a half-deleted folder never looks like a checkpoint.
  TITAN_RETURN_IF_ERROR(fs.rename_noreplace(join_path(checkpoint_dir, name), trash));
  TITAN_RETURN_IF_ERROR(fs.sync_dir(checkpoint_dir));
  return remove_tree(fs, trash);
}

std::string step_name(std::uint64_t step) { return step_folder(step); }

std::optional<std::uint64_t> parse_step_name(std::string_view name) {
  constexpr std::string_view kPrefix = "step-";
  if (!name.starts_with(kPrefix)) return std::nullopt;
  std::uint64_t step = 0;
  auto [end, error] = std::from_chars(name.data() + kPrefix.size(), name.data() + name.size(), step);
  // Only the one spelling: step-1, step-000000001 and step-00000001.backup are somebody else's.
  if (error != std::errc{} || end != name.data() + name.size() || step_name(step) != name) return std::nullopt;
  return step;
}

}  // namespace titan::ckpt
