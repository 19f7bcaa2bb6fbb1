#pragma once
// The checkpoint folder of a run: what is in it, which step a resume takes, what may be collected and deleted.
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ckpt/base/fs.h"
#include "ckpt/format/manifest.h"

namespace titan::ckpt {

struct StepEntry {
  std::uint64_t step = 0;
  std::string path;
  bool judged = false;  ///< what follows is known; otherwise only the name has been seen
  bool linked = false;  ///< the step is a symbolic link (known by the name already)
  /// an interrupted tool had moved it to `path`; the next start of the run, or `prune`, puts it back
  bool moved_aside = false;
  std::string link;  ///< the folder that it leads to, where the step is a symbolic link; it is followed, never deleted
  bool pinned = false;  ///< a file ".keep" lies in it
  Status validity;      ///< ok = manifest, self-digest, version and member sizes hold
  std::optional<Manifest> manifest;
  bool full = false;  ///< has every component that a resume needs
};

struct RunScan {
  std::vector<StepEntry> steps;        ///< newest first
  std::vector<std::string> leftovers;  ///< names of *.tmp-<id> and .trash-*
  std::vector<std::string>
      damaged;  ///< names of .damaged-step-N-<id>: steps moved aside, freed by `prune --damaged` alone
  std::vector<std::string> foreign;  ///< anything else but the advice "latest", never touched
};

/// Opens one checkpoint folder far enough to know that it is valid: manifest, self-digest, version, member sizes.
using StepCheck = std::function<Result<Manifest>(const std::string& path)>;

/// How closely a step is looked at.
enum class Look {
  kMembers,   ///< its pin, and that every member file is there with its size: one call per file
  kManifest,  ///< its manifest and JSON components alone, for a question that nobody loads anything after
};
/// Lists `checkpoint_dir` by names alone, its steps not yet judged; a missing folder is an empty scan. A step that an
/// interrupted tool had moved aside counts as there, in the place where it lies. \error kFailed
Result<RunScan> list_steps(Fs& fs, const std::string& checkpoint_dir);
/// Looks at a step of list_steps, once, by `check`. Manifest and JSON components are checked in any case.
void judge_step(Fs& fs, StepEntry& entry, const StepCheck& check, Look look = Look::kMembers);

/// Lists `checkpoint_dir`, each step checked by `check`; a missing folder is an empty scan.
Result<RunScan> scan_run(Fs& fs, const std::string& checkpoint_dir, const StepCheck& check);

struct ResumeChoice {
  const StepEntry* entry = nullptr;  ///< nullptr: nothing to resume from
  std::vector<std::string> skipped;  ///< why newer steps were not taken, one line each
  /// Not ok: a newer step could not be judged (newer format, no permission, I/O error). Nothing is taken then, because
  /// going on from an older step would abandon it.
  Status blocked;
};

/// The components that a resume needs and the checkpoint lacks, "a, b"; empty for a full one.
std::string missing_components(const Manifest& manifest);

/// Picks the newest valid full step; only proven damage (kCorrupt, kNotFound) is passed over. Pure.
ResumeChoice select_resume(const RunScan& scan);
/// The same for a list of names: `judge` is called for each step that the choice depends on, newest first, and for no
/// other.
ResumeChoice select_resume(RunScan& scan, const std::function<void(StepEntry&)>& judge);

/// True when the newest step is invalid and older ones exist: then nothing may be deleted before one save has
/// succeeded.
bool retention_must_wait(const RunScan& scan);

/// Deletes a step: of a link the name only; else rename to .trash-step-N-<id>, sync the parent, remove the files,
/// remove the folder. A failure after the rename leaves a leftover; `cancel` as remove_tree()'s. \error kInvalid when
/// `name` is no step name, kNotFound, kFailed.
Status delete_step(Fs& fs, const std::string& checkpoint_dir, const std::string& name, const std::string& trash_id,
                   const CancelToken& cancel = {});

/// The step that `entry` holds by its name: a folder, or a link to one.
std::optional<std::uint64_t> step_of(const DirEntry& entry);

/// Where the step `path` leads that is a symbolic link. \error kFailed: nowhere; perhaps its store is not mounted, and
/// an older step would abandon it
Result<std::string> follow_step(Fs& fs, const std::string& path);

/// the file that becomes `latest`; a leftover once its run is dead
inline constexpr const char* kLatestTemporary = "latest.tmp";

/// True for what a save, a deletion or a store probe of ours left: a folder "<step name>.tmp-<id>",
/// ".trash-<step name>-<id>" or ".trash-probe-...", and the files "latest.tmp" and "near.id.tmp". recover.h removes
/// them.
bool is_leftover(const DirEntry& entry);
/// True for the part of them that a deletion or probe left.
bool is_trash(const DirEntry& entry);

/// The name under which a damaged step is kept when its number is published again: ".damaged-" + step name + "-" + id.
std::string damaged_name(std::uint64_t step, const std::string& id);
/// The name under which another checkpoint is kept that lay where a save publishes: ".foreign-" + step name + "-" + id.
std::string foreign_name(std::uint64_t step, const std::string& id);
/// True for a folder, or a link, of the form of damaged_name().
bool is_damaged_name(std::string_view name);

/// The file that pins a checkpoint.
inline constexpr const char* kPinFile = ".keep";
/// Whether a file ".keep" lies in `path`. True when in doubt, since a pin only keeps things.
bool is_pinned(Fs& fs, const std::string& path);

/// `status` with its causes, for a list of problems.
std::string one_line(const Status& status);

/// The same for a damaged step that a save moved aside. \error kInvalid when `name` is no such name, kNotFound, kFailed
Status delete_damaged(Fs& fs, const std::string& checkpoint_dir, const std::string& name, const std::string& trash_id,
                      const CancelToken& cancel = {});

/// How the space that damaged steps hold is freed, naming them; empty where there are none.
std::string damaged_hint(Fs& fs, const std::string& checkpoint_dir);

}  // namespace titan::ckpt
