#pragma once
// The steps of a run, from where its start left it to its end or to a stop.
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

/// Takes weights and, with `moments`, Adam's moments again from the checkpoint `id` at `path`; without, moments of
/// zero. Rank 0 alone looks for it, and knows its id; the others read by its manifest, whose digests they check.
/// Collective.
/// \error StatusError on all ranks together, kIncompatible where another checkpoint lies there by now; also where one is
/// asked to stop meanwhile, and the tensors are of no step then
void reload(RunState& run, const std::string& path, const ckpt::Digest& id, bool moments);

/// Every rank runs one, and all do the same.
class TrainLoop {
 public:
  /// `run` has started. Both outlive this.
  TrainLoop(RunState& run, Saves& saves);

  /// Trains up to training.steps or to a stop. Returns the exit code of the run. \error StatusError
  int run();

 private:
  /// One that is under way.
  struct Step {
    std::uint64_t number = 0;
    std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();
    ActionTrace::Clock::time_point trace_begin = ActionTrace::Clock::now();
    std::optional<ActionTrace> trace = std::nullopt;  ///< where this one is traced
    ckpt::SampleRange samples = {};
    std::vector<OwnedGradient> grads = {};  ///< what this rank owns of the sum over all samples
    std::uint64_t trained = 0;              ///< tokens that have a loss
    double loss = 0, norm = 0;              ///< mean over these tokens; of the whole gradient
  };

  /// Gradients, loss and norm, and what the ranks have to tell each other.
  void compute(Step& step);
  /// Updates the weights, and moves the run to behind the step.
  void apply(Step& step);
  /// Metrics, epochs and the trace.
  void report(Step& step);
  /// What is due behind the step: a save, a validation, the end. The exit code where the run ends early.
  std::optional<int> boundary(std::uint64_t step);

  MicroBatch batch(std::uint32_t index, std::uint64_t position);
  struct HostBatch {
    at::Tensor tokens;               ///< int64 [B,T+1]
    std::vector<SampleMarks> marks;  ///< of each row, where there may be any
  };
  HostBatch read_batch(std::uint32_t index, std::uint64_t position);
  /// Tokens of the next step that have a loss. Collective where some have none.
  std::uint64_t trained_tokens();
  /// For the answer to a stop signal.
  void note(StopPhase phase) const { note_progress(phase, run_.progress.step, saves_.newest()); }
  /// What rank 0 has to tell.
  ckpt::Status trouble() const { return run_.house.files->lost(); }
  bool is_last(std::uint64_t step) const { return step == steps_; }
  /// False: a stop signal came meanwhile.
  bool validate(std::uint64_t step);
  /// Says so of a validation.
  void left_out(std::uint64_t step) const;
  /// Ends the run early behind `step`, which is saved first where it is not. `asked`: by a signal. Returns the exit
  /// code.
  int stop_behind(std::uint64_t step, bool asked);
  /// Updates what this rank owns, part by part, and brings each part to the others. The gradients go with their memory.
  void update(Step& step, double lr);
  /// Writes what was traced of the step, on all ranks. Collective.
  void write_trace(const Step& step);
  ckpt::SampleRange samples_of_step() const;
  void move_to(std::uint64_t sample);
  /// What training.on_nonfinite says happens. Returns the step that the run stands at then; ends the run by throwing.
  /// `stop`: the run ends there, so that nothing is read again. Nothing: a stop signal came while it was.
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
