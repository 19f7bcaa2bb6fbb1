#pragma once
// `diff`: what differs between two checkpoints. State decides; layout, configuration and history are notes.
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ckpt/base/cancel.h"
#include "ckpt/ops/diff_state.h"

namespace titan::ckpt {

class Fs;

/// What happened to one component.
struct ComponentDistance {
  std::string name;
  std::uint64_t tensors = 0, different = 0;  ///< that both sides have; of them, those whose bytes differ
  TensorDistance distance;                   ///< of the different ones, as if they were one tensor
};

/// One side.
struct DiffSide {
  std::string path;
  Digest id;
  std::uint64_t step = 0;
};

/// What is compared. With neither member set, the ids decide.
struct DiffScope {
  std::string only;                    ///< glob: tensors whose names match, and nothing else; empty: the whole state
  std::optional<Tolerance> tolerance;  ///< tensors that differ by less count as equal
  bool operator==(const DiffScope&) const = default;
};

struct DiffReport {
  DiffSide a, b;
  /// The ids are equal. With a foreign side: the tensors of the components that both have are equal.
  bool state_equal = false;
  bool foreign = false;             ///< a side is of another format: ids and digests say nothing, bytes were compared
  bool notes_count = false;         ///< as asked for
  DiffScope scope;                  ///< as asked for
  std::uint64_t equal_tensors = 0;  ///< stored tensors that are the same on both sides
  std::vector<Difference> within;   ///< tensors that differ within the tolerance
  std::vector<ComponentDistance> components;  ///< those with tensors, in the order of `a`
  std::vector<Difference> differences;
  std::vector<Difference> notes;
  std::vector<std::string> not_compared;  ///< what both hold and cannot be shown as tensors of ours
  /// Whether what was asked about is equal. With a tolerance or a choice of tensors the tensors decide, not the ids.
  /// What both sides have and nobody compared is not equal, unless tensors were chosen.
  bool equal() const {
    const bool judged_by_parts = scope.tolerance || !scope.only.empty();
    return (state_equal || (judged_by_parts && differences.empty())) && (!notes_count || notes.empty()) &&
           (not_compared.empty() || !scope.only.empty());
  }
};

struct DiffOptions {
  std::string a, b;          ///< folders, RUN@step or RUN@latest
  bool notes_count = false;  ///< notes make the checkpoints different
  /// Called while tensors are read: bytes so far, and how many in all.
  std::function<void(std::uint64_t done, std::uint64_t total)> progress;
  CancelToken cancel;
  DiffScope scope;
  unsigned threads = 0;  ///< 0: as many as suit disk and cores
  CheckpointOpener open = CheckpointReader::open;
};

/// Compares two checkpoints. If the ids are equal, only the two manifests are read. Otherwise tensors are compared by
/// digest, and those that differ are read on several threads; the report does not depend on their number. With a scope,
/// other leaf sizes are a note. Where a side is foreign, every tensor is read, and all that is not a tensor is a note.
/// \error kNotFound (a checkpoint, or no tensor on either side matches `only`), kCorrupt, kIncompatible, kInterrupted,
/// kTerminated.
Result<DiffReport> diff_checkpoints(Fs& fs, const DiffOptions& options);

/// Adds up the tensors of each component. `pairs`: component of every tensor that both have. Pure.
std::vector<ComponentDistance> component_distances(const std::vector<std::string>& pairs,
                                                   const std::vector<Difference>& measured);

}  // namespace titan::ckpt
