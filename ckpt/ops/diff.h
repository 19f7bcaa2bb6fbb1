#pragma once
// `diff`: what differs between two checkpoints. State decides; layout, configuration and history are notes.
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ckpt/base/cancel.h"
#include "ckpt/base/fs.h"
#include "ckpt/ops/compare.h"
#include "ckpt/ops/inspect.h"

namespace titan::ckpt {

/// One thing that differs. Kinds of differences: "step", "tokens", "lr_schedule", "data", "component", "tensor",
/// "optimizer_step", "leaf_elements"; of notes: "layout", "config", "history".
struct Difference {
  std::string kind;
  std::string name;                        ///< of the field, tensor, component or key
  std::string a, b;                        ///< the two values as text; "absent" for what is not there
  std::optional<TensorDistance> distance;  ///< tensors of equal shape, and of equal dtype unless a tolerance was given
  std::string component = {};              ///< of a tensor
  bool operator==(const Difference&) const = default;
};

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

/// What the comparison is about. With neither, ids decide.
struct DiffScope {
  std::string only;                    ///< glob: tensors whose names match, and nothing else; empty: the whole state
  std::optional<Tolerance> tolerance;  ///< tensors that differ by less count as equal
  bool operator==(const DiffScope&) const = default;
};

struct DiffReport {
  DiffSide a, b;
  /// the ids are the same; with a foreign side: the tensors of the components that both have
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
  /// Whether what was asked about is equal. A tolerance or a choice of tensors is answered by what was found, not by
  /// ids.
  bool equal() const {
    const bool judged_by_parts = scope.tolerance || !scope.only.empty();
    return (state_equal || (judged_by_parts && differences.empty())) && (!notes_count || notes.empty());
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

/// Compares two checkpoints. Equal ids end it with two manifests read; else tensors are compared by digest, and those
/// that differ are read, on several threads; the report does not depend on them. With a scope, other leaf sizes are a
/// note. Where a side is foreign, every tensor is read, and all that is not a tensor is a note.
/// \error kNotFound (a checkpoint, or no tensor on either side matches `only`), kCorrupt, kIncompatible, kInterrupted,
/// kTerminated.
Result<DiffReport> diff_checkpoints(Fs& fs, const DiffOptions& options);

/// What differs in the state outside tensors (step, tokens, schedule, data position, components, Adam steps). Pure.
std::vector<Difference> state_differences(const InspectReport& a, const InspectReport& b);
/// Adds up the tensors of each component. `pairs`: component of every tensor that both have. Pure.
std::vector<ComponentDistance> component_distances(const std::vector<std::string>& pairs,
                                                   const std::vector<Difference>& measured);
/// Layout, configuration and history. Pure.
std::vector<Difference> diff_notes(const InspectReport& a, const InspectReport& b);
/// Names that both sides leave out, ascending. Pure.
std::vector<std::string> not_compared(const InspectReport& a, const InspectReport& b);

/// "phase 1: linear 0 -> 0.001 over 10 from step 1": one phase as text.
std::string phase_text(const LrPhase& phase);

}  // namespace titan::ckpt
