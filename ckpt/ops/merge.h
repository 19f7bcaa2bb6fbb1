#pragma once
// `merge`: the weighted sum of the parameters of several checkpoints, as a checkpoint of parameters alone.
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ckpt/base/cancel.h"
#include "ckpt/plan/merge_weights.h"
#include "ckpt/read/reader.h"

namespace titan::ckpt {

/// How much each source counts. At most one of the three; none: the mean.
struct MergeWeights {
  std::optional<PhaseKind> decay;  ///< as decay_weights: sources at different steps
  std::optional<double> ema;       ///< as ema_weights, 0 < beta < 1
  std::vector<double> given;       ///< one for each source in the order of `sources`; divided by their sum
};

struct MergeOptions {
  std::vector<std::string> sources;  ///< as resolve_checkpoints takes them
  std::string dst;
  bool force = false;  ///< replaces DST where it is a checkpoint
  bool dry_run = false;
  MergeWeights weights;
  unsigned threads = 0;         ///< that read and add; 0: as many as suit disk and cores
  std::string writer, created;  ///< of the new manifest
  CheckpointOpener open;        ///< of sources
  /// What a source names, where it is of another format; empty: none is.
  std::function<std::string(Fs& fs, const std::string& spec)> resolve;
  std::function<void(std::uint64_t done, std::uint64_t total)> progress;  ///< bytes read
  CancelToken cancel;
};

struct MergeSource {
  std::string path;
  std::uint64_t step = 0;
  Digest id;  ///< zeros: of another format
  double weight = 0;
  bool operator==(const MergeSource&) const = default;
};

struct MergeReport {
  std::string dst;
  std::uint64_t step = 0;            ///< of the newest source, and of DST
  std::vector<MergeSource> sources;  ///< in the order of the sums: by step, then by id
  std::vector<double> factors;       ///< as decay_factors; empty where sources share a step: they stand for no decay
  std::optional<NearestDecay> nearest;
  std::vector<LrPhase> before, after;  ///< the newest source's curve, and what the sum stands for; empty if unknown
  std::uint64_t tensors = 0;
  std::uint64_t bytes = 0;  ///< of DST's parameters
  bool dry_run = false;
  Digest id;                         ///< when written
  std::vector<std::string> carried;  ///< files that came with the model, of the newest source
  std::vector<std::string> notes, warnings;
};

/// Makes DST. Every leaf of every source's parameters is read once and checked against its digest; a leaf per source
/// and thread is in memory. Equal sources and weights give equal bits, whatever their layouts and order.
/// \error kInvalid (names, weights), kNotFound, kIncompatible (different models: names the tensor or the key), kCorrupt
/// (a source), as Rewrite
Result<MergeReport> merge_checkpoints(Fs& fs, const MergeOptions& options);

}  // namespace titan::ckpt
