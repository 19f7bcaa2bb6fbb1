#include "ckpt/run/near_folder.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>

#include "ckpt/base/files.h"
#include "ckpt/base/fs.h"
#include "ckpt/base/hash.h"
#include "ckpt/base/random_id.h"
#include "ckpt/format/member_names.h"
#include "ckpt/run/recover.h"
#include "ckpt/run/run_folder.h"
#include "ckpt/store/destination.h"

namespace titan::ckpt {
namespace {

constexpr std::uint64_t kMarkLimit = 256;
constexpr std::size_t kNameDigits = 16;

// The digits in the file kNearMark of the folder of steps; "" if there is no such file.
Result<std::string> read_mark(Fs& fs, const std::string& checkpoint_dir) {
  const std::string path = join_path(checkpoint_dir, kNearMark);
  const auto bytes = read_file(fs, path, kMarkLimit);
  if (bytes.status().code == Code::kNotFound) return std::string();
  TITAN_RETURN_IF_ERROR(bytes.status());
  std::string mark(reinterpret_cast<const char*>(bytes->data()), bytes->size());
  if (mark.ends_with('\n')) mark.pop_back();
  if (is_save_id(mark)) return mark;
  return corrupt(path + " does not hold 12 to 64 hex digits")
      .with_hint(
          "remove the file: the next start makes a new near folder, and steps that are only in the old one are lost");
}

Result<std::string> make_mark(Fs& fs, const std::string& checkpoint_dir) {
  const std::string mark = random_id(), text = mark + "\n";
  const std::string path = join_path(checkpoint_dir, kNearMark), fresh = join_path(checkpoint_dir, kNearMarkTemporary);
  if (fs.stat(fresh).ok()) TITAN_RETURN_IF_ERROR(fs.remove_file(fresh));  // left by a process that died
  TITAN_RETURN_IF_ERROR(write_new_file(fs, fresh, std::as_bytes(std::span(text))));
  TITAN_RETURN_IF_ERROR(fs.rename(fresh, path));
  TITAN_RETURN_IF_ERROR(fs.sync_dir(checkpoint_dir));
  return mark;
}

Result<std::string> folder_of(Fs& fs, const std::string& mark, const std::string& checkpoint_dir,
                              const std::string& root) {
  TITAN_ASSIGN_OR_RETURN(const std::string place, fs.real_path(checkpoint_dir));
  const std::string known_by = mark + " " + place;
  return join_path(root, "titan-" + digest_of(std::string_view(known_by)).hex().substr(0, kNameDigits));
}

struct Place {
  std::string path;   // real path, of a folder that may not exist
  std::string there;  // the part of it that exists
};

Place place_of(Fs& fs, const std::string& path) {
  std::string there = without_slashes(path), missing;
  Result<std::string> real = fs.real_path(there);
  for (; !real.ok() && parent_path(there) != there; real = fs.real_path(there)) {
    missing = missing.empty() ? base_name(there) : join_path(base_name(there), missing);
    there = parent_path(there);
  }
  if (!real.ok()) return {path, ""};
  return {missing.empty() ? *real : std::filesystem::path(join_path(*real, missing)).lexically_normal().string(),
          *real};
}

bool lies_in(const std::string& path, const std::string& folder) { return path == folder || is_below(path, folder); }

}  // namespace

Status check_near(Fs& fs, const std::string& root, const std::string& run_dir, const std::string& checkpoint_dir) {
  const auto refused = [&](const std::string& why) {
    return invalid("checkpoint.near = " + root + why)
        .with_hint("a folder of this host, as in checkpoint.near = \"/dev/shm/titan\"");
  };
  if (!root.starts_with('/')) return refused(": expected an absolute path");
  const Place at = place_of(fs, root);
  const std::string& near = at.path;
  for (const std::string& folder : {run_dir, checkpoint_dir}) {
    const std::string place = place_of(fs, folder).path;
    if (lies_in(near, place)) return refused(" lies in the run folder " + place + ": expected a place outside");
    if (lies_in(place, near)) return refused(" holds the run folder " + place + ": expected a place of its own");
  }
  if (const auto info = fs.stat(at.there); info.ok() && info->type != FileType::kDirectory)
    return refused(": " + at.there + " is no folder");
  return ok_status();
}

Status make_near(Fs& fs, const std::string& root) {
  Status made = make_dirs(fs, root);
  if (made.ok()) return made;
  made.code = Code::kInvalid;
  return made.wrapped("checkpoint.near = " + root + " cannot be made");
}

Result<std::string> find_near(Fs& fs, const std::string& checkpoint_dir, const std::string& root) {
  TITAN_ASSIGN_OR_RETURN(const std::string mark, read_mark(fs, checkpoint_dir));
  if (mark.empty()) return mark;
  return folder_of(fs, mark, checkpoint_dir, root);
}

Result<std::string> open_near(Fs& fs, const std::string& checkpoint_dir, const std::string& root) {
  TITAN_ASSIGN_OR_RETURN(std::string mark, read_mark(fs, checkpoint_dir));
  if (mark.empty()) {
    TITAN_ASSIGN_OR_RETURN(mark, make_mark(fs, checkpoint_dir));
  }
  TITAN_ASSIGN_OR_RETURN(std::string folder, folder_of(fs, mark, checkpoint_dir, root));
  TITAN_RETURN_IF_ERROR(make_dirs(fs, folder));
  for (const std::string& problem : recover_folder(fs, folder)) return failed(problem);
  return folder;
}

std::vector<std::string> remove_near(Fs& fs, const std::string& folder) {
  std::vector<std::string> all_kept;
  auto scan = list_steps(fs, folder);
  if (!scan.ok()) return all_kept;
  const auto add = [&](const std::string& kept) {
    if (!kept.empty()) all_kept.push_back(kept);
  };
  for (const StepEntry& entry : scan->steps) {
    std::string kept;
    (void)delete_step(fs, folder, step_name(entry.step), random_id(), {}, &kept);
    add(kept);
  }
  for (const std::string& name : scan->damaged) {
    std::string kept;
    (void)delete_damaged(fs, folder, name, random_id(), {}, &kept);
    add(kept);
  }
  (void)recover_folder(fs, folder);
  scan = list_steps(fs, folder);
  const bool only_ours = scan.ok() && scan->steps.empty() && scan->damaged.empty() && scan->leftovers.empty() &&
                         std::ranges::all_of(scan->foreign, [](const auto& name) { return name == kNearSeen; });
  if (only_ours) (void)remove_tree(fs, folder);
  return all_kept;
}

bool was_durable(Fs& fs, const std::string& path) { return fs.stat(join_path(path, kDurableMark)).ok(); }

Status note_durable(Fs& fs, const std::string& path) {
  if (was_durable(fs, path)) return ok_status();
  TITAN_RETURN_IF_ERROR(write_new_file(fs, join_path(path, kDurableMark), {}));
  return fs.sync_dir(path);
}

}  // namespace titan::ckpt
