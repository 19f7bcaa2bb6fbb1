#pragma once
// What rank 0 keeps open in a run folder: the lock with its heartbeat, metrics.jsonl, TensorBoard's file, config.toml.
#include <memory>
#include <string>

#include "ckpt/base/fs.h"
#include "ckpt/io/open_run.h"
#include "ckpt/model/train_state.h"
#include "libtrain/metrics/event_file.h"
#include "libtrain/metrics/metrics_file.h"
#include "recipe/keys/config.h"

namespace titan::train {

/// Puts `text` into the file `name` of `dir`, durably, in the place of what is there.
ckpt::Status replace_file(ckpt::Fs& fs, const std::string& dir, const std::string& name, const std::string& text);

class RunFiles {
 public:
  /// ckpt::open_run; its warnings are logged.
  static ckpt::Result<std::unique_ptr<RunFiles>> open(ckpt::Fs& fs, const recipe::Config& config,
                                                      const std::string& checkpoint_dir);

  /// Writes config.toml and opens metrics.jsonl and TensorBoard's file behind `step`.
  ckpt::Status start(const recipe::Config& config, std::uint64_t step, const ckpt::Attempt& attempt,
                     const std::string& resumed_from);
  /// The run goes back to `step`: lines of later ones leave metrics.jsonl as at a resume, and so do TensorBoard's
  /// points.
  ckpt::Status back_to(std::uint64_t step, std::uint32_t attempt);
  /// Looks at the locks anew; from any thread. \error kLocked once another process has taken the folder over: nothing
  /// more may be written into it
  ckpt::Status still_ours() const { return locks_.still_ours(); }
  /// kLocked once a heartbeat has found that; reads nothing.
  ckpt::Status lost() const { return locks_.lost(); }
  /// By which others see that they have the same folder of steps before them.
  std::string mark() const { return locks_.mark(); }
  /// The same values into metrics.jsonl and, where it is written, TensorBoard's file; there only a step that is `due`.
  ckpt::Status step(const StepMetrics& metrics, bool due);
  ckpt::Status validated(const ValidationMetrics& metrics);
  /// `fields`: what metrics.jsonl has of the save beside these values.
  ckpt::Status saved(const SaveMetrics& metrics, EventFields fields);
  /// A trace of `step` into `folder` of the run; one that is there is replaced.
  ckpt::Status trace(const std::string& folder, std::uint64_t step, const std::string& text);
  /// Makes durable what was written of steps and events.
  ckpt::Status sync();
  ckpt::Status close();

  std::unique_ptr<MetricsFile> metrics;

 private:
  explicit RunFiles(ckpt::Fs& fs) : fs_(fs) {}

  template <typename Metrics>
  ckpt::Status show(const Metrics& metrics);

  ckpt::Fs& fs_;
  std::unique_ptr<EventFile> board_;  ///< null: not asked for
  std::string run_dir_, board_folder_;
  ckpt::RunGuard locks_;
};

}  // namespace titan::train
