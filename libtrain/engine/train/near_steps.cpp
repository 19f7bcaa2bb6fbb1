#include "libtrain/engine/train/near_steps.h"

#include <algorithm>

#include "ckpt/base/files.h"
#include "ckpt/base/random_id.h"
#include "ckpt/format/member_names.h"
#include "ckpt/run/near_folder.h"
#include "ckpt/run/run_folder.h"
#include "ckpt/save/step_copy.h"
#include "libtrain/engine/train/saves.h"
#include "libtrain/job/control/message.h"
#include "libtrain/job/metrics/log.h"

namespace titan::train {
namespace {

using ckpt::Status;

constexpr std::uint64_t kSeenBytes = 64;

Status make_seen(ckpt::Fs& fs, const std::string& folder, const std::string& word) {
  const std::string path = ckpt::join_path(folder, ckpt::kNearSeen);
  if (fs.stat(path).ok()) TITAN_RETURN_IF_ERROR(fs.remove_file(path));
  return ckpt::write_new_file(fs, path, std::as_bytes(std::span(word)));
}

// Checks that this rank sees in `folder` what rank 0 has written: on another host the same path may be another folder.
Status find_seen(RunState& run, const std::string& folder, const std::string& word) {
  const auto found = ckpt::read_file(run.fs, ckpt::join_path(folder, ckpt::kNearSeen), kSeenBytes);
  if (found.ok() && std::ranges::equal(*found, std::as_bytes(std::span(word)))) return ckpt::ok_status();
  return ckpt::unsupported("checkpoint.near = " + *run.config().checkpoint.near +
                           " is not one folder for all ranks: rank " + std::to_string(run.world.rank) +
                           " does not find there what rank 0 has written; a near " +
                           "folder of each host is not supported yet")
      .with_hint("name a folder that all hosts of the job share, or leave checkpoint.near out");
}

// Steps up to the one to resume from that the near folder has and the run folder lacks, oldest first.
std::vector<std::uint64_t> not_durable(RunState& run) {
  std::vector<std::uint64_t> steps;
  const auto near = ckpt::list_steps(run.fs, run.near_folder), own = ckpt::list_steps(run.fs, run.checkpoint_dir);
  if (!near.ok() || !own.ok()) return steps;
  const std::uint64_t last = run.start.decision.step;
  std::uint64_t newest = 0;
  for (const ckpt::StepEntry& entry : own->steps)
    if (entry.step <= last) newest = std::max(newest, entry.step);
  for (const ckpt::StepEntry& entry : near->steps)
    if (entry.step > newest && entry.step <= last && !run.lost.near.contains(entry.step) &&
        !ckpt::was_durable(run.fs, entry.path))
      steps.push_back(entry.step);
  std::sort(steps.begin(), steps.end());
  return steps;
}

}  // namespace

void open_near_folder(RunState& run) {
  const auto& root = run.config().checkpoint.near;
  if (!root) return;
  const std::string word = ckpt::random_id();
  std::string folder;
  run.on_root([&]() -> Status {
    TITAN_RETURN_IF_ERROR(ckpt::check_near(run.fs, *root, run.config().job.dump_folder, run.checkpoint_dir));
    TITAN_RETURN_IF_ERROR(ckpt::make_near(run.fs, *root));
    TITAN_ASSIGN_OR_RETURN(folder, ckpt::open_near(run.fs, run.checkpoint_dir, *root));
    return make_seen(run.fs, folder, word);
  });
  const std::string bytes =
      run.world.io->broadcast(run.root() ? MessageWriter().text(folder).text(word).take() : "", 0);
  MessageReader heard(bytes);
  folder = heard.text();
  check(agree(*run.world.io, find_seen(run, folder, heard.text())));
  run.near_folder = folder;
}

void begin_copies(RunState& run, const std::set<std::uint64_t>& damaged) {
  if (run.near_folder.empty()) return;
  NearTier::Options options;
  options.folder = run.near_folder;
  options.checkpoint_dir = run.checkpoint_dir;
  options.read_back = read_back_of(run.config().checkpoint.verify_after_write);
  options.damaged = damaged;
  options.still_ours = [&run] { return run.root_objects.files->still_ours(); };
  options.problem = log_warn;
  run.root_objects.near = std::make_unique<NearTier>(run.fs, std::move(options));
  for (const std::uint64_t step : not_durable(run)) run.root_objects.near->add(step);
}

void copy_to_run_folder(RunState& run) {
  const std::uint64_t step = run.start.decision.step;
  run.on_root([&]() -> Status {
    if (run.start.decision.durable) return ckpt::ok_status();
    log_info("step " + std::to_string(step) + " is copied from " + run.start.decision.path + " to " +
             run.checkpoint_dir);
    ckpt::StepCopyOptions how;
    how.read_back = read_back_of(run.config().checkpoint.verify_after_write);
    how.commit = {run.lost.damaged.contains(step), [&run] { return run.root_objects.files->still_ours(); }};
    how.cancel = run.inputs.stop;
    TITAN_RETURN_IF_ERROR(ckpt::copy_step(run.fs, run.start.decision.path, run.checkpoint_dir, how).status());
    return ckpt::note_durable(run.fs, run.start.decision.path);
  });
  run.lost.near.insert(step);
}

void remove_near_folder(const RunState& run) {
  if (!run.root() || run.near_folder.empty()) return;
  for (const std::string& kept : ckpt::remove_near(run.fs, run.near_folder))
    log_warn("a step was removed from checkpoint.near; " + ckpt::kept_text(kept));
}

std::string durable_path(const RunState& run) {
  const StartDecision& decision = run.start.decision;
  return decision.near ? ckpt::join_path(run.checkpoint_dir, ckpt::step_name(decision.step)) : decision.path;
}

}  // namespace titan::train
