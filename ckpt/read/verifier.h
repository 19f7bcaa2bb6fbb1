#pragma once
// Checks every byte of a checkpoint against its digests. Never calls libhdf5. \source FORMAT.md, "Coverage"
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "ckpt/base/cancel.h"
#include "ckpt/base/fs.h"
#include "ckpt/base/hash.h"
#include "ckpt/base/result.h"

namespace titan::ckpt {

/// One damaged or unreadable unit, the smallest that its digests can tell apart.
struct Damage {
  std::string file;          ///< member, or "manifest.json"
  std::string unit;          ///< "leaf", "table", "envelope", "json", "derived", "manifest", "size", "missing", "link";
                             ///< unreadable ones also "file"
  std::string tensor;        ///< stored tensor name, for leaves
  std::uint64_t leaf = 0;    ///< index in the tensor, for leaves
  std::uint64_t offset = 0;  ///< in the file
  std::uint64_t bytes = 0;   ///< length of the unit; of an envelope: the size of the file
  std::string detail;
  bool operator==(const Damage&) const = default;
};

struct VerifyReport {
  Digest id;                       ///< that the manifest says; zeros where that is damaged
  std::uint64_t leaves = 0;        ///< checked
  std::uint64_t bytes = 0;         ///< read and checked
  std::vector<Damage> damage;      ///< in order of the manifest's files
  std::vector<Damage> unreadable;  ///< what the store could not give back (media errors): not known to be damaged, and
                                   ///< not known to be whole
  std::uint64_t not_named = 0;     ///< more such places; `damage` and `unreadable` have 10,000 at most
  std::string note;                ///< what could not be checked; empty for our own checkpoints
};

/// Called now and then, from any verifying thread but by one at a time; `total` is known from the start.
using VerifyProgress = std::function<void(std::uint64_t done, std::uint64_t total)>;

/// Reads the whole checkpoint at `path` and reports all damage; a damaged manifest is reported as such and ends the
/// check. `threads` read and hash (0: as many as suit disk and cores); the report does not depend on them. Stays below
/// 256 MiB whatever the manifest claims: it holds the manifest, a few thousand rows of some leaf tables and a buffer
/// per thread. \error kNotFound (no checkpoint there), kIncompatible (newer format), kFailed (a file cannot be read,
/// but for media errors), kInterrupted, kTerminated (by `cancel`)
Result<VerifyReport> verify_checkpoint(Fs& fs, const std::string& path, const VerifyProgress& progress = {},
                                       const CancelToken& cancel = {}, unsigned threads = 0);

}  // namespace titan::ckpt
