#pragma once
// The steps of a run, from its start to its end or to a stop.
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ckpt/model/history.h"
#include "libtrain/engine/exchange/owned_gradient.h"
#include "libtrain/engine/train/run_state.h"
#include "libtrain/engine/train/saves.h"
#include "libtrain/engine/train/spin_guard.h"
#include "libtrain/engine/train/spoiled_gradient.h"
#include "libtrain/engine/train/step_row.h"
#include "libtrain/job/launch/signals.h"
#include "libtrain/job/run/non_finite.h"
#include "libtrain/job/schedule/action_trace.h"

namespace titan::train {

/// Reloads weights from the checkpoint `id` at `path`; with `moments` also Adam's moments, otherwise sets them to zero.
/// Only rank 0 looks up the checkpoint and compares its id; the others use rank 0's manifest and check leaves by its
/// digests. Collective. \error StatusError on all ranks: kIncompatible if another checkpoint is at `path`; also if a
/// rank is asked to stop meanwhile (the tensors are then in no consistent state)
void reload(RunState& run, const std::string& path, const ckpt::Digest& id, bool moments);

/// Every rank runs a TrainLoop, and all make the same decisions.
class TrainLoop {
 public:
  /// `run` must have started. `run` and `saves` must outlive the loop.
  TrainLoop(RunState& run, Saves& saves);

  /// Trains up to training.steps or to a stop. Returns the exit code of the run. \error StatusError
  int run();

 private:
  /// The step in progress.
  struct Step {
    std::uint64_t number = 0;
    std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();
    ActionTrace::Clock::time_point trace_begin = ActionTrace::Clock::now();
    std::optional<ActionTrace> trace = std::nullopt;  ///< set if this step is traced
    ckpt::SampleRange samples = {};
    std::vector<OwnedGradient> grads = {};  ///< the gradients that this rank owns, summed over all samples
    std::uint64_t trained = 0;              ///< number of tokens with a loss
    double loss = 0, norm = 0;              ///< loss: mean over `trained` tokens; norm: of the global gradient
  };

  /// Computes gradients, loss and norm, and exchanges the flags of all ranks (StepRow).
  void compute(Step& step);
  /// Updates the weights and advances the run's Progress by the step.
  void apply(Step& step);
  /// Writes metrics, epochs and the trace.
  void report(Step& step);
  /// Does what is due after the step: a save, a validation, the end. Returns the exit code if the run ends early.
  std::optional<int> boundary(std::uint64_t step);

  MicroBatch batch(std::uint32_t index, std::uint64_t position);
  struct HostBatch {
    at::Tensor tokens;               ///< int64 [B,T+1]
    std::vector<SampleMarks> marks;  ///< of each row; empty if the data cannot have marks
  };
  HostBatch read_batch(std::uint32_t index, std::uint64_t position);
  /// The number of tokens of the next step that have a loss. Collective if some may have none.
  std::uint64_t trained_tokens();
  /// Records `phase` and step for the message that answers a stop signal.
  void note(StopPhase phase) const { note_progress(phase, run_.progress.step, saves_.newest()); }
  /// The error that rank 0 must report, if any.
  ckpt::Status trouble() const { return run_.house.files->lost(); }
  bool is_last(std::uint64_t step) const { return step == steps_; }
  /// Returns false if a stop signal came meanwhile.
  bool validate(std::uint64_t step);
  /// Reports that the validation of `step` was skipped.
  void left_out(std::uint64_t step) const;
  /// Ends the run early after `step`, and saves `step` first if it is not saved. `asked`: a signal asked for it.
  /// Returns the exit code.
  int stop_behind(std::uint64_t step, bool asked);
  /// Updates the weights that this rank owns, part by part, and shares each part with the other ranks. Frees the
  /// gradients.
  void update(Step& step, double lr);
  /// Writes the step's trace of all ranks. Collective.
  void write_trace(const Step& step);
  ckpt::SampleRange samples_of_step() const;
  void move_to(std::uint64_t sample);
  /// Applies training.on_nonfinite to a step whose loss or gradient is not finite. Returns the step at which the run is
  /// afterwards; throws to end the run. `stop`: the run ends at that step, so no checkpoint is loaded. Returns nullopt
  /// if a stop signal came during the load.
  std::optional<std::uint64_t> survive(const Step& step, bool stop);
  void go_back(SavedPoint& saved, ckpt::SampleRange left_out);

  RunState& run_;
  Saves& saves_;
  const std::uint64_t steps_, tokens_per_step_;
  const double flops_per_token_;
  const std::optional<double> peak_tflops_;
  std::vector<std::string> names_;  ///< of the parameters
  StepRow row_;
  NonFinitePolicy policy_;
  ckpt::SkipNotes noted_skips_;
  SpinGuard spin_guard_;
  const SpoiledGradient fault_;
};

}  // namespace titan::train
