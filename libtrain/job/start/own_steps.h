#pragma once
// The steps of the run folder and of the near folder (checkpoint.near), for the decision where to start. A step is
// checked only if the decision depends on it, since a check takes a system call per member file.
#include <map>
#include <set>
#include <string>
#include <vector>

#include "ckpt/run/run_folder.h"
#include "libtrain/job/start/resume_point.h"

namespace titan::train {

/// A step in both folders counts as the run folder's; it is read from the near folder if the near step has the same id
/// and all members. Ignored near steps are those that were deleted from the run folder, those from before a start that
/// ran without `checkpoint.near` and saved in the run folder, and those in StartRequest::near_lost.
class OwnSteps {
 public:
  /// `scan`: the steps in the run folder, by name only. `request` and `damaged` must outlive the object. \error
  /// kFailed: the near folder cannot be listed
  static ckpt::Result<OwnSteps> open(ckpt::Fs& fs, ckpt::RunScan scan, const StartRequest& request,
                                     const std::set<std::uint64_t>& damaged);

  /// The steps, known by name only unless all() was called.
  const ckpt::RunScan& names() const { return scan_; }
  const ckpt::RunScan& all();
  ckpt::ResumeChoice newest();
  /// The steps after `step`, checked.
  std::vector<const ckpt::StepEntry*> newer_than(std::uint64_t step);
  /// Whether a step has this manifest. Compares ids, not paths, since a folder may have many paths.
  bool contains(const ckpt::Manifest& manifest);
  /// The steps as text, for messages.
  std::string list();

  /// Whether `path` is in the near folder.
  bool is_near(const std::string& path) const { return !near_.empty() && path.starts_with(near_ + "/"); }
  bool is_near(const ckpt::StepEntry& entry) const { return is_near(entry.path); }
  /// Whether the step is in the run folder.
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
  void check_step(ckpt::StepEntry& entry) const;
  std::uint32_t attempt_of(const ckpt::StepEntry& entry) const;

  ckpt::Fs& fs_;
  ckpt::RunScan scan_;
  const StartRequest& request_;
  const std::set<std::uint64_t>& damaged_;
  std::string near_;                             ///< the near folder; empty: there is none
  std::map<std::uint64_t, std::string> copies_;  ///< steps in both folders -> their paths in the near folder
  std::set<std::uint64_t> near_alone_;           ///< steps that are only in the near folder
};

}  // namespace titan::train
