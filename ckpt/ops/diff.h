#pragma once
// `diff`: what differs between two checkpoints. Only differences of the state make them different; differences of
// layout, configuration and history are notes.
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ckpt/base/cancel.h"
#include "ckpt/ops/diff_state.h"

namespace titan::ckpt {

class Fs;

/// The distance between the two checkpoints in one component.
struct ComponentDistance {
  std::string name;
  std::uint64_t tensors = 0, different = 0;  ///< tensors on both sides; tensors whose bytes differ
  TensorDistance distance;  ///< over the different tensors that have a distance, as if they were one tensor
};

/// One of the two checkpoints.
struct DiffSide {
  std::string path;
  Digest id;
  std::uint64_t step = 0;
};

/// What is compared. If neither `only` nor `tolerance` is set, the ids decide whether the checkpoints are equal.
struct DiffScope {
  std::string only;                    ///< glob: compare only tensors with matching names; empty: the whole state
  std::optional<Tolerance> tolerance;  ///< tensors within this distance count as equal
  bool operator==(const DiffScope&) const = default;
};

struct DiffReport {
  DiffSide a, b;
  /// The ids are equal. If a side is foreign: without a scope, whether the tensors of all components that both sides
  /// have are equal; with a scope, false.
  bool state_equal = false;
  bool foreign = false;             ///< a side is of another format, without ids and digests, so bytes were compared
  bool notes_count = false;         ///< as in DiffOptions
  DiffScope scope;                  ///< as in DiffOptions
  std::uint64_t equal_tensors = 0;  ///< stored tensors that are equal on both sides
  std::vector<Difference> within;   ///< tensors that differ within the tolerance
  std::vector<ComponentDistance> components;  ///< components with tensors, in the order of `a`
  std::vector<Difference> differences;
  std::vector<Difference> notes;
  std::vector<std::string> not_compared;  ///< names of parts on both sides that cannot be read as Titan tensors
  /// Whether the compared parts are equal. Equal ids are enough. With a tolerance or a selection of tensors, so is the
  /// absence of differences. With `notes_count`, there must be no notes either. Parts that could not be compared
  /// (`not_compared`) count as different, unless tensors were selected.
  bool equal() const {
    const bool judged_by_parts = scope.tolerance || !scope.only.empty();
    return (state_equal || (judged_by_parts && differences.empty())) && (!notes_count || notes.empty()) &&
           (not_compared.empty() || !scope.only.empty());
  }
};

struct DiffOptions {
  std::string a, b;          ///< folders, RUN@step or RUN@latest
  bool notes_count = false;  ///< true: notes also make the checkpoints different
  /// Called while tensors are read, with the bytes read so far and in all.
  std::function<void(std::uint64_t done, std::uint64_t total)> progress;
  CancelToken cancel;
  DiffScope scope;
  unsigned threads = 0;  ///< 0: chosen by io_threads()
  CheckpointOpener open = CheckpointReader::open;
};

/// Compares two checkpoints. If the ids are equal, no tensor is read. Otherwise tensors of the same name, shape and
/// type are compared by digest. Those that differ are read on several threads, whose number does not change the report.
/// If the leaf sizes differ or a side is foreign, digests cannot be compared, and all these tensors are read. With a
/// scope, different leaf sizes are a note. If a side is foreign, all differences outside of tensors are notes.
/// \error kNotFound (a checkpoint; or `only` matches no tensor on either side), kCorrupt, kIncompatible, kFailed,
/// kMediaError, kInterrupted, kTerminated
Result<DiffReport> diff_checkpoints(Fs& fs, const DiffOptions& options);

/// Sums up the tensors of each component. `pairs` has the component of every tensor that both sides have, `measured`
/// the tensors that differ. Pure.
std::vector<ComponentDistance> component_distances(const std::vector<std::string>& pairs,
                                                   const std::vector<Difference>& measured);

}  // namespace titan::ckpt
