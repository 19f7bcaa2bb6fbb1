#include "ckpt/save/rewrite.h"

#include <algorithm>
#include <optional>
#include <set>

#include "ckpt/base/files.h"
#include "ckpt/base/fs.h"
#include "ckpt/base/path.h"
#include "ckpt/base/size_text.h"
#include "ckpt/format/manifest_codec.h"
#include "ckpt/format/member_names.h"
#include "ckpt/format/signature_file.h"
#include "ckpt/lock/run_guard.h"
#include "ckpt/plan/same_files.h"
#include "ckpt/read/reader.h"
#include "ckpt/run/own_files.h"
#include "ckpt/run/run_folder.h"
#include "ckpt/run/temporary.h"
#include "ckpt/save/publish.h"
#include "ckpt/store/destination.h"
#include "ckpt/store/parent_folder.h"

namespace titan::ckpt {
namespace {

struct Names {
  std::string dst;  ///< as typed, without slashes at the end
  Parent parent;
  bool replaces = false;
};

// A folder may be replaced only if its manifest matches its self-digest and it has no other files.
Status check_checkpoint(Fs& fs, const std::string& dst) {
  const std::string manifest_path = join_path(dst, kManifestFile);
  const auto is_one = [&]() -> Status {
    TITAN_ASSIGN_OR_RETURN(const FileInfo info, fs.stat_member(dst, kManifestFile));
    if (info.type != FileType::kFile) return corrupt(manifest_path + " is not a regular file");
    TITAN_ASSIGN_OR_RETURN(const auto text, read_member(fs, dst, kManifestFile, kMaxManifestBytes));
    return check_self_digest(manifest_path, {reinterpret_cast<const char*>(text.data()), text.size()});
  };
  const Status checkpoint = is_one();
  if (checkpoint.ok()) return check_own_files(fs, dst);
  // A folder that cannot be read now may still be a checkpoint.
  if (checkpoint.code != Code::kNotFound && checkpoint.code != Code::kCorrupt)
    return checkpoint.wrapped("cannot tell whether " + dst + " is a checkpoint");
  return invalid(dst + " exists and is not a checkpoint: it is never replaced")
      .with_hint("choose another name, or move it away");
}

Status check_unpinned(Fs& fs, const std::string& dst) {
  if (!is_pinned(fs, dst)) return ok_status();
  return invalid(dst + " is pinned by .keep: it is not replaced")
      .with_hint("remove its .keep first, or choose another name");
}

Status check_replaceable(Fs& fs, const std::string& dst, bool force, const ReplaceCheck& replaceable) {
  TITAN_RETURN_IF_ERROR(replaceable ? replaceable(fs, dst) : check_checkpoint(fs, dst));
  if (!force) return invalid(dst + " exists").with_hint("choose another name, or replace this checkpoint with --force");
  return check_unpinned(fs, dst);
}

/// Whether DST has the form RUN@step or RUN@latest of an existing run. A folder with this name would hide that
/// checkpoint.
bool names_a_step_of_a_run(Fs& fs, const std::string& dst) {
  const std::size_t at = dst.rfind('@');
  if (at == std::string::npos || at == 0) return false;
  const std::string which = dst.substr(at + 1);
  const bool number = !which.empty() && which.find_first_not_of("0123456789") == std::string::npos;
  return (number || which == "latest") && fs.stat(dst.substr(0, at)).ok();
}

/// Checks that DST is not SRC, not inside it and does not contain it. `real_dst` has no links.
Status check_apart(Fs& fs, const std::string& src, const std::string& dst, const std::string& real_dst) {
  TITAN_ASSIGN_OR_RETURN(const std::string real_src, fs.real_path(src));
  if (real_dst == real_src)
    return invalid("the destination " + dst + " is the source " + src)
        .with_hint("published checkpoints are never changed: choose another name");
  if (is_below(real_dst, real_src)) return invalid("the destination " + dst + " lies inside the source " + src);
  if (is_below(real_src, real_dst)) return invalid("the source " + src + " lies inside the destination " + dst);
  return ok_status();
}

Result<Names> check_names(Fs& fs, const std::string& src, const std::string& dst, bool force,
                          const ReplaceCheck& replaceable) {
  Names names;
  names.dst = without_slashes(dst);
  const std::string name = base_name(names.dst);
  if (name.empty() || name == "." || name == "..")
    return invalid("'" + dst + "' cannot be the name of a new checkpoint");
  if (names_a_step_of_a_run(fs, names.dst))
    return invalid("the destination " + dst + " has the form RUN@step, which names a checkpoint that is there")
        .with_hint("give the path of the new folder");
  if (parse_step_name(name) && !src.empty()) {
    if (const auto source = CheckpointReader::open(fs, src); source.ok())
      TITAN_RETURN_IF_ERROR(check_step_name(names.dst, source->manifest().step));
  }
  TITAN_ASSIGN_OR_RETURN(names.parent, find_parent(fs, names.dst));
  const auto there = fs.stat(names.dst);
  if (!there.ok() && there.status().code != Code::kNotFound) return as_wrong_path(there.status(), names.dst);
  std::string real_dst = join_path(names.parent.real, name);
  if (there.ok()) {
    // DST may be a link, even to SRC.
    if (const auto resolved = fs.real_path(names.dst); resolved.ok()) real_dst = *resolved;
  }
  if (!src.empty()) TITAN_RETURN_IF_ERROR(check_apart(fs, src, dst, real_dst));
  TITAN_RETURN_IF_ERROR(check_outside_checkpoints(fs, names.parent.missing ? names.parent.path : names.dst));
  if (there.ok()) {
    if (there->type != FileType::kDirectory && (there->type != FileType::kFile || !replaceable))
      return invalid(dst + " exists and is not a checkpoint: it is never replaced")
          .with_hint("choose another name, or move it away");
    TITAN_RETURN_IF_ERROR(check_replaceable(fs, names.dst, force, replaceable));
    names.replaces = true;
  }
  return names;
}

// Whether `parent` holds the steps of a run, or will hold one with `dst`.
Result<bool> holds_steps(Fs& fs, const std::string& parent, const std::string& dst) {
  TITAN_ASSIGN_OR_RETURN(const std::string real, fs.real_path(parent));
  const bool named = ("/" + parent).ends_with("/checkpoint") || real.ends_with("/checkpoint");
  if (named && parse_step_name(base_name(dst))) return true;
  TITAN_ASSIGN_OR_RETURN(const std::vector<DirEntry> entries, fs.list(parent));
  return std::any_of(entries.begin(), entries.end(), [](const DirEntry& entry) {
    return entry.type == FileType::kDirectory && parse_step_name(entry.name);
  });
}

}  // namespace

Status check_step_name(const std::string& dst, std::uint64_t step) {
  const std::string name = base_name(dst);
  const std::optional<std::uint64_t> named = parse_step_name(name);
  if (!named || *named == step) return ok_status();
  return invalid(dst + " is the name of step " + std::to_string(*named) + ", and the checkpoint is of step " +
                 std::to_string(step))
      .with_hint("name it " + step_name(step) + ", or anything that is no step");
}

struct Rewrite::Impl {
  Fs& fs;
  std::string src;
  std::vector<std::string> sources;  ///< SRC, and what made_also_of() names
  Names names;
  MadeFolder made;  ///< the parent of DST if it was made; destroyed after the temporary folder in it
  RunGuard runs;
  std::unique_ptr<Temporary> temporary;
  std::vector<std::string> warnings;

