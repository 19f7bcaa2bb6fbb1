#pragma once
// The folder with the checkpoints of a run: its content, which step a resume takes, and what may be removed.
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ckpt/base/cancel.h"
#include "ckpt/format/manifest.h"

namespace titan::ckpt {

struct DirEntry;
class Fs;

/// A step in the folder, or one that a tool moved aside.
struct StepEntry {
  std::uint64_t step = 0;
  std::string path;
  bool judged = false;  ///< true: the fields below are set; false: only the name is known
  bool linked = false;  ///< the step is a symbolic link (known without a check)
  /// An interrupted rewrite moved it to `path`; the next start of the run, or `prune`, puts it back.
  bool moved_aside = false;
  std::string link;     ///< target of a symbolic link; it is read, never deleted
  bool pinned = false;  ///< has a file ".keep"
  Status validity;      ///< ok: manifest, self-digest, version and member sizes are right
  std::optional<Manifest> manifest;
  bool full = false;  ///< has every component that a resume needs
};

/// The names in the folder, by kind.
struct RunScan {
  std::vector<StepEntry> steps;        ///< newest first
  std::vector<std::string> leftovers;  ///< names of leftovers (is_leftover()), except of those that hold a listed step
  /// Names of .damaged-step-N-<id>: steps that a save moved aside; only `prune --damaged` removes them.
  std::vector<std::string> damaged;
  std::vector<std::string> foreign;  ///< everything except Titan's own files (latest, run.lock, near.id); never touched
};

/// Checks a checkpoint folder for validity, to the depth for which it was made (CheckDepth).
using StepCheck = std::function<Result<Manifest>(const std::string& path)>;

/// How thoroughly a step is checked. The manifest and the JSON components are checked in both cases.
enum class CheckDepth {
  kMembers,   ///< also its pin, and the existence and size of every member: one system call per file
  kManifest,  ///< nothing else, for callers that load nothing afterwards
};
/// Lists the names in `checkpoint_dir` without checking the steps. A missing folder gives an empty scan. A step that an
/// interrupted rewrite moved aside is listed with the path that it has now. \error kFailed, kMediaError
Result<RunScan> list_steps(Fs& fs, const std::string& checkpoint_dir);
/// Checks a step of list_steps() with `check`, unless it was checked before. With CheckDepth::kMembers, also looks for
/// a pin.
void judge_step(Fs& fs, StepEntry& entry, const StepCheck& check, CheckDepth depth = CheckDepth::kMembers);

/// Lists `checkpoint_dir` and checks each step with `check`. A missing folder gives an empty scan.
Result<RunScan> scan_run(Fs& fs, const std::string& checkpoint_dir, const StepCheck& check);

/// The step that a resume takes.
struct ResumeChoice {
  const StepEntry* entry = nullptr;  ///< nullptr: nothing to resume from
  std::vector<std::string> skipped;  ///< why newer steps were skipped, one line each
  /// Not ok: a newer step could not be checked (newer format, no permission, I/O error). Then `entry` is null, because
  /// a run that continues from an older step would abandon the newer one.
  Status blocked;
};

/// The components that a resume needs, without those of `exclude`, and that the checkpoint lacks: "a, b". Empty for a
/// full checkpoint.
std::string missing_components(const Manifest& manifest, const std::vector<std::string>& exclude = {});

/// Chooses the newest valid full step. Skips partial steps, and damaged ones only if the damage is proven (kCorrupt,
/// kNotFound). Pure.
ResumeChoice select_resume(const RunScan& scan);
/// As the other select_resume(), but for the result of list_steps(): calls `judge` to check a step, newest first, only
/// until the choice is made.
ResumeChoice select_resume(RunScan& scan, const std::function<void(StepEntry&)>& judge);

/// True if the newest step is invalid and older ones exist: then nothing may be deleted before a save has succeeded.
bool retention_must_wait(const RunScan& scan);

/// Deletes the step `name`. Of a symbolic link only the link is removed. A folder is renamed to .trash-step-N-<id>
/// (with `trash_id`), the parent is synced, then the renamed folder is removed. Files of users in it are moved to the
/// folder step-N.files-<id>, whose path goes into `*kept` (empty: there were none). A failure after the rename leaves a
/// leftover. `cancel` is checked before each file.
/// \error kInvalid (`name` is not a step name), kNotFound, kFailed, kInterrupted, kTerminated
Status delete_step(Fs& fs, const std::string& checkpoint_dir, const std::string& name, const std::string& trash_id,
                   const CancelToken& cancel = {}, std::string* kept = nullptr);

/// The note for users that the folder `kept` has their files from a deleted step.
std::string kept_text(const std::string& kept);

/// Removes what a deletion or a probe left (is_trash()). Files of users are moved as by delete_step().
Status remove_trash(Fs& fs, const std::string& checkpoint_dir, const std::string& name, const CancelToken& cancel = {},
                    std::string* kept = nullptr);

/// The step number in the name of `entry`, if `entry` is a folder or a link.
std::optional<std::uint64_t> step_of(const DirEntry& entry);

/// The folder to which `path`, a step that is a symbolic link, leads. \error kFailed: the folder does not exist. Then
/// no older step may be taken instead: perhaps the store of the folder is only not mounted
Result<std::string> follow_step(Fs& fs, const std::string& path);

/// The temporary name of `latest` while it is written; a leftover if the run died before the rename.
inline constexpr const char* kLatestTemporary = "latest.tmp";

/// True for the leftovers of a save, deletion, rewrite or store probe of Titan: a folder "<step name>.tmp-<id>", "<step
/// name>.tmp-rewrite", ".trash-<step name>-<id>" or ".trash-probe-<id>-a" (or -b), and the files "latest.tmp" and
/// "near.id.tmp". recover.h removes them.
bool is_leftover(const DirEntry& entry);
/// True for leftovers of a deletion or of probe_store().
bool is_trash(const DirEntry& entry);

/// The name to which a damaged step is moved when its number is published again: ".damaged-" + step name + "-" + id.
std::string damaged_name(std::uint64_t step, const std::string& id);
/// The name to which another checkpoint is moved if a save publishes at its path: ".foreign-" + step name + "-" + id.
std::string foreign_name(std::uint64_t step, const std::string& id);
/// True for names that damaged_name() gives.
bool is_damaged_name(std::string_view name);

/// Name of the file that pins a checkpoint.
inline constexpr const char* kPinFile = ".keep";
/// Whether `path` has a file ".keep". True when in doubt, because a pin only protects.
bool is_pinned(Fs& fs, const std::string& path);

/// `status` with its causes on one line.
std::string one_line(const Status& status);

/// As delete_step(), for a damaged step that a save moved aside. \error as delete_step(); kInvalid: `name` is not a
/// damaged_name()
Status delete_damaged(Fs& fs, const std::string& checkpoint_dir, const std::string& name, const std::string& trash_id,
                      const CancelToken& cancel = {}, std::string* kept = nullptr);

/// A hint that lists the damaged steps and how to free their space; empty if there are none.
std::string damaged_hint(Fs& fs, const std::string& checkpoint_dir);

}  // namespace titan::ckpt
