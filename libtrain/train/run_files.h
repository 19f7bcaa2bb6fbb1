#pragma once
// What rank 0 keeps open in a run folder: the lock with its heartbeat, metrics.jsonl, config.toml.
#include <memory>
#include <string>

#include "ckpt/base/fs.h"
#include "ckpt/io/open_run.h"
#include "ckpt/model/train_state.h"
#include "libtrain/metrics/metrics_file.h"
#include "recipe/keys/config.h"

namespace titan::train {

class RunFiles {
 public:
  /// ckpt::open_run; its warnings are logged.
  static ckpt::Result<std::unique_ptr<RunFiles>> open(ckpt::Fs& fs, const recipe::Config& config,
                                                      const std::string& checkpoint_dir);

  /// Writes config.toml and opens metrics.jsonl behind `step`.
  ckpt::Status start(const recipe::Config& config, std::uint64_t step, const ckpt::Attempt& attempt,
                     const std::string& resumed_from);
  /// The run goes back to `step`: lines of later ones leave metrics.jsonl as at a resume.
  ckpt::Status back_to(std::uint64_t step, std::uint32_t attempt);
  /// Looks at the locks anew; from any thread. \error kLocked once another process has taken the folder over: nothing
  /// more may be written into it
  ckpt::Status still_ours() const { return locks_.still_ours(); }
  /// kLocked once a heartbeat has found that; reads nothing.
  ckpt::Status lost() const { return locks_.lost(); }
  /// By which others see that they have the same folder of steps before them.
  std::string mark() const { return locks_.mark(); }
  ckpt::Status close();

  std::unique_ptr<MetricsFile> metrics;

 private:
  explicit RunFiles(ckpt::Fs& fs) : fs_(fs) {}

  ckpt::Fs& fs_;
  std::string run_dir_;
  ckpt::RunGuard locks_;
};

}  // namespace titan::train
