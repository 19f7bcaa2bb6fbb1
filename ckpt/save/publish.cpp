#include "ckpt/save/publish.h"

#include <algorithm>

#include "ckpt/base/files.h"
#include "ckpt/base/fs.h"
#include "ckpt/base/mutex.h"
#include "ckpt/base/path.h"
#include "ckpt/format/manifest_builder.h"
#include "ckpt/format/manifest_codec.h"
#include "ckpt/format/manifest_decode.h"
#include "ckpt/format/member_names.h"
#include "ckpt/read/step_proof.h"
#include "ckpt/run/run_check.h"
#include "ckpt/run/run_folder.h"
#include "ckpt/save/read_back.h"

namespace titan::ckpt {
namespace {

Status check_members(Fs& fs, const std::string& tmp_dir, const Manifest& manifest) {
  for (const FileEntry& file : manifest.files) {
    const std::string path = join_path(tmp_dir, file.path);
    TITAN_ASSIGN_OR_RETURN(const FileInfo info, fs.stat(path));
    if (info.type != FileType::kFile || info.size != file.bytes)
      return failed(path + " has " + std::to_string(info.size) + " bytes, expected " + std::to_string(file.bytes));
  }
  return ok_status();
}

// What was done with an existing step of this number.
struct Way {
  bool already_there = false;  // it is the same step, undamaged; the new folder is dropped
  std::string damaged_aside;   // the path to which it was moved because it is damaged
  std::string unexpected;      // a warning about an unexpected folder
};

// Only a step with proven damage is moved aside, not one of a newer format and not one that cannot be read now.
bool is_damage(const Status& status) { return status.code == Code::kCorrupt || status.code == Code::kNotFound; }

Result<Way> make_way(Fs& fs, const std::string& checkpoint_dir, const std::string& tmp_dir, const Manifest& manifest,
                     const CommitOptions& options) {
  const std::string name = step_name(manifest.step);
  const std::string final_path = join_path(checkpoint_dir, name);
  Way way;
  if (const auto info = fs.stat(final_path); !info.ok()) {
    if (info.status().code == Code::kNotFound) return way;
    return info.status();
  }
  // The same check as at a start: a step that a start would skip counts as damaged.
  auto present = look_at_step(fs, final_path);
  // One failed read proves nothing, so the step is read a second time.
  if (!present.ok() && is_damage(present.status())) present = look_at_step(fs, final_path);
  const bool known_lost = options.known_damaged && present.status().code == Code::kMediaError;
  if (!present.ok() && !is_damage(present.status()) && !known_lost)
    return present.status().wrapped("cannot tell whether " + final_path + " is valid");
  const bool looks_valid = present.ok() && !options.known_damaged, foreign = looks_valid && present->id != manifest.id;
  if (looks_valid && !foreign) {
    // Bytes may be damaged although the id is equal, for example in a copy that a user put back.
    const Result<Digest> read = prove_step(fs, final_path);
    way.already_there = read.ok() && *read == manifest.id;
    if (way.already_there) return way;
    if (!read.ok() && !is_damage(read.status()) && read.status().code != Code::kMediaError)
      return read.status().wrapped("cannot tell whether " + final_path + " is whole");
    way.unexpected = final_path + " was there already and is not whole: " +
                     (read.ok() ? "its id is " + read->hex() + " now" : read.status().message);
  }
  const std::size_t mark = tmp_dir.rfind(".tmp-");
  const std::string id = mark == std::string::npos ? "replaced" : tmp_dir.substr(mark + 5);
  const std::string aside =
      join_path(checkpoint_dir, foreign ? foreign_name(manifest.step, id) : damaged_name(manifest.step, id));
  if (foreign)
    way.unexpected = "another checkpoint lay in " + final_path + ": expected id " + manifest.id.hex() + ", found " +
                     present->id.hex() + "; it lies in " + aside + " now, and nothing deletes it";
  else
    way.damaged_aside = aside;
  // The step was read meanwhile, which takes long.
  if (options.still_ours) TITAN_RETURN_IF_ERROR(options.still_ours());
  TITAN_RETURN_IF_ERROR(fs.rename_noreplace(final_path, aside));
  TITAN_RETURN_IF_ERROR(fs.sync_dir(checkpoint_dir));
  return way;
}

// The number of the newest valid step. It may be newer than `published`, which may be copied from checkpoint.near after
// a newer save.
Result<std::uint64_t> newest_whole(Fs& fs, const std::string& checkpoint_dir, std::uint64_t published) {
  TITAN_ASSIGN_OR_RETURN(const RunScan scan, list_steps(fs, checkpoint_dir));
  for (const StepEntry& entry : scan.steps)  // newest first
    if (entry.step > published && !entry.moved_aside && look_at_step(fs, entry.path).ok()) return entry.step;
  return published;
}

// Writes the name of the newest valid step into `latest`; `published` is a step that exists.
Status write_latest(Fs& fs, const std::string& checkpoint_dir, std::uint64_t published) {
  static Mutex mutex;  // a copy and a save may end at the same time
  const MutexLock lock(mutex);
  TITAN_ASSIGN_OR_RETURN(const std::uint64_t newest, newest_whole(fs, checkpoint_dir, published));
  const std::string tmp = join_path(checkpoint_dir, kLatestTemporary);
  const std::string text = step_name(newest) + "\n";
  // A process that died may have left the temporary file.
  if (const auto old = fs.stat(tmp); old.ok()) {
    TITAN_RETURN_IF_ERROR(fs.remove_file(tmp));
  } else if (old.status().code != Code::kNotFound) {
    return old.status();
  }
  Status status = write_new_file(fs, tmp, std::as_bytes(std::span(text)));
  if (status.ok()) status = fs.rename(tmp, join_path(checkpoint_dir, "latest"));
  if (!status.ok()) {
    (void)fs.remove_file(tmp);
    return status;
  }
  return fs.sync_dir(checkpoint_dir);
}

// NFS repeats a call whose reply was lost. The second rename then fails, since the first one has moved the source. So a
// failed rename counts as done if its result exists; the folder is then synced as usual.

bool holds_text(Fs& fs, const std::string& path, const std::string& text) {
  const auto bytes = read_file(fs, path, text.size());
  return bytes.ok() && std::ranges::equal(*bytes, std::as_bytes(std::span(text)));
}

// Whether the folder `from`, whose stat was `before`, is at `to` now. An equal manifest would not prove that.
bool has_moved(Fs& fs, const FileInfo& before, const std::string& from, const std::string& to) {
  if (fs.stat(from).status().code != Code::kNotFound) return false;
  const Result<FileInfo> after = fs.stat(to);
  return after.ok() && after->device == before.device && after->inode == before.inode;
}

}  // namespace

Status write_manifest(Fs& fs, const std::string& tmp_dir, const Manifest& manifest, std::uint64_t limit, ReadBack how) {
  TITAN_RETURN_IF_ERROR(check_members(fs, tmp_dir, manifest));
  const std::string text = encode_manifest(manifest);
  if (text.size() > limit) {
    return failed("the manifest would have " + std::to_string(text.size()) + " bytes, and readers take at most " +
                  std::to_string(limit))
        .with_hint("a manifest grows with tensors and pieces: write with fewer ranks, or larger leaves");
  }
  auto read_back = decode_manifest("the new manifest", text);
  if (!read_back.ok()) return failed(read_back.status().message).wrapped("the new manifest would not be readable");
  read_back->minor = manifest.minor;  // encoding derives the minor from the content
  if (*read_back != manifest) return failed("the new manifest would read back as another one");
  const std::string tmp = join_path(tmp_dir, std::string(kManifestFile) + ".tmp");
  TITAN_RETURN_IF_ERROR(write_member(fs, tmp, std::as_bytes(std::span(text))));
  const std::string path = join_path(tmp_dir, kManifestFile);
  if (Status named = fs.rename(tmp, path); !named.ok() && !holds_text(fs, path, text)) return named;
  TITAN_RETURN_IF_ERROR(fs.sync_dir(tmp_dir));
  if (how == ReadBack::kOff) return ok_status();
  return read_back_whole(fs, tmp_dir, whole_file(kManifestFile, FileRole::kJson, std::as_bytes(std::span(text))));
}

Result<Published> publish(Fs& fs, const std::string& checkpoint_dir, const std::string& tmp_dir,
                          const Manifest& manifest, const CommitOptions& options) {
  const std::string name = step_name(manifest.step);
  Published published;
  published.path = join_path(checkpoint_dir, name);
  published.id = manifest.id;
  for (const FileEntry& file : manifest.files) published.bytes += file.bytes;
  TITAN_ASSIGN_OR_RETURN(Way way, make_way(fs, checkpoint_dir, tmp_dir, manifest, options));
  published.already_there = way.already_there;
  published.damaged_aside = std::move(way.damaged_aside);
  if (!way.unexpected.empty()) published.warnings.push_back(std::move(way.unexpected));
  if (options.still_ours) TITAN_RETURN_IF_ERROR(options.still_ours());
  if (published.already_there) {
    // The process that renamed the step may have died before its sync.
    TITAN_RETURN_IF_ERROR(fs.sync_dir(checkpoint_dir));
    if (Status removed = remove_tree(fs, tmp_dir); !removed.ok()) published.warnings.push_back(removed.message);
  } else {
    TITAN_ASSIGN_OR_RETURN(const FileInfo before, fs.stat(tmp_dir));
    if (Status moved = fs.rename_noreplace(tmp_dir, published.path);
        !moved.ok() && !has_moved(fs, before, tmp_dir, published.path))
      return moved;
    TITAN_RETURN_IF_ERROR(fs.sync_dir(checkpoint_dir));
  }
  if (Status latest = write_latest(fs, checkpoint_dir, manifest.step); !latest.ok())
    published.warnings.push_back(latest.message);
  return published;
}

}  // namespace titan::ckpt
