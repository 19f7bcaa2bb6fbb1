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

/// Loads the weights of the checkpoint at `path` into a run in progress; with `moments` also Adam's moments, which are
/// otherwise set to zero. Rank 0 compares the checkpoint's id with `id`. The other ranks use rank 0's manifest, and
/// check leaves by the manifest's digests. Collective. \error StatusError on all ranks: kIncompatible if another
/// checkpoint is at `path`; read errors; that a rank was asked to stop. The weights are in no consistent state then
void reload(RunState& run, const std::string& path, const ckpt::Digest& id, bool moments);

/// Runs the steps of a run. Every rank has a TrainLoop, and all make the same decisions.
class TrainLoop {
 public:
  /// `run` must have started. `run` and `saves` must outlive the loop.
  TrainLoop(RunState& run, Saves& saves);

  /// Trains up to training.steps or to a stop. Returns the exit code of the run. \error StatusError, CommError
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
    std::uint64_t trained = 0;              ///< number of tokens with a loss, over all ranks
    double loss = 0, norm = 0;              ///< mean loss of these tokens; norm of the global gradient
  };

  /// Computes gradients, loss and norm, and sums the flags of all ranks (StepRow).
  void compute(Step& step);
  /// Updates the weights and advances the run's Progress by the step.
  void apply(Step& step);
  /// Writes the step to the log, the metrics and the trace, and logs the start of an epoch.
  void report(Step& step);
  /// Does what is due after the step: a save, a validation, the end. Returns the exit code if the run ends early.
  std::optional<int> boundary(std::uint64_t step);

  /// Reads micro-batch `index` of the step that begins at data position `position`, and copies it to the device.
  MicroBatch batch(std::uint32_t index, std::uint64_t position);
  struct HostBatch {
    at::Tensor tokens;               ///< int64 [B,T+1]
    std::vector<SampleMarks> marks;  ///< by row: document starts, tokens without a loss; empty if the data have none
  };
  /// As batch(), without the copy to the device.
  HostBatch read_batch(std::uint32_t index, std::uint64_t position);
  /// The number of tokens with a loss in the next step, over all ranks; at least 1. Collective if some tokens may have
  /// no loss.
  std::uint64_t trained_tokens();
  /// Records `phase` and the present step for the message that a stop signal causes.
  void note(StopPhase phase) const { note_progress(phase, run_.progress.step, saves_.newest()); }
  /// The error that rank 0 must report, if any.
  ckpt::Status trouble() const { return run_.root_objects.files->lost(); }
  bool is_last(std::uint64_t step) const { return step == steps_; }
  /// Runs the validation of `step` and reports it. Returns false if a stop signal ended it.
  bool validate(std::uint64_t step);
  /// Logs that the validation of `step` is skipped because the run stops.
  void left_out(std::uint64_t step) const;
  /// Ends the run early, after `step`: saves `step` if it is not saved. `asked`: the reason is a stop signal. Returns
  /// the exit code.
  int stop_after(std::uint64_t step, bool asked);
  /// Updates the weights that this rank owns, part by part, and sends each part to the other ranks of the stage. Frees
  /// the gradients.
  void update(Step& step, double lr);
  /// Writes the trace of the step, with the actions of all ranks. Collective.
  void write_trace(const Step& step);
  /// The samples that the next step reads, as a range that includes excluded samples in between.
  ckpt::SampleRange samples_of_step() const;
  /// Sets the data position to `sample`.
  void move_to(std::uint64_t sample);
  /// Applies training.on_nonfinite to a step whose loss or gradient is not finite. Returns the step from which the run
  /// continues: the previous step, or that of the newest checkpoint, which is loaded unless `stop` (the run stops).
  /// Returns nullopt if a stop signal came during the load. \error StatusError if the policy ends the run
  std::optional<std::uint64_t> survive(const Step& step, bool stop);
  /// Loads `saved`, and continues from there without the samples `left_out`.
  void go_back(SavedPoint& saved, ckpt::SampleRange left_out);

  RunState& run_;
  Saves& saves_;
  const std::uint64_t steps_, tokens_per_step_;
  const double flops_per_token_;
  const std::optional<double> peak_tflops_;
  std::vector<std::string> names_;  ///< of the parameters, in the order of the plan
  StepRow row_;
  NonFinitePolicy policy_;
  ckpt::SkipNotes noted_skips_;
  SpinGuard spin_guard_;
  const SpoiledGradient fault_;
};

}  // namespace titan::train
