#pragma once
// `merge`: makes a checkpoint of parameters only, as a weighted sum of the parameters of several checkpoints.
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ckpt/base/cancel.h"
#include "ckpt/plan/merge_weights.h"
#include "ckpt/read/reader.h"

namespace titan::ckpt {

/// The weight of each source. At most one of `decay`, `ema` and `given` is set; if none is, all weights are equal.
/// `decay` and `ema` are for sources at different steps.
struct MergeWeights {
  std::optional<PhaseKind> decay;  ///< by decay_weights()
  std::optional<double> ema;       ///< by ema_weights(), 0 < beta < 1
  std::vector<double> given;       ///< one per source in the order of `sources`; divided by their sum
};

struct MergeOptions {
  std::vector<std::string> sources;  ///< as resolve_checkpoints takes them
  std::string dst;
  bool force = false;  ///< replaces DST if it is a checkpoint
  bool dry_run = false;
  MergeWeights weights;
  unsigned threads = 0;         ///< threads that read and add; 0: as io_threads(); at most 6
  std::string writer, created;  ///< for the new manifest
  CheckpointOpener open;        ///< opens the sources
  /// Turns the name of a source of another format into its path; empty: such sources are not accepted.
  std::function<std::string(Fs& fs, const std::string& spec)> resolve;
  std::function<void(std::uint64_t done, std::uint64_t total)> progress;  ///< bytes read
  CancelToken cancel;
};

struct MergeSource {
  std::string path;
  std::uint64_t step = 0;
  Digest id;  ///< zeros: a checkpoint of another format
  double weight = 0;
  bool operator==(const MergeSource&) const = default;
};

struct MergeReport {
  std::string dst;
  std::uint64_t step = 0;            ///< step of the newest source, and of DST
  std::vector<MergeSource> sources;  ///< in the order in which they are added: by step, then by id
  std::vector<double> factors;  ///< by decay_factors(); empty if sources share a step: the sum then imitates no decay
  std::optional<NearestDecay> nearest;  ///< by nearest_decay(); empty if `factors` are
  std::vector<LrPhase> before, after;   ///< the LR schedule of the newest source, and that schedule with the decay that
                                        ///< the sum imitates; empty if `factors` are, or if the source has no schedule
  std::uint64_t tensors = 0;
  std::uint64_t bytes = 0;  ///< size of DST's parameters
  bool dry_run = false;
  Digest id;                         ///< set when written
  std::vector<std::string> carried;  ///< files of the newest source's model that were taken over
  std::vector<std::string> notes, warnings;
};

/// Makes DST. Reads every leaf of every source's parameters once, and checks its digest if the source is a Titan
/// checkpoint. Holds a few leaves per thread in memory, for any number of sources. Equal sources and weights give equal
/// bits, whatever the layouts and the order of the sources (sources of other formats at the same step are added in the
/// given order).
/// \error kInvalid (names, weights), kNotFound, kIncompatible (a source without parameters; different models, naming
/// the tensor or the key), kCorrupt (a source), the errors of Rewrite (rewrite.h)
Result<MergeReport> merge_checkpoints(Fs& fs, const MergeOptions& options);

}  // namespace titan::ckpt
