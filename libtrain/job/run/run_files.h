#pragma once
// What rank 0 keeps open in a run folder: the lock with its heartbeat, metrics.jsonl, TensorBoard's file, config.toml.
#include <atomic>
#include <chrono>
#include <memory>
#include <string>

#include "ckpt/base/fs.h"
#include "ckpt/model/train_state.h"
#include "ckpt/run/open_run.h"
#include "libtrain/job/metrics/event_file.h"
#include "libtrain/job/metrics/late_writer.h"
#include "libtrain/job/metrics/metrics_file.h"
#include "libtrain/job/metrics/status_file.h"
#include "recipe/keys/config.h"

namespace titan::train {

/// Puts `text` into the file `name` of `dir`, durably, in the place of what is there.
ckpt::Status replace_file(ckpt::Fs& fs, const std::string& dir, const std::string& name, const std::string& text);
enum class StoreAnswer { kNoneYet, kNo, kYes };

class RunFiles {
 public:
  /// ckpt::open_run; its warnings are logged.
  static ckpt::Result<std::unique_ptr<RunFiles>> open(ckpt::Fs& fs, const recipe::Config& config,
                                                      const std::string& checkpoint_dir);

  /// Writes config.toml and opens metrics.jsonl and TensorBoard's file behind `step`; `durable`: the run folder has it.
  ckpt::Status start(const recipe::Config& config, std::uint64_t step, const ckpt::Attempt& attempt,
                     const std::string& resumed_from, bool durable = true);
  /// The run goes back to `step`: lines of later ones leave metrics.jsonl as at a resume, and so do TensorBoard's
  /// points. A store that refuses is asked again up to `timeout`.
  ckpt::Status back_to(std::uint64_t step, std::uint32_t attempt, std::chrono::milliseconds timeout);
  /// Looks at the locks anew; from any thread. \error kLocked once another process has taken the folder over: nothing
  /// more may be written into it
  ckpt::Status still_ours() const { return locks_.still_ours(); }
  /// kLocked once a heartbeat has found that; reads nothing.
  ckpt::Status lost() const { return locks_.lost(); }
  /// By which others see that they have the same folder of steps before them.
  std::string mark() const { return locks_.mark(); }
  // Once the run has started, these wait for no store, and what they meet is a warning: a thread of its own writes.
  /// The same values into metrics.jsonl and, where it is written, TensorBoard's file; there only a step that is `due`.
  void step(const StepMetrics& metrics, bool due);
  void validated(const ValidationMetrics& metrics);
  /// `fields`: what metrics.jsonl has of the save beside these values.
  void saved(const SaveMetrics& metrics, EventFields fields);
  void event(std::uint64_t step, std::string_view name, const EventFields& fields);
  void parameter_norms(std::uint64_t step, const std::vector<std::string>& names, const std::vector<double>& norms);
  /// A trace of `step` into `folder` of the run; one that is there is replaced.
  void trace(const std::string& folder, std::uint64_t step, std::string text);
  /// Becomes what the store answers to the question whether it takes files in `folder`, and has room for `bytes`.
  std::shared_ptr<const std::atomic<StoreAnswer>> ask_store(const std::string& folder, std::uint64_t bytes);
  /// Makes durable what was written of steps and events; waits for it up to `timeout`.
  ckpt::Status sync(std::chrono::milliseconds timeout);
  /// The same, and the files are closed.
  ckpt::Status close(std::chrono::milliseconds timeout);

 private:
  /// \error kInvalid: `path` is a file that the run writes itself
  ckpt::Status check_status_file(const std::string& path) const;
  explicit RunFiles(ckpt::Fs& fs) : fs_(fs) {}

  template <typename Metrics>
  void show(const Metrics& metrics);
  ckpt::Status open_at(std::uint64_t step, std::uint32_t attempt);

  ckpt::Fs& fs_;
  std::shared_ptr<MetricsFile> metrics_;
  std::shared_ptr<EventFile> board_;    ///< null: not asked for
  std::shared_ptr<StatusFile> status_;  ///< likewise
  std::string run_dir_, board_folder_;
  ckpt::RunGuard locks_;
  std::unique_ptr<LateWriter> late_;  ///< ends first: it writes into the files
};

}  // namespace titan::train
