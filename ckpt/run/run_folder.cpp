#include "ckpt/run/run_folder.h"

#include <algorithm>

#include "ckpt/base/files.h"
#include "ckpt/base/fs.h"
#include "ckpt/base/quoting.h"
#include "ckpt/base/text.h"
#include "ckpt/format/member_names.h"
#include "ckpt/lock/run_lock.h"
#include "ckpt/run/near_folder.h"
#include "ckpt/run/own_files.h"
#include "ckpt/run/recover.h"

namespace titan::ckpt {
namespace {

constexpr std::string_view kTrashPrefix = ".trash-";
constexpr std::string_view kDamagedPrefix = ".damaged-";

/// Files that Titan writes next to the steps: "latest" and its temporary (Titan itself does not read them), the lock of
/// the folder, and the file kNearMark.
bool is_ours(const DirEntry& entry) {
  return entry.type == FileType::kFile && (entry.name == "latest" || entry.name == kLatestTemporary ||
                                           entry.name == kRunLockFile || entry.name == kNearMark);
}

/// select_resume() over a list of steps; calls `judge` for each step before it looks at it.
template <typename Steps, typename Judge>
ResumeChoice choose(Steps& steps, const Judge& judge) {
  ResumeChoice choice;
  for (auto& entry : steps) {
    judge(entry);
    if (entry.validity.ok() && entry.full) {
      choice.entry = &entry;
      break;
    }
    if (!entry.validity.ok() && entry.validity.code != Code::kCorrupt && entry.validity.code != Code::kNotFound) {
      choice.blocked = entry.validity;
      if (choice.blocked.hint.empty())
        choice.blocked.hint =
            "make " + entry.path + " readable, or move it away: to continue from an older step would abandon it";
      break;
    }
    std::string why = one_line(entry.validity);
    if (entry.validity.ok())
      why = "not enough for a resume" + (entry.manifest ? ": it has no " + missing_components(*entry.manifest) : "");
    if (entry.validity.code == Code::kNotFound && !entry.validity.hint.empty()) why += "; " + entry.validity.hint;
    choice.skipped.push_back(step_name(entry.step) + ": " + why);
  }
  return choice;
}
}  // namespace

std::optional<std::uint64_t> step_of(const DirEntry& entry) {
  if (entry.type != FileType::kDirectory && entry.type != FileType::kLink) return std::nullopt;
  return parse_step_name(entry.name);
}

Result<std::string> follow_step(Fs& fs, const std::string& path) {
  Result<std::string> real = fs.real_path(path);
  if (real.ok()) return real;
  Status nowhere =
      failed(path + " is a link that leads nowhere").with_hint("mount the store that it leads to, or remove the link");
  nowhere.causes.push_back(real.status().message);
  return nowhere;
}

// Whether the text is a step name, '-' and an id.
static bool is_step_and_id(std::string_view text) {
  const std::size_t dash = text.rfind('-');
  return dash != std::string_view::npos && dash + 1 < text.size() && parse_step_name(text.substr(0, dash));
}

// Whether the text is the rest of a name of probe_store(): "probe-", an id, and "-a" or "-b".
static bool is_probe(std::string_view text) {
  constexpr std::string_view kProbe = "probe-";
  if (!text.starts_with(kProbe) || !(text.ends_with("-a") || text.ends_with("-b"))) return false;
  return is_save_id(text.substr(0, text.size() - 2).substr(kProbe.size()));
}

bool is_leftover(const DirEntry& entry) {
  if (entry.type == FileType::kFile) return entry.name == kLatestTemporary || entry.name == kNearMarkTemporary;
  if (entry.type != FileType::kDirectory) return false;
  const std::string_view name = entry.name;
  if (name.starts_with(kTrashPrefix)) {
    const std::string_view rest = name.substr(kTrashPrefix.size());
    return is_probe(rest) || is_step_and_id(rest);
  }
  constexpr std::string_view kTemporary = ".tmp-";
  const std::size_t dot = name.find('.');
  if (dot == std::string_view::npos || !parse_step_name(name.substr(0, dot)) ||
      !name.substr(dot).starts_with(kTemporary))
    return false;
  const std::string_view id = name.substr(dot + kTemporary.size());
  return id == "rewrite" || is_save_id(id);
}

bool is_trash(const DirEntry& entry) { return entry.name.starts_with(kTrashPrefix) && is_leftover(entry); }

std::string damaged_name(std::uint64_t step, const std::string& id) {
  return std::string(kDamagedPrefix) + step_name(step) + "-" + id;
}

std::string foreign_name(std::uint64_t step, const std::string& id) { return ".foreign-" + step_name(step) + "-" + id; }

bool is_damaged_name(std::string_view name) {
  return name.starts_with(kDamagedPrefix) && is_step_and_id(name.substr(kDamagedPrefix.size()));
}

bool is_pinned(Fs& fs, const std::string& path) {
  const Result<FileInfo> pin = fs.stat(join_path(path, kPinFile));
  return pin.ok() || pin.status().code != Code::kNotFound;
}

std::string one_line(const Status& status) {
  std::string text = status.message;
  for (const std::string& cause : status.causes) text += "; " + cause;
  return text;
}

std::string missing_components(const Manifest& manifest, const std::vector<std::string>& exclude) {
  std::vector<std::string> missing;
  for (const char* name : kResumeComponents)
    if (manifest.component(name) == nullptr && std::ranges::find(exclude, name) == exclude.end())
      missing.emplace_back(name);
  return joined(missing);
}

void judge_step(Fs& fs, StepEntry& entry, const StepCheck& check, CheckDepth depth) {
  if (entry.judged) return;
  entry.judged = true;
  if (entry.linked) {
    const Result<std::string> real = follow_step(fs, entry.path);
    if (!real.ok()) {
      entry.validity = real.status();
      return;
    }
    entry.link = *real;
  }
  if (depth == CheckDepth::kMembers) entry.pinned = is_pinned(fs, entry.path);
  Result<Manifest> manifest = check(entry.path);
  if (!manifest.ok()) {
    entry.validity = manifest.status();
  } else if (manifest->step != entry.step) {
    entry.validity = corrupt(entry.path + ": the manifest is of step " + std::to_string(manifest->step) +
                             ", expected " + std::to_string(entry.step) + " as the folder's name says");
  } else {
    entry.full = missing_components(*manifest).empty();
    entry.manifest = std::move(*manifest);
  }
}

// The step DST if `name` is "<DST>.tmp-rewrite", the temporary folder of its rewrite.
static std::optional<std::uint64_t> rewritten_step(std::string_view name) {
  if (!name.ends_with(kRewriteSuffix)) return std::nullopt;
  return parse_step_name(name.substr(0, name.size() - std::string_view(kRewriteSuffix).size()));
}

// Removes from the list of leftovers the folders that hold steps which interrupted rewrites had moved aside.
static Status find_moved_aside(Fs& fs, const std::string& checkpoint_dir, RunScan& scan) {
  std::vector<std::string> rest;
  for (std::string& name : scan.leftovers) {
    const std::optional<std::uint64_t> step = rewritten_step(name);
    const auto is_it = [&](const StepEntry& entry) { return entry.step == *step; };
    if (step && std::none_of(scan.steps.begin(), scan.steps.end(), is_it)) {
      const std::string path = rewrite_aside(join_path(checkpoint_dir, step_name(*step)));
      const Result<FileInfo> info = fs.stat(path);
      if (!info.ok() && info.status().code != Code::kNotFound) return info.status();
      if (info.ok() && info->type == FileType::kDirectory) {
        StepEntry& found = scan.steps.emplace_back();
        found.step = *step;
        found.path = path;
        found.moved_aside = true;
        continue;
      }
    }
    rest.push_back(std::move(name));
  }
  scan.leftovers = std::move(rest);
  return ok_status();
}

Result<RunScan> list_steps(Fs& fs, const std::string& checkpoint_dir) {
  RunScan scan;
  Result<std::vector<DirEntry>> entries = fs.list(checkpoint_dir);
  if (!entries.ok()) {
    if (entries.status().code == Code::kNotFound) return scan;
    return entries.status();
  }
  for (const DirEntry& entry : *entries) {
    if (const std::optional<std::uint64_t> step = step_of(entry)) {
      StepEntry& found = scan.steps.emplace_back();
      found.step = *step;
      found.path = join_path(checkpoint_dir, entry.name);
      found.linked = entry.type == FileType::kLink;
    } else if (is_damaged_name(entry.name)) {
      scan.damaged.push_back(entry.name);
    } else if (!is_ours(entry)) {
      (is_leftover(entry) ? scan.leftovers : scan.foreign).push_back(entry.name);
    }
  }
  TITAN_RETURN_IF_ERROR(find_moved_aside(fs, checkpoint_dir, scan));
  std::ranges::sort(scan.steps, std::greater<>(), &StepEntry::step);
  return scan;
}

Result<RunScan> scan_run(Fs& fs, const std::string& checkpoint_dir, const StepCheck& check) {
  TITAN_ASSIGN_OR_RETURN(RunScan scan, list_steps(fs, checkpoint_dir));
  for (StepEntry& entry : scan.steps) judge_step(fs, entry, check);
  return scan;
}

ResumeChoice select_resume(const RunScan& scan) {
  return choose(scan.steps, [](const StepEntry&) {});
}

ResumeChoice select_resume(RunScan& scan, const std::function<void(StepEntry&)>& judge) {
  return choose(scan.steps, judge);
}

bool retention_must_wait(const RunScan& scan) { return scan.steps.size() > 1 && !scan.steps.front().validity.ok(); }

// Renames and syncs first, so that a half-deleted folder never looks like a checkpoint. Of a link only the name is
// removed.
static Status remove_renamed(Fs& fs, const std::string& checkpoint_dir, const std::string& name,
                             const std::string& trash_name, const CancelToken& cancel, std::string* kept) {
  const std::string path = join_path(checkpoint_dir, name), trash = join_path(checkpoint_dir, trash_name);
  TITAN_ASSIGN_OR_RETURN(const FileInfo info, fs.stat(path));
  if (info.type == FileType::kLink) {
    TITAN_RETURN_IF_ERROR(cancel.check());
    TITAN_RETURN_IF_ERROR(fs.remove_file(path));
    return fs.sync_dir(checkpoint_dir);
  }
  TITAN_RETURN_IF_ERROR(fs.rename_noreplace(path, trash));
  TITAN_RETURN_IF_ERROR(fs.sync_dir(checkpoint_dir));
  return remove_trash(fs, checkpoint_dir, trash_name, cancel, kept);
}

std::string kept_text(const std::string& kept) { return "your own files in it were moved to " + kept; }

Status remove_trash(Fs& fs, const std::string& checkpoint_dir, const std::string& name, const CancelToken& cancel,
                    std::string* kept) {
  const std::string path = join_path(checkpoint_dir, name);
  const std::string rest = name.substr(std::min(kTrashPrefix.size(), name.size()));
  if (!is_step_and_id(rest)) return remove_tree(fs, path, cancel);
  const std::size_t dash = rest.rfind('-');
  const std::string files = join_path(checkpoint_dir, rest.substr(0, dash) + ".files" + rest.substr(dash));
  bool moved = false;
  Status removed = remove_step_files(fs, path, files, &moved, cancel);
  if (moved && kept != nullptr) *kept = files;
  return removed;
}

static Status check_trash_id(const std::string& trash_id) {
  if (trash_id.empty() || trash_id.find('/') != std::string::npos)
    return invalid("'" + trash_id + "' cannot be part of a file name");
  return ok_status();
}

Status delete_step(Fs& fs, const std::string& checkpoint_dir, const std::string& name, const std::string& trash_id,
                   const CancelToken& cancel, std::string* kept) {
  if (!parse_step_name(name))
    return invalid("'" + name + "' is not the name of a step, expected the form " + step_name(0));
  TITAN_RETURN_IF_ERROR(check_trash_id(trash_id));
  return remove_renamed(fs, checkpoint_dir, name, std::string(kTrashPrefix) + name + "-" + trash_id, cancel, kept);
}

Status delete_damaged(Fs& fs, const std::string& checkpoint_dir, const std::string& name, const std::string& trash_id,
                      const CancelToken& cancel, std::string* kept) {
  if (!is_damaged_name(name))
    return invalid("'" + name + "' is not the name of a damaged step, expected the form " + damaged_name(0, "id"));
  TITAN_RETURN_IF_ERROR(check_trash_id(trash_id));
  const std::string step_and_id = name.substr(kDamagedPrefix.size());
  return remove_renamed(fs, checkpoint_dir, name, std::string(kTrashPrefix) + step_and_id + trash_id, cancel, kept);
}

std::string damaged_hint(Fs& fs, const std::string& checkpoint_dir) {
  std::string names;
  const Result<std::vector<DirEntry>> entries = fs.list(checkpoint_dir);
  if (!entries.ok()) return names;
  for (const DirEntry& entry : *entries)
    if (is_damaged_name(entry.name)) names += (names.empty() ? "" : ", ") + entry.name;
  return names.empty()
             ? names
             : "`titan-ckpt prune " + shell_word(checkpoint_dir) + " --damaged` frees what " + names + " hold";
}

}  // namespace titan::ckpt
