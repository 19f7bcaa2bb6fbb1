#include "ckpt/run/own_files.h"

#include <optional>
#include <set>
#include <string_view>

#include "ckpt/base/files.h"
#include "ckpt/base/fs.h"
#include "ckpt/base/path.h"
#include "ckpt/base/text.h"
#include "ckpt/format/member_names.h"
#include "ckpt/format/signature_file.h"
#include "ckpt/read/reader.h"
#include "ckpt/read/virtual_model.h"
#include "ckpt/run/near_folder.h"
#include "ckpt/run/run_folder.h"

namespace titan::ckpt {
namespace {

constexpr unsigned kDeepest = 32;  // levels of folders that are searched; a deeper folder counts as a file of a user

using Names = std::set<std::string, std::less<>>;

Names member_names(const Manifest& manifest) {
  Names names;
  for (const FileEntry& file : manifest.files) names.insert(file.path);
  return names;
}

/// Files of Titan that are not members.
bool is_mark(std::string_view path) {
  const bool parity = path.starts_with("parity/parity-") && path.ends_with(".bin");
  const bool leftover = path.starts_with(std::string(kSignatureFile) + ".tmp-");  // of a `sign` that was killed
  return path == kManifestFile || path == kPinFile || path == kSignatureFile || path == kDurableMark || parity ||
         leftover;
}

bool is_shard_of(std::string_view component, std::string_view path) {
  const std::string before = std::string(component) + "/shard-";
  constexpr std::string_view kAfter = ".h5";
  if (!path.starts_with(before) || !path.ends_with(kAfter) || path.size() <= before.size() + kAfter.size())
    return false;
  const auto number = number_of<std::uint32_t>(path.substr(before.size(), path.size() - before.size() - kAfter.size()));
  return number && shard_path(component, *number) == path;
}

/// Whether the name alone shows that Titan wrote the file. So most steps can be deleted without reading their manifest,
/// and so can steps whose manifest is damaged.
bool has_our_name(std::string_view path) {
  if (is_mark(path) || path == kVirtualModel || is_shard_of(kModel, path) || is_shard_of(kOptimizer, path)) return true;
  for (const char* component : {kLrScheduler, kDataloader, kTrainState})
    if (path == json_path(component)) return true;
  return path.substr(path.rfind('/') + 1).starts_with(".nfs");  // NFS keeps an open file under such a name
}

/// The content of the folder of a step.
class StepFiles {
 public:
  /// The files of users are those that `manifest` does not name, whatever their names; without a manifest, that of the
  /// folder is read for names that are not ours.
  StepFiles(Fs& fs, const std::string& folder, const Manifest* manifest = nullptr)
      : fs_(fs), folder_(folder), by_name_(manifest == nullptr) {
    if (manifest != nullptr) members_ = member_names(*manifest);
    look("", 0);
  }

  const std::vector<std::string>& users() const { return users_; }
  /// The first failure so far.
  const Status& status() const { return first_; }

  /// Returns whether anything was moved.
  bool keep(const std::string& kept, const CancelToken& cancel) {
    std::set<std::string> folders;  // in which a name was created
    for (const std::string& path : users_) {
      Status moved = cancel.check();
      if (!moved.ok()) {
        note(moved);
        break;
      }
      const std::string to = join_path(kept, path), into = parent_path(to);
      if (!folders.contains(into)) moved = make_dirs(fs_, into);
      if (moved.ok()) moved = fs_.rename_noreplace(join_path(folder_, path), to);
      if (moved.ok())
        for (std::string at = into; at.size() >= kept.size() && folders.insert(at).second;) at = parent_path(at);
      else
        note(moved.wrapped("cannot move '" + path + "', a file of yours, out of a step that is being deleted"));
    }
    for (const std::string& folder : folders) note(fs_.sync_dir(folder));
    if (!folders.empty()) note(fs_.sync_dir(parent_path(kept)));
    return !folders.empty();
  }

  /// Removes the manifest last: after an interruption it still tells which of the remaining files are members.
  void remove(const CancelToken& cancel) {
    const auto file = [&](const std::string& path) {
      const Status stop = cancel.check();
      note(stop.ok() ? fs_.remove_file(join_path(folder_, path)) : stop);
    };
    for (const std::string& path : ours_) file(path);
    if (!first_.ok()) return;
    for (const std::string& path : folders_) note(fs_.remove_dir(join_path(folder_, path)));
    if (first_.ok() && manifest_there_) file(kManifestFile);
    if (first_.ok()) first_ = cancel.check();
    if (first_.ok()) note(fs_.remove_dir(folder_));
  }

 private:
  void look(const std::string& below, unsigned depth) {
    const Result<std::vector<DirEntry>> entries = fs_.list(below.empty() ? folder_ : join_path(folder_, below));
    if (!entries.ok()) return note(entries.status());
    for (const DirEntry& entry : *entries) {
      const std::string path = below.empty() ? entry.name : join_path(below, entry.name);
      if (entry.type == FileType::kDirectory && depth < kDeepest) {
        look(path, depth + 1);
        folders_.push_back(path);
      } else if (path == kManifestFile) {
        manifest_there_ = true;
      } else {
        (is_ours(path) ? ours_ : users_).push_back(path);
      }
    }
  }

  bool is_ours(const std::string& path) {
    if (by_name_ ? has_our_name(path) : is_mark(path)) return true;
    if (!members_) {
      const Result<Manifest> manifest = read_manifest(fs_, folder_);
      members_ = manifest.ok() ? member_names(*manifest) : Names{};
    }
    return members_->contains(path);
  }

  // Records the first failure. A file that another process has removed meanwhile is none.
  void note(const Status& status) {
    if (first_.ok() && !status.ok() && status.code != Code::kNotFound) first_ = status;
  }

  Fs& fs_;
  const std::string& folder_;
  const bool by_name_;
  std::vector<std::string> ours_, users_, folders_;  // folders: each after what is in it
  std::optional<Names> members_;
  bool manifest_there_ = false;
  Status first_;
};

}  // namespace

Result<std::string> foreign_file(Fs& fs, const std::string& folder, const Manifest& manifest) {
  const StepFiles step(fs, folder, &manifest);
  if (!step.users().empty()) return step.users().front();
  TITAN_RETURN_IF_ERROR(step.status());
  return std::string();
}

Status check_own_files(Fs& fs, const std::string& folder) {
  const Result<Manifest> manifest = read_manifest(fs, folder);
  if (!manifest.ok()) return manifest.status().wrapped("cannot tell whether " + folder + " holds files of others");
  TITAN_ASSIGN_OR_RETURN(const std::string found, foreign_file(fs, folder, *manifest));
  if (found.empty()) return ok_status();
  return invalid(folder + " also holds '" + found + "': it is never replaced")
      .with_hint("move that file out of the checkpoint");
}

Result<std::vector<std::string>> files_of_users(Fs& fs, const std::string& folder) {
  const StepFiles step(fs, folder);
  TITAN_RETURN_IF_ERROR(step.status());
  return step.users();
}

Status remove_step_files(Fs& fs, const std::string& folder, const std::string& kept, bool* moved,
                         const CancelToken& cancel) {
  const Result<FileInfo> info = fs.stat(folder);
  if (!info.ok()) return info.status().code == Code::kNotFound ? ok_status() : info.status();
  if (info->type != FileType::kDirectory) return remove_tree(fs, folder, cancel);
  StepFiles step(fs, folder);
  *moved = step.keep(kept, cancel);
  step.remove(cancel);
  return step.status();
}

}  // namespace titan::ckpt
