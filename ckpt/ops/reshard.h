#pragma once
// `reshard`: makes the same checkpoint for another mesh, other stages or another codec.
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "ckpt/base/cancel.h"
#include "ckpt/format/manifest.h"
#include "ckpt/plan/reshard_plan.h"
#include "ckpt/save/leaf_mover.h"

namespace titan::ckpt {

class Fs;

struct ReshardOptions {
  std::string source;  ///< checkpoint folder, RUN@step, RUN@latest
  std::string dst;     ///< the new checkpoint's folder
  ReshardTarget target;
  std::uint64_t memory = std::uint64_t{256} << 20;  ///< limit for buffers and tables, in bytes
  unsigned threads = 0;                             ///< maximum number of threads that move leaves; 0 means 4
  bool dry_run = false;
  bool force = false;           ///< replaces DST if it is a checkpoint
  std::string writer, created;  ///< for the new manifest
  CancelToken cancel;
  std::function<void(std::uint64_t done, std::uint64_t total)> progress;  ///< raw bytes moved so far, and in all
};

/// One shard file of the new checkpoint.
struct ReshardedFile {
  std::string path;
  std::uint64_t pieces = 0, leaves = 0, bytes = 0;  ///< bytes: raw bytes of its leaves
};

/// How a checkpoint is stored.
struct StorageLayout {
  Mesh mesh;
  std::string stages;              ///< layout string; empty if the model has no numbered layers
  std::string codec;               ///< "none", "zstd", "mixed"
  std::uint64_t files = 0;         ///< number of shards
  std::uint64_t stored_bytes = 0;  ///< size of the shards; 0: not known yet
};

struct ReshardReport : ReshardCounts {
  std::string source, dst;
  bool dry_run = false;
  Digest id;  ///< the same before and after
  std::uint64_t step = 0;
  StorageLayout before, after;
  std::vector<ReshardedFile> files;
  MoveCounts moved;  ///< counts of the actual move; zeros in a dry run
  std::uint32_t threads = 0;
  std::uint64_t memory = 0;          ///< bound for buffers and tables, in bytes
  bool hidden_from_resume = false;   ///< DST is not named step-%08d with its step
  std::vector<std::string> carried;  ///< members taken over: files that came with the model; empty in a dry run
  std::vector<std::string> warnings;
};

/// Makes DST, or only plans it in a dry run. \error kInvalid (DST, or an impossible mesh or layout), kNotFound,
/// kLocked, kCorrupt (DST is not made), kIncompatible (the model has fewer parts than the mesh has stages, newer
/// format), kUnsupported (see plan_reshard()), kFailed, kMediaError, kInterrupted, kTerminated
Result<ReshardReport> reshard_checkpoint(Fs& fs, const ReshardOptions& options);

}  // namespace titan::ckpt