  explicit Impl(Fs& f) : fs(f), made(f) {}

  // Renames without replacing. NFS repeats a rename whose reply was lost, and the second one fails. It was done if the
  // same folder has the new name and nothing has the old one. `before` is the stat of `from`.
  Status move(const Result<FileInfo>& before, const std::string& from, const std::string& to) {
    const Status moved = fs.rename_noreplace(from, to);
    if (moved.ok() || !before.ok() || fs.stat(from).status().code != Code::kNotFound) return moved;
    const auto after = fs.stat(to);
    return after.ok() && after->device == before->device && after->inode == before->inode ? ok_status() : moved;
  }

  // Replaces DST by `from`, the temporary folder or a file in it.
  Status replace(const std::string& from) {
    const Status exchanged = fs.exchange(from, names.dst);
    if (exchanged.code != Code::kUnsupported) return exchanged;
    // The folder into which the old checkpoint is moved must survive a crash.
    TITAN_RETURN_IF_ERROR(fs.sync_dir(names.parent.path));
    const auto fresh = fs.stat(from), old = fs.stat(names.dst);
    TITAN_RETURN_IF_ERROR(move(old, names.dst, temporary->aside()));
    const Status moved = move(fresh, from, names.dst);
    if (moved.ok()) return moved;
    if (const Status back = move(old, temporary->aside(), names.dst); !back.ok()) {
      temporary->keep();  // it has the old checkpoint
      return moved.wrapped("the old " + names.dst + " lies in " + temporary->aside() + " now");
    }
    return moved;
  }

