#pragma once
// What rank 0 keeps open in a run folder: the lock with its heartbeat, metrics.jsonl, config.toml.
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "ckpt/base/fs.h"
#include "ckpt/io/open_run.h"
#include "ckpt/model/schedule.h"
#include "libtrain/config/config.h"
#include "libtrain/metrics/metrics.h"

namespace titan::train {

class RunFiles {
 public:
  /// ckpt::open_run; its warnings are logged. From then on the heartbeat runs.
  static ckpt::Result<std::unique_ptr<RunFiles>> open(ckpt::Fs& fs, const Config& config, const std::string& checkpoint_dir);
  ~RunFiles();

  /// Writes config.toml and opens metrics.jsonl behind `step`.
  ckpt::Status start(const Config& config, std::uint64_t step, const ckpt::Attempt& attempt, const std::string& resumed_from);
  /// Looks at the locks anew; from any thread. \error kLocked once another process has taken the folder over: nothing more may be written into it
  ckpt::Status still_ours();
  ckpt::Status close();

  std::unique_ptr<MetricsFile> metrics;

 private:
  RunFiles() = default;
  void beat();

  std::string run_dir_;
  ckpt::RunGuard locks_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool closing_ = false;
  ckpt::Status lost_;
  std::thread heartbeat_;
};

}  // namespace titan::train
