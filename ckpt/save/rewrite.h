#pragma once
// The common steps of every tool that makes a checkpoint DST from another one, SRC: checks both names, takes locks,
// makes a temporary folder next to DST, and publishes it as DST when it is complete; after a failure nothing is left.
// SRC is never changed. SRC is empty if DST is not made from a checkpoint.
// \source FORMAT.md, "Rewriting"
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ckpt/base/cancel.h"
#include "ckpt/format/manifest.h"
#include "ckpt/store/link_or_copy.h"

namespace titan::ckpt {

class Fs;

/// Returns ok if --force may replace `dst`, an existing folder or file that is not a Titan checkpoint; else why not.
using ReplaceCheck = std::function<Status(Fs& fs, const std::string& dst)>;

/// The checks of Rewrite::begin() before it takes locks, and whether the parent folder of DST is writable and has free
/// space. Creates and locks nothing: for --dry-run, which must refuse what the real call would refuse. \error kInvalid,
/// kFailed
Status check_rewrite(Fs& fs, const std::string& src, const std::string& dst, bool force,
                     const ReplaceCheck& replaceable = {});

/// Checks that a checkpoint of step `step` may be saved as `dst`: a folder named step-%08d must hold that step, since
/// readers of a run treat any other content as damage. \error kInvalid
Status check_step_name(const std::string& dst, std::uint64_t step);

/// True if a resume would not find `dst`, because its name is not step-%08d with the checkpoint's step.
bool hidden_from_resume(const std::string& dst, std::uint64_t step);

/// The making of one DST.
class Rewrite {
 public:
  /// Checks that DST can be made: its parent exists, or only the parent is missing and is created; DST does not exist,
  /// or `force` is set and DST is a checkpoint without `.keep` and without files of users; DST is not SRC, not inside
  /// SRC or another Titan checkpoint, and does not contain SRC; a DST with the name of a step has the number of SRC's
  /// step. Then takes the lock of the run that contains DST, at any depth, if there is one (not with `in_own_run`: the
  /// caller holds it), then the lock of `<DST>.tmp-rewrite`. Removes what a dead tool left in `<DST>.tmp-rewrite`, and
  /// makes a new folder in it: folder(). If DST is not a Titan checkpoint, `replaceable` decides whether `force` may
  /// replace it. \error kInvalid (names), kLocked (a run or tool in the run's folder, or another tool on the same DST),
  /// kFailed
  static Result<std::unique_ptr<Rewrite>> begin(Fs& fs, const std::string& src, const std::string& dst, bool force,
                                                const ReplaceCheck& replaceable = {}, bool in_own_run = false);
  /// As begin(), for a tool that replaces a checkpoint in place (`parity`, `prune --thin`): SRC and DST are `path`,
  /// which is in a run whose lock the caller holds. publish() replaces it as with `force`. \error kInvalid (it has
  /// files of users), kLocked (another tool rewrites it), kFailed; if its manifest cannot be read, as read_manifest()
  static Result<std::unique_ptr<Rewrite>> begin_in_place(Fs& fs, const std::string& path);
  /// Removes the temporary folder unless publish() succeeded.
  ~Rewrite();
  Rewrite(const Rewrite&) = delete;
  Rewrite& operator=(const Rewrite&) = delete;

  const std::string& folder() const;  ///< the temporary folder to fill; empty at first
  /// Checks free space. \error kFailed if less than `bytes` * 1.05 are free at DST
  Status need_space(std::uint64_t bytes) const;
  /// Polls `cancel` and renews the heartbeat of the locks. Call it between files, and about every 10 s during long
  /// work; it writes a heartbeat at most every 5 s. \error kLocked if a run has taken over the folder; the error of a
  /// stop request
  Status beat(const CancelToken& cancel = {});
  /// Calls link_or_copy() for `member` of SRC; creates the member's folder if missing. A copy calls beat() and polls
  /// `cancel`.
  Result<Carried> carry(const std::string& member, const CancelToken& cancel = {});
  /// As the other carry(), for a member of the manifest of SRC. Unless the member is a shard or has 64 MiB or more, its
  /// digest is checked first.
  /// \error kCorrupt
  Result<Carried> carry(const FileEntry& file, const CancelToken& cancel = {});
  /// Creates `member` with the content `text`, and its folder if missing. Syncs the file.
  Status write(const std::string& member, const std::string& text);
  /// Creates the folder of `member` in the temporary folder if missing.
  Status make_folder_of(const std::string& member);
  /// Syncs the folders of the members, writes `manifest` (write_manifest), renames the temporary folder to DST without
  /// replacing (with `force`: exchanges the two, or first moves the old DST aside), syncs the parent, then removes the
  /// replaced checkpoint. Call it once. \error kInvalid (DST was created or pinned meanwhile), kLocked (a lock was
  /// lost), kFailed. If only the last sync fails, DST may already exist.
  Status publish(const Manifest& manifest);
  /// As publish(), for a folder without a manifest, whose subfolders the caller has synced.
  Status publish_folder();
  /// As publish(), for a DST that is a single file: `name` in the temporary folder, which the caller has synced.
  Status publish_file(const std::string& name);
  /// Adds further sources of DST. If any of them or SRC is signed, a warning says that DST is not.
  void made_also_of(std::vector<std::string> sources);
  /// Harmless failures after the publishing, for example a temporary folder that could not be removed, and the warning
  /// that DST is not signed.
  const std::vector<std::string>& warnings() const;

 private:
  struct Impl;
  explicit Rewrite(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace titan::ckpt
