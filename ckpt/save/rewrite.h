#pragma once
// The frame of every tool that makes a checkpoint DST from another, SRC: checks both names, takes locks, makes a
// temporary beside DST, publishes it whole or leaves nothing. SRC is never touched; empty: DST is made of nothing.
// \source FORMAT.md, "Rewriting"
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ckpt/base/cancel.h"
#include "ckpt/base/fs.h"
#include "ckpt/format/manifest.h"
#include "ckpt/store/carry_file.h"

namespace titan::ckpt {

/// Says ok when the existing folder or file `dst` is what may be replaced with --force, and why not otherwise.
using ReplaceCheck = std::function<Status(Fs& fs, const std::string& dst)>;

/// The checks of begin() alone; nothing is made or locked. For --dry-run, which has to refuse what the real call would.
/// \error kInvalid, kFailed
Status check_rewrite(Fs& fs, const std::string& src, const std::string& dst, bool force,
                     const ReplaceCheck& replaceable = {});

/// ok where `dst` may hold `step`: readers of a run take a folder named step-%08d that holds another for damaged.
/// \error kInvalid
Status check_step_name(const std::string& dst, std::uint64_t step);

/// True when a resume would not find `dst`: it is not named step-%08d with the checkpoint's step.
bool hidden_from_resume(const std::string& dst, std::uint64_t step);

class Rewrite {
 public:
  /// Checks that DST can be made (its folder exists, or the one above, and is made; it is not there, or is a checkpoint
  /// without `.keep` and `force` is set; it is not SRC, not inside SRC or another checkpoint of ours, not around SRC),
  /// takes the lock of the run that DST lies in, at any depth, if it lies in one, then that of `<DST>.tmp-rewrite`,
  /// clears what a dead tool left there, and makes a new folder in it.
  /// `replaceable` is for a DST that is no checkpoint of ours; it decides what `force` may replace.
  /// \error kInvalid (names), kLocked (a run or tool in that folder, or another tool on the same DST), kFailed
  /// `in_own_run`: the caller holds the lock of the run that DST lies in.
  static Result<std::unique_ptr<Rewrite>> begin(Fs& fs, const std::string& src, const std::string& dst, bool force,
                                                const ReplaceCheck& replaceable = {}, bool in_own_run = false);
  /// The same for a checkpoint that becomes a part of itself: SRC and DST are `path`, which lies in a run whose lock
  /// the caller holds. publish() puts the new one in its place as `force` does. \error kLocked (another tool on it),
  /// kFailed
  static Result<std::unique_ptr<Rewrite>> begin_in_place(Fs& fs, const std::string& path);
  /// Removes the temporary unless publish() succeeded.
  ~Rewrite();
  Rewrite(const Rewrite&) = delete;
  Rewrite& operator=(const Rewrite&) = delete;

  const std::string& folder() const;  ///< the temporary, to be filled; empty at first
  /// \error kFailed when less than `bytes` x 1.05 are free beside DST
  Status need_space(std::uint64_t bytes) const;
  /// Tells the other hosts that the holder of the run's lock lives. Call between files, and about every 10 s in long
  /// work. Cheap; does nothing more often than every 5 s. \error kLocked when a run has taken the folder over
  Status beat();
  /// carry_file of `member` of SRC, with its folder made when missing; a copy beats and polls `cancel`.
  Result<Carried> carry(const std::string& member, const CancelToken& cancel = {});
  /// The same for a member whose bytes are checked first where it has one digest and less than 64 MiB. \error kCorrupt
  Result<Carried> carry(const FileEntry& file, const CancelToken& cancel = {});
  /// Creates `member` with `text`, synced, and its folder when missing.
  Status write(const std::string& member, const std::string& text);
  /// Makes the folder of `member` in the temporary when missing.
  Status make_folder_of(const std::string& member);
  /// Syncs the folders of the members, writes `manifest` (write_manifest), renames the temporary to DST without
  /// replacing (with `force`: exchanges, or moves the old one aside first) and syncs the parent. Then removes what was
  /// replaced; call once.
  /// \error kInvalid (somebody made DST meanwhile), kFailed. When only the last sync fails, DST may be there all the
  /// same.
  Status publish(const Manifest& manifest);
  /// The same for a folder that needs no manifest, and whose folders are synced: syncs it, and renames.
  Status publish_folder();
  /// The same for one file of the folder, durable by itself, which becomes DST.
  Status publish_file(const std::string& name);
  /// DST is made of these checkpoints, too: the warnings name those among them and SRC that are signed, as DST is not.
  void made_also_of(std::vector<std::string> sources);
  const std::vector<std::string>& warnings() const;  ///< what failed after the publishing and does no harm

 private:
  struct Impl;
  explicit Rewrite(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace titan::ckpt
