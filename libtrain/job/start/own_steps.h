#pragma once
// The steps of the run's own folder, and of its near folder (checkpoint.near), as a start looks at them. Each is judged
// when the decision needs it and not before: that takes a call per member file.
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ckpt/run/run_folder.h"
#include "libtrain/job/start/resume_point.h"

namespace titan::train {

/// The components that a resume needs and the checkpoint lacks, "a, b".
std::string components_missing(const ckpt::Manifest& manifest, const std::vector<std::string>& exclude);

/// A step that both folders have is the run folder's; it is read from the near one where that has the same id, and all
/// members. What the near folder alone has counts where the run folder has never had it, and no later start has saved
/// there without knowing of it.
class OwnSteps {
 public:
  /// `scan`: the run folder, by names alone. `request` and `damaged` outlive this. \error kFailed: the near folder
  /// cannot be listed
  static ckpt::Result<OwnSteps> open(ckpt::Fs& fs, ckpt::RunScan scan, const StartRequest& request,
                                     const std::set<std::uint64_t>& damaged);

  /// By name alone, unless all() was called.
  const ckpt::RunScan& names() const { return scan_; }
  const ckpt::RunScan& all();
  ckpt::ResumeChoice newest();
  /// The steps after `step`, judged.
  std::vector<const ckpt::StepEntry*> newer_than(std::uint64_t step);
  /// By identity, not by spelling: the same folder may be named in many ways.
  bool hold(const ckpt::Manifest& manifest);
  /// For messages.
  std::string list();

  /// Whether `path` lies in the near folder.
  bool is_near(const std::string& path) const { return !near_.empty() && path.starts_with(near_ + "/"); }
  bool is_near(const ckpt::StepEntry& entry) const { return is_near(entry.path); }
  /// Whether the run folder has the step.
  bool has_durable(std::uint64_t step) const { return !near_alone_.contains(step); }
  bool is_durable(const ckpt::StepEntry& entry) const { return has_durable(entry.step); }

 private:
  OwnSteps(ckpt::Fs& fs, ckpt::RunScan scan, const StartRequest& request, const std::set<std::uint64_t>& damaged)
      : fs_(fs), scan_(std::move(scan)), request_(request), damaged_(damaged) {}
  ckpt::Status add_near();
  void judge(ckpt::StepEntry& entry);
  void judge_durable(ckpt::StepEntry& entry) const;
  void judge_near(ckpt::StepEntry& entry);
  void prefer_near(ckpt::StepEntry& entry) const;
  void look(ckpt::StepEntry& entry) const;
  std::uint32_t attempt_of(const ckpt::StepEntry& entry) const;

  ckpt::Fs& fs_;
  ckpt::RunScan scan_;
  const StartRequest& request_;
  const std::set<std::uint64_t>& damaged_;
  std::string near_;                             ///< the near folder; empty: there is none
  std::map<std::uint64_t, std::string> copies_;  ///< steps of the near folder that the run folder has, too
  std::set<std::uint64_t> near_alone_;           ///< those that it has not
};

}  // namespace titan::train
