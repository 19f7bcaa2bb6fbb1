#include "libtrain/job/start/own_steps.h"

#include <algorithm>

#include "ckpt/format/member_names.h"
#include "ckpt/read/reader.h"
#include "ckpt/run/near_folder.h"
#include "ckpt/run/run_check.h"

namespace titan::train {

using ckpt::Result;
using ckpt::Status;

Result<OwnSteps> OwnSteps::open(ckpt::Fs& fs, ckpt::RunScan scan, const StartRequest& request,
                                const std::set<std::uint64_t>& damaged) {
  OwnSteps own(fs, std::move(scan), request, damaged);
  if (!request.near_root.empty())
    TITAN_RETURN_IF_ERROR(
        own.add_near().wrapped("the steps in checkpoint.near = " + request.near_root + " cannot be looked at"));
  return own;
}

Status OwnSteps::add_near() {
  TITAN_ASSIGN_OR_RETURN(near_, ckpt::find_near(fs_, request_.checkpoint_dir, request_.near_root));
  if (near_.empty()) return ckpt::ok_status();
  TITAN_ASSIGN_OR_RETURN(const ckpt::RunScan near, ckpt::list_steps(fs_, near_));
  for (const ckpt::StepEntry& entry : near.steps) {
    if (request_.near_lost.contains(entry.step)) continue;
    const bool durable = std::ranges::find(scan_.steps, entry.step, &ckpt::StepEntry::step) != scan_.steps.end();
    if (durable) {
      copies_[entry.step] = entry.path;
    } else if (!ckpt::was_durable(fs_, entry.path)) {  // otherwise it was deleted from the run folder, and is ignored
      near_alone_.insert(entry.step);
      scan_.steps.push_back(entry);
    }
  }
  std::ranges::sort(scan_.steps, std::greater<>(), &ckpt::StepEntry::step);
  return ckpt::ok_status();
}

const ckpt::RunScan& OwnSteps::all() {
  for (ckpt::StepEntry& entry : scan_.steps) judge(entry);
  return scan_;
}

ckpt::ResumeChoice OwnSteps::newest() {
  return ckpt::select_resume(scan_, [this](ckpt::StepEntry& entry) { judge(entry); });
}

std::vector<const ckpt::StepEntry*> OwnSteps::newer_than(std::uint64_t step) {
  std::vector<const ckpt::StepEntry*> newer;
  for (ckpt::StepEntry& entry : scan_.steps) {
    if (entry.step <= step) continue;
    judge(entry);
    newer.push_back(&entry);
  }
  return newer;
}

bool OwnSteps::contains(const ckpt::Manifest& manifest) {
  return std::any_of(scan_.steps.begin(), scan_.steps.end(), [&](ckpt::StepEntry& entry) {
    if (entry.step != manifest.step) return false;
    judge(entry);
    return entry.manifest && entry.manifest->id == manifest.id;
  });
}

std::string OwnSteps::list() {
  std::string text;
  for (const ckpt::StepEntry& entry : all().steps) {
    if (!text.empty()) text += ", ";
    text += std::to_string(entry.step) + (entry.validity.ok() ? "" : " (invalid)");
  }
  return text.empty() ? "none" : text;
}

void OwnSteps::judge(ckpt::StepEntry& entry) {
  if (entry.judged) return;
  if (near_alone_.contains(entry.step)) return judge_near(entry);
  judge_durable(entry);
  if (copies_.contains(entry.step)) prefer_near(entry);
}

void OwnSteps::check_step(ckpt::StepEntry& entry) const {
  ckpt::judge_step(fs_, entry, request_.check_depth);
  // A component that may be absent does not make a step incomplete.
  if (entry.validity.ok() && entry.manifest)
    entry.full = ckpt::missing_components(*entry.manifest, request_.exclude).empty();
}

void OwnSteps::judge_durable(ckpt::StepEntry& entry) const {
  if (request_.unreadable.count(entry.step) != 0) {
    entry.judged = true;
    entry.validity = ckpt::corrupt("the store cannot give it back (checkpoint.on_read_error)");
    return;
  }
  check_step(entry);
  if (damaged_.count(entry.step) != 0) entry.validity = ckpt::corrupt("damage found while loading");
}

// The number of the start that saved the step; 0 if not known.
std::uint32_t OwnSteps::attempt_of(const ckpt::StepEntry& entry) const {
  if (!entry.manifest) return 0;
  const auto state = ckpt::CheckpointReader::known(fs_, entry.path, *entry.manifest).train_state();
  return state.ok() && !state->attempts.empty() ? state->attempts.back().number : 0;
}

void OwnSteps::judge_near(ckpt::StepEntry& entry) {
  check_step(entry);
  if (!entry.validity.ok()) return;
  for (ckpt::StepEntry& durable : scan_.steps) {
    if (near_alone_.contains(durable.step)) continue;
    judge(durable);
    if (!durable.validity.ok()) continue;
    const std::uint32_t here = attempt_of(entry), there = attempt_of(durable);
    if (here < there)
      entry.validity =
          ckpt::corrupt(entry.path + " is of start " + std::to_string(here) + " of the run, and " + durable.path +
                        " of start " + std::to_string(there) + ", which continued without it");
    return;
  }
}

// The near copy has the same bytes, and may be the only undamaged one.
void OwnSteps::prefer_near(ckpt::StepEntry& entry) const {
  ckpt::StepEntry copy;
  copy.step = entry.step;
  copy.path = copies_.at(entry.step);
  check_step(copy);
  if (!copy.validity.ok() || !copy.manifest) return;
  std::optional<ckpt::Digest> id;
  if (entry.manifest) id = entry.manifest->id;
  if (!id)
    if (const auto manifest = ckpt::read_manifest(fs_, entry.path); manifest.ok()) id = manifest->id;
  if (id != copy.manifest->id) return;
  copy.pinned = entry.pinned;
  entry = std::move(copy);
}

}  // namespace titan::train
