#pragma once
// Files that rank 0 writes in a run folder: the lock with its heartbeat, metrics.jsonl, the TensorBoard file,
// config.toml.
#include <atomic>
#include <chrono>
#include <memory>
#include <string>

#include "ckpt/model/train_state.h"
#include "ckpt/run/open_run.h"
#include "libtrain/job/metrics/background_writer.h"
#include "libtrain/job/metrics/event_file.h"
#include "libtrain/job/metrics/metrics_file.h"
#include "libtrain/job/metrics/status_file.h"

namespace titan::recipe {
struct Config;
}

namespace titan::train {

/// Replaces the file `name` in `dir` by one with `text`, durably.
ckpt::Status replace_file(ckpt::Fs& fs, const std::string& dir, const std::string& name, const std::string& text);
enum class StoreAnswer { kNoneYet, kNo, kYes };

class RunFiles {
 public:
  /// Calls ckpt::open_run() and logs its warnings.
  static ckpt::Result<std::unique_ptr<RunFiles>> open(ckpt::Fs& fs, const recipe::Config& config,
                                                      const std::string& checkpoint_dir);

  /// Writes config.toml and opens metrics.jsonl and the TensorBoard file for steps after `step`. `durable`: `step` is
  /// in the run folder.
  ckpt::Status start(const recipe::Config& config, std::uint64_t step, const ckpt::Attempt& attempt,
                     const std::string& resumed_from, bool durable = true);
  /// For a run that returns to `step`: removes lines of later steps from metrics.jsonl as at a resume, and supersedes
  /// their TensorBoard points. If the store refuses, retries up to `timeout`.
  ckpt::Status back_to(std::uint64_t step, std::uint32_t attempt, std::chrono::milliseconds timeout);
  /// Reads the lock files again. May be called from any thread. \error kLocked: another process has taken over the
  /// folder, so nothing may be written into it any more
  ckpt::Status still_ours() const { return locks_.still_ours(); }
  /// kLocked once a heartbeat has found the lock lost. Does no I/O.
  ckpt::Status lost() const { return locks_.lost(); }
  /// A mark by which other ranks check that they see the same checkpoint folder.
  std::string mark() const { return locks_.mark(); }
  // After start() a background thread writes for the following functions: they do not wait for the store, and errors
  // become warnings.
  /// Writes the values to metrics.jsonl, to metrics.status_file if that is configured, and, if `due`, to the
  /// TensorBoard file if there is one.
  void step(const StepMetrics& metrics, bool due);
  void validated(const ValidationMetrics& metrics);
  /// `fields`: further values for metrics.jsonl.
  void saved(const SaveMetrics& metrics, EventFields fields);
  void event(std::uint64_t step, std::string_view name, const EventFields& fields);
  void parameter_norms(std::uint64_t step, const std::vector<std::string>& names, const std::vector<double>& norms);
  /// Writes a trace of `step` into the run's `folder`; replaces an existing one.
  void trace(const std::string& folder, std::uint64_t step, std::string text);
  /// Tests whether the store accepts files in `folder` and has room for `bytes`. The result changes from kNoneYet once
  /// there is an answer.
  std::shared_ptr<const std::atomic<StoreAnswer>> ask_store(const std::string& folder, std::uint64_t bytes);
  /// Makes the written lines and points durable; waits up to `timeout`.
  ckpt::Status sync(std::chrono::milliseconds timeout);
  /// sync(), then closes the files.
  ckpt::Status close(std::chrono::milliseconds timeout);

 private:
  explicit RunFiles(ckpt::Fs& fs) : fs_(fs) {}

  template <typename Metrics>
  void show(const Metrics& metrics);
  ckpt::Status open_at(std::uint64_t step, std::uint32_t attempt);

  ckpt::Fs& fs_;
  std::shared_ptr<MetricsFile> metrics_;
  std::shared_ptr<EventFile> board_;    ///< null: not configured
  std::shared_ptr<StatusFile> status_;  ///< null: not configured
  std::string run_dir_, board_folder_;
  ckpt::RunGuard locks_;
  std::unique_ptr<BackgroundWriter> background_;  ///< declared last, so destroyed first: it writes into the files above
};

}  // namespace titan::train
