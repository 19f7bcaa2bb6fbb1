#pragma once
// `reshard`: the same checkpoint for another mesh, other stages or another form of storage.
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ckpt/base/cancel.h"
#include "ckpt/base/fs.h"
#include "ckpt/format/manifest.h"
#include "ckpt/plan/reshard_plan.h"
#include "ckpt/save/leaf_mover.h"

namespace titan::ckpt {

struct ReshardOptions {
  std::string source;  ///< checkpoint folder, RUN@step, RUN@latest
  std::string dst;     ///< the new checkpoint's folder
  ReshardTarget target;
  std::uint64_t memory = std::uint64_t{256} << 20;  ///< bytes that buffers and tables may take
  unsigned threads = 0;  ///< that move leaves, at most; 0: as many as keep a disk busy. Fewer where memory is short
  bool dry_run = false;
  bool force = false;           ///< a DST that is a checkpoint is replaced
  std::string writer, created;  ///< of the new manifest
  CancelToken cancel;
  std::function<void(std::uint64_t done, std::uint64_t total)> progress;
};

/// One shard file of the new checkpoint.
struct ReshardedFile {
  std::string path;
  std::uint64_t pieces = 0, leaves = 0, bytes = 0;  ///< raw bytes of its leaves
};

/// How a checkpoint lies on disk.
struct StorageLayout {
  Mesh mesh;
  std::string stages;              ///< layout string; empty where the model has no numbered layers
  std::string codec;               ///< "none", "zstd", "mixed"
  std::uint64_t files = 0;         ///< shards
  std::uint64_t stored_bytes = 0;  ///< of the shards; 0: not known yet
};

struct ReshardReport {
  std::string source, dst;
  bool dry_run = false;
  Digest id;  ///< before and after
  std::uint64_t step = 0;
  StorageLayout before, after;
  std::vector<ReshardedFile> files;
  std::uint64_t leaves = 0, bytes = 0;         ///< to move; raw bytes
  std::uint64_t ranges = 0;                    ///< runs of leaves that stay together
  std::uint64_t to_encode = 0, to_decode = 0;  ///< leaves whose form changes
  MoveCounts moved;                            ///< what was done; zeros in a dry run
  std::uint32_t threads = 0;
  std::uint64_t memory = 0;          ///< bound of buffers and tables
  bool hidden_from_resume = false;   ///< DST is not named step-%08d
  std::vector<std::string> carried;  ///< members that came with a converted model; empty in a dry run
  std::vector<std::string> warnings;
};

/// \error kInvalid (DST, mesh or layout that cannot be), kNotFound, kLocked, kCorrupt (no DST then), kIncompatible (mesh
/// not feasible, newer format), kFailed, kInterrupted, kTerminated
Result<ReshardReport> reshard_checkpoint(Fs& fs, const ReshardOptions& options);

}  // namespace titan::ckpt
