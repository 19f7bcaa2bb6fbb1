#pragma once
// The explorer's world: a run folder, tiny checkpoints that are a function of their step, and the actions of a run.
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ckpt/format/manifest.h"
#include "ckpt/lock/run_guard.h"
#include "ckpt/read/snapshot.h"
#include "tests/crash/crash_fs.h"

namespace titan::crash {

inline constexpr const char* kRun = "/run";
inline constexpr const char* kSteps = "/run/checkpoint";
inline constexpr const char* kElsewhere = "/elsewhere/weights";
inline constexpr const char* kNear = "/near";  ///< checkpoint.near of the run

/// Whether ranks write their own files, two shared files, or their own files and a parity file.
enum class Files { kOwn, kShared, kParity };

/// The state of a run at `step`, the same on every mesh.
ckpt::Snapshot snapshot_of(std::uint64_t step, ckpt::Mesh mesh, ckpt::Codec codec, Files files);
ckpt::Digest id_of(std::uint64_t step);
std::string step_path(std::uint64_t step);
/// The id of `step` after thinning.
ckpt::Digest thin_id_of(std::uint64_t step);
/// A checkpoint of `step` outside of every run: /src/step-N.
std::string source_path(std::uint64_t step);

/// Saves `step` as every rank in turn into `folder`.
ckpt::Status save_step(CrashFs& fs, const std::string& folder, std::uint64_t step, ckpt::Mesh mesh,
                       const std::string& save_id, ckpt::Codec codec = ckpt::Codec::kRaw, Files files = Files::kOwn);

/// What a full verify says of a checkpoint folder. Folders of equal names and bytes are read once.
struct Verdict {
  bool whole = false;
  ckpt::Digest id;
  std::uint64_t step = 0;
  std::string problem;
};
Verdict look_at(CrashFs& fs, const std::string& path);

/// A run that has its folder.
struct LiveRun {
  ckpt::RunGuard locks;
  bool fresh = false;
  std::uint64_t step = 0;  ///< step that it continues from; 0: a new run
  ckpt::Digest id;
  std::set<std::uint64_t> damaged;    ///< found while loading
  std::set<std::uint64_t> near_lost;  ///< the same, of its near folder
};
/// What titan-train does with its folder at a start: lock, probe, recover, decide, load every byte; the next older step
/// if that fails. Steps that are only in the near folder are copied.
ckpt::Result<LiveRun> start_run(CrashFs& fs);
/// Saves `step` on `mesh` and keeps the newest `keep` steps (0: all), as rank 0 does. `announced` is called when
/// "saved" is printed.
ckpt::Status go_on(CrashFs& fs, LiveRun& run, std::uint64_t step, ckpt::Mesh mesh, std::uint64_t keep,
                   const std::function<void()>& announced = {}, ckpt::Codec codec = ckpt::Codec::kRaw,
                   Files files = Files::kOwn);

/// Saves `step` into the near folder, which is `wiped` then, or the step is copied to the run folder and announced.
ckpt::Status go_on_near(CrashFs& fs, LiveRun& run, std::uint64_t step, ckpt::Mesh mesh, bool wiped,
                        const std::function<void()>& announced = {});

/// What a run with background saves does: the save of `given_up` stops halfway, since a rank is lost; then `step` is
/// written while retention keeps the newest `keep` of the earlier steps.
ckpt::Status go_on_in_background(CrashFs& fs, LiveRun& run, std::uint64_t given_up, std::uint64_t step, ckpt::Mesh mesh,
                                 std::uint64_t keep, const std::function<void()>& announced);

/// The text for CrashFs::mark() that starts the promise.
std::string saved_mark(std::uint64_t step);
inline constexpr const char* kDstMark = "destination made";

}  // namespace titan::crash
