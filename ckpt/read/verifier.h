#pragma once
// Checks every byte of a checkpoint against its digests. Never calls libhdf5. \source FORMAT.md, "Coverage"
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "ckpt/base/cancel.h"
#include "ckpt/base/hash.h"
#include "ckpt/base/result.h"

namespace titan::ckpt {

class Fs;
struct Manifest;

/// One damaged or unreadable unit: the smallest part that has its own digest.
struct Damage {
  std::string file;        ///< the member, or "manifest.json"
  std::string unit;        ///< "leaf", "table", "envelope", "json", "derived", "manifest", "size", "missing" or "link";
                           ///< also "file" if unreadable
  std::string tensor;      ///< stored tensor name, for leaves
  std::uint64_t leaf = 0;  ///< index in the tensor, for leaves
  std::uint64_t offset = 0;  ///< offset in the file, in bytes
  std::uint64_t bytes = 0;   ///< length of the unit in bytes; for an envelope: the size of the file
  std::string detail;        ///< what is wrong, for users
  bool operator==(const Damage&) const = default;
};

struct VerifyReport {
  Digest id;                       ///< the id in the manifest; zeros if the manifest is damaged
  std::uint64_t leaves = 0;        ///< leaves checked
  std::uint64_t bytes = 0;         ///< bytes read and checked
  std::vector<Damage> damage;      ///< in order of the manifest's files
  std::vector<Damage> unreadable;  ///< what could not be read (media errors), so that it may be damaged or not
  std::uint64_t not_named = 0;     ///< number of further units; `damage` and `unreadable` together list at most 10,000
                                   ///< leaves and whole files
  /// What could not be checked in a foreign checkpoint; after verify_target() also how parity files can repair a
  /// damaged Titan checkpoint.
  std::string note;
};

/// Gets the bytes read so far and in all. Called from time to time, by one thread at a time; `total` does not change.
using VerifyProgress = std::function<void(std::uint64_t done, std::uint64_t total)>;

/// Reads the whole checkpoint at `path` and reports all damage. A damaged manifest is reported and ends the check.
/// `threads`: number of threads that read and hash; 0: as io_threads(). The report does not depend on it. Memory stays
/// below 256 MiB for any manifest: the manifest, a few thousand rows of some leaf tables, and a buffer per thread.
/// \error kNotFound (no checkpoint at `path`), kIncompatible (newer format), kFailed (a file cannot be read for another
/// reason than a media error), kInterrupted, kTerminated (by `cancel`)
Result<VerifyReport> verify_checkpoint(Fs& fs, const std::string& path, const VerifyProgress& progress = {},
                                       const CancelToken& cancel = {}, unsigned threads = 0);

/// As verify_checkpoint(), but checks the members that `manifest` lists: for a folder whose own manifest is lost.
/// `manifest` must outlive the call.
Result<VerifyReport> verify_members(Fs& fs, const std::string& path, const Manifest& manifest,
                                    const VerifyProgress& progress = {}, const CancelToken& cancel = {},
                                    unsigned threads = 0);

}  // namespace titan::ckpt
