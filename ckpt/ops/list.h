#pragma once
// `ls`: the steps of a run, which of them a resume takes, and why it skips the others.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ckpt/format/manifest.h"

namespace titan::ckpt {

class Fs;

/// One step, or a checkpoint outside of a run.
struct ListedStep {
  std::uint64_t step = 0;
  std::string path;
  std::string name;  ///< shown instead of the number; set for checkpoints of other formats below a folder
  bool valid = false;
  bool full = false;  ///< has every component that a resume needs
  bool pinned = false;
  std::string link;          ///< the target folder, if the step is a symbolic link
  bool moved_aside = false;  ///< an interrupted rewrite moved it to `path`
  bool resume = false;       ///< a resume takes this step
  std::string reason;        ///< why a resume does not take this step; empty for the one that it takes; for a full
                             ///< checkpoint outside of a run: the flags that use it
  std::uint64_t bytes = 0;   ///< size of all its files in bytes
  std::optional<Digest> id;  ///< id, mesh and created are set only if the step is valid
  std::optional<Mesh> mesh;
  std::string created;
  std::int64_t mtime_ns = 0;  ///< modification time of the folder, ns since 1970-01-01 UTC
  bool operator==(const ListedStep&) const = default;
};

/// A damaged step that a save moved aside.
struct ListedDamage {
  std::string name;  ///< .damaged-step-N-<id>
  bool pinned = false;
  std::uint64_t bytes = 0;
  bool operator==(const ListedDamage&) const = default;
};

struct ListReport {
  std::string folder;             ///< folder of the steps
  std::vector<ListedStep> steps;  ///< newest first
  std::vector<ListedDamage> damaged;
  std::vector<std::string> leftovers;  ///< names that dead runs and tools left (is_leftover())
  std::vector<std::string> foreign;    ///< names that are not Titan's; never touched
};

/// Lists the steps of `run`: a run folder, a folder of steps, or one checkpoint, in a run or not. \error kNotFound (no
/// such run), kFailed, kMediaError
Result<ListReport> list_run(Fs& fs, const std::string& run);

/// Size of all regular files below `path`, in bytes; unreadable parts are not counted.
std::uint64_t tree_bytes(Fs& fs, const std::string& path);

}  // namespace titan::ckpt