  // The warning that DST has no signature although a source has one, which covers only the files of that source. "" if
  // no source is signed.
  std::string signature_left() const {
    std::vector<std::string> signed_ones;
    for (const std::string& source : sources)
      if (fs.stat(join_path(source, kSignatureFile)).ok()) signed_ones.push_back(source);
    if (signed_ones.empty()) return "";
    const std::string what = src == names.dst ? "the signature of " + src + " is gone"
                                              : first_few(signed_ones) + (signed_ones.size() == 1 ? " is" : " are") +
                                                    " signed, and " + names.dst + " is not";
    return what + ": its files are others" + (src == names.dst ? " now" : "") + "; `titan-ckpt sign` signs it";
  }

  // The last step of every publish function.
  Status move_into_place(const std::string& from) {
    const std::string left = signature_left();
    TITAN_RETURN_IF_ERROR(runs.still_ours());
    TITAN_RETURN_IF_ERROR(temporary->still_ours());
    if (names.replaces) {
      // DST may have been pinned meanwhile.
      TITAN_RETURN_IF_ERROR(check_unpinned(fs, names.dst));
      TITAN_RETURN_IF_ERROR(replace(from));
    } else if (Status moved = move(fs.stat(from), from, names.dst); !moved.ok()) {
      if (!fs.stat(names.dst).ok()) return moved;
      return invalid(names.dst + " was made by somebody else meanwhile").with_hint("choose another name");
    }
    temporary->keep();  // if the sync fails, the replaced checkpoint stays in it
    TITAN_RETURN_IF_ERROR(fs.sync_dir(names.parent.path));
    warnings = temporary->remove();
    if (!left.empty()) warnings.push_back(left);
    return ok_status();
  }
};

Status check_rewrite(Fs& fs, const std::string& src, const std::string& dst, bool force,
                     const ReplaceCheck& replaceable) {
  TITAN_ASSIGN_OR_RETURN(const Names names, check_names(fs, src, dst, force, replaceable));
  const std::string folder = names.parent.missing ? parent_path(names.parent.path) : names.parent.path;
  if (const Status may = fs.may_write(folder); !may.ok()) return may.wrapped(names.dst + " cannot be made");
  TITAN_ASSIGN_OR_RETURN(const std::uint64_t available, fs.free_bytes(folder));
  if (available > 0) return ok_status();
  return failed(names.dst + " cannot be made: " + folder + " takes no files, or has no space for them")
      .with_hint("free some space (df -h shows file systems), or choose a folder on another disk");
}

bool hidden_from_resume(const std::string& dst, std::uint64_t step) {
  const std::string path = without_slashes(dst);
  return base_name(path) != step_name(step);
}

Result<std::unique_ptr<Rewrite>> Rewrite::begin(Fs& fs, const std::string& src, const std::string& dst, bool force,
                                                const ReplaceCheck& replaceable, bool in_own_run) {
  auto impl = std::make_unique<Impl>(fs);
  impl->src = src;
  if (!src.empty()) impl->sources.push_back(src);
  TITAN_ASSIGN_OR_RETURN(impl->names, check_names(fs, src, dst, force, replaceable));
  TITAN_RETURN_IF_ERROR(impl->made.make(impl->names.parent));
  if (!in_own_run) {
    TITAN_ASSIGN_OR_RETURN(const bool steps, holds_steps(fs, impl->names.parent.path, impl->names.dst));
    TITAN_ASSIGN_OR_RETURN(impl->runs, RunGuard::take(fs, impl->names.parent.path, steps));
  }
  TITAN_ASSIGN_OR_RETURN(impl->temporary, Temporary::take(fs, impl->names.dst));
  // Checked again under the lock: DST may have been made, removed or put back meanwhile.
  TITAN_ASSIGN_OR_RETURN(impl->names, check_names(fs, src, dst, force, replaceable));
  TITAN_RETURN_IF_ERROR(fs.make_dir(impl->temporary->fresh()));
  return std::unique_ptr<Rewrite>(new Rewrite(std::move(impl)));
}

Result<std::unique_ptr<Rewrite>> Rewrite::begin_in_place(Fs& fs, const std::string& path) {
  auto impl = std::make_unique<Impl>(fs);
  impl->src = impl->names.dst = without_slashes(path);
  impl->sources.push_back(impl->src);
  impl->names.replaces = true;
  TITAN_RETURN_IF_ERROR(check_own_files(fs, impl->names.dst));
  TITAN_ASSIGN_OR_RETURN(impl->names.parent, find_parent(fs, impl->names.dst));
  TITAN_ASSIGN_OR_RETURN(impl->temporary, Temporary::take(fs, impl->names.dst));
  TITAN_RETURN_IF_ERROR(fs.make_dir(impl->temporary->fresh()));
  return std::unique_ptr<Rewrite>(new Rewrite(std::move(impl)));
}

Rewrite::Rewrite(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Rewrite::~Rewrite() = default;

void Rewrite::made_also_of(std::vector<std::string> sources) {
  for (std::string& source : sources)
    if (source != impl_->src) impl_->sources.push_back(std::move(source));
}

const std::string& Rewrite::folder() const { return impl_->temporary->fresh(); }
const std::vector<std::string>& Rewrite::warnings() const { return impl_->warnings; }

Status Rewrite::need_space(std::uint64_t bytes) const {
  TITAN_ASSIGN_OR_RETURN(const std::uint64_t available, impl_->fs.free_bytes(impl_->names.parent.path));
  const std::uint64_t needed = bytes + bytes / 20;
  if (available >= needed) return ok_status();
  return failed("disk full: " + impl_->names.dst + " needs about " + size_text(needed) + ", " + size_text(available) +
                " are free")
      .with_hint("free some space (df -h shows file systems), or choose a folder on another disk");
}

Status Rewrite::beat(const CancelToken& cancel) {
  TITAN_RETURN_IF_ERROR(cancel.check());
  TITAN_RETURN_IF_ERROR(impl_->runs.pulse());
  return impl_->temporary->pulse();
}

Status Rewrite::make_folder_of(const std::string& member) {
  for (std::size_t slash = member.find('/'); slash != std::string::npos; slash = member.find('/', slash + 1)) {
    const std::string folder = join_path(impl_->temporary->fresh(), member.substr(0, slash));
    const auto info = impl_->fs.stat(folder);
    if (info.ok()) continue;
    if (info.status().code != Code::kNotFound) return info.status();
    TITAN_RETURN_IF_ERROR(impl_->fs.make_dir(folder));
  }
  return ok_status();
}

Result<Carried> Rewrite::carry(const FileEntry& file, const CancelToken& cancel) {
  constexpr std::uint64_t kChecked = std::uint64_t{64} << 20;
  if (file.role != FileRole::kShard && file.bytes < kChecked) {
    TITAN_ASSIGN_OR_RETURN(const auto bytes, read_member(impl_->fs, impl_->src, file.path, file.bytes));
    if (digest_of(bytes) != file.whole) return corrupt(join_path(impl_->src, file.path) + " does not match its digest");
  }
  return carry(file.path, cancel);
}

Result<Carried> Rewrite::carry(const std::string& member, const CancelToken& cancel) {
  const auto pulse = [&] { return beat(cancel); };
  TITAN_RETURN_IF_ERROR(pulse());
  TITAN_RETURN_IF_ERROR(make_folder_of(member));
  return link_or_copy(impl_->fs, impl_->src, member, join_path(impl_->temporary->fresh(), member), pulse);
}

Status Rewrite::write(const std::string& member, const std::string& text) {
  TITAN_RETURN_IF_ERROR(make_folder_of(member));
  return write_member(impl_->fs, join_path(impl_->temporary->fresh(), member), std::as_bytes(std::span(text)));
}

Status Rewrite::publish_folder() {
  TITAN_RETURN_IF_ERROR(impl_->fs.sync_dir(impl_->temporary->fresh()));
  return impl_->move_into_place(impl_->temporary->fresh());
}

Status Rewrite::publish_file(const std::string& name) {
  return impl_->move_into_place(join_path(impl_->temporary->fresh(), name));
}

Status Rewrite::publish(const Manifest& manifest) {
  TITAN_RETURN_IF_ERROR(check_step_name(impl_->names.dst, manifest.step));
  Fs& fs = impl_->fs;
  std::set<std::string> folders;
  for (const FileEntry& file : manifest.files) {
    for (std::size_t slash = file.path.find('/'); slash != std::string::npos; slash = file.path.find('/', slash + 1))
      folders.insert(file.path.substr(0, slash));
  }
  for (const std::string& folder : folders)
    TITAN_RETURN_IF_ERROR(fs.sync_dir(join_path(impl_->temporary->fresh(), folder)));
  TITAN_RETURN_IF_ERROR(write_manifest(fs, impl_->temporary->fresh(), manifest));
  return impl_->move_into_place(impl_->temporary->fresh());
}

}  // namespace titan::ckpt
