#include "tests/crash/world.h"

#include <array>
#include <unordered_map>

#include "ckpt/base/files.h"
#include "ckpt/base/path.h"
#include "ckpt/format/member_names.h"
#include "ckpt/ops/thin.h"
#include "ckpt/plan/file_makers.h"
#include "ckpt/read/reader.h"
#include "ckpt/read/snapshot.h"
#include "ckpt/read/verifier.h"
#include "ckpt/run/near_folder.h"
#include "ckpt/run/open_run.h"
#include "ckpt/run/retention.h"
#include "ckpt/save/commit.h"
#include "ckpt/save/publish.h"
#include "ckpt/save/receipt.h"
#include "ckpt/save/step_copy.h"
#include "ckpt/save/writer.h"
#include "libtrain/job/start/resume_point.h"
#include "tests/support/checkpoints.h"

namespace titan::crash {

using ckpt::Code;
using ckpt::ok_status;
using ckpt::Result;
using ckpt::Status;

ckpt::Snapshot snapshot_of(std::uint64_t step, ckpt::Mesh mesh, ckpt::Codec codec, Files files) {
  // Two leaves for each of two data-parallel ranks on either stage.
  ckpt::Snapshot snapshot = ckpt::testing::make_snapshot({{"a", {300}}, {"b", {20, 10}}}, mesh, 100, step);
  snapshot.codec = codec;
  if (files == Files::kParity) snapshot.parity = 1;
  if (files == Files::kShared) {
    const std::vector<std::string> hosts(mesh.world(), "one");
    snapshot.makers = ckpt::file_makers(hosts, 2);
  }
  return snapshot;
}

ckpt::Digest id_of(std::uint64_t step) {
  static std::map<std::uint64_t, ckpt::Digest> known;
  const auto found = known.find(step);
  if (found != known.end()) return found->second;
  CrashFs fs{Disk()};
  if (!save_step(fs, "/x", step, {1, 1, 1}, "id").ok()) std::abort();
  return known[step] = look_at(fs, "/x/" + ckpt::step_name(step)).id;
}

ckpt::Digest thin_id_of(std::uint64_t step) {
  static std::map<std::uint64_t, ckpt::Digest> known;
  const auto found = known.find(step);
  if (found != known.end()) return found->second;
  CrashFs fs{Disk()};
  const std::string path = "/x/" + ckpt::step_name(step);
  if (!save_step(fs, "/x", step, {1, 1, 1}, "id").ok() || !ckpt::thin_step(fs, path, {}).ok()) std::abort();
  return known[step] = look_at(fs, path).id;
}

std::string step_path(std::uint64_t step) { return ckpt::join_path(kSteps, ckpt::step_name(step)); }
std::string source_path(std::uint64_t step) { return "/src/" + ckpt::step_name(step); }

namespace {

// Each rank is a host of its own, so that nobody syncs what another wrote, apart from ranks that share files.
Result<ckpt::Published> save_all_ranks(CrashFs& fs, const std::string& tmp, const std::string& folder,
                                       const ckpt::Snapshot& snapshot, const ckpt::CommitOptions& options = {},
                                       const std::function<Status()>& halfway = {}) {
  ckpt::testing::PatternSource source(snapshot, snapshot.train.step);
  const auto as = [&](std::uint32_t rank, bool writes) -> Status {
    fs.act_as(0);
    if (halfway && writes && rank == snapshot.mesh.world() / 2) TITAN_RETURN_IF_ERROR(halfway());
    fs.act_as(ckpt::maker_of(snapshot, rank));
    return ok_status();
  };
  const auto receipts = ckpt::testing::write_as_every_rank(fs, tmp, snapshot, source, as);
  fs.act_as(0);
  TITAN_RETURN_IF_ERROR(receipts.status());
  return ckpt::commit_save(fs, folder, tmp, snapshot, *receipts, options);
}

}  // namespace

Status save_step(CrashFs& fs, const std::string& folder, std::uint64_t step, ckpt::Mesh mesh,
                 const std::string& save_id, ckpt::Codec codec, Files files) {
  const ckpt::Snapshot snapshot = snapshot_of(step, mesh, codec, files);
  TITAN_RETURN_IF_ERROR(ckpt::make_dirs(fs, folder));
  TITAN_ASSIGN_OR_RETURN(const std::string tmp, ckpt::begin_save(fs, folder, snapshot, save_id));
  const auto published = save_all_ranks(fs, tmp, folder, snapshot);
  if (!published.ok()) ckpt::abandon_save(fs, tmp);
  return published.status();
}

Verdict look_at(CrashFs& fs, const std::string& path) {
  static std::unordered_map<std::uint64_t, Verdict> known;
  const Inode inode = fs.disk().find(path);
  if (inode == kNoInode) return {false, {}, 0, path + " is not there"};
  const std::uint64_t key = fs.disk().hash(inode);
  if (const auto found = known.find(key); found != known.end()) return found->second;
  Verdict verdict;
  const auto report = ckpt::verify_checkpoint(fs, path, {}, {}, 1);
  if (!report.ok()) {
    verdict.problem = report.status().message;
  } else if (!report->damage.empty()) {
    verdict.problem = path + ": damaged " + report->damage.front().unit + " of " + report->damage.front().file;
  } else if (const auto reader = ckpt::CheckpointReader::open(fs, path); !reader.ok()) {
    verdict.problem = reader.status().message;
  } else {
    verdict.whole = true;
    verdict.id = reader->manifest().id;
    verdict.step = reader->manifest().step;
  }
  return known[key] = verdict;
}

// The copy of a near step to the run folder, by one thread.
static Status copy_near(CrashFs& fs, const LiveRun& run, const std::string& path) {
  ckpt::StepCopyOptions how;
  how.commit.still_ours = [&run] { return run.locks.still_ours(); };
  how.threads = 1;
  TITAN_ASSIGN_OR_RETURN(const ckpt::Published copied, ckpt::copy_step(fs, path, kSteps, how));
  if (!copied.warnings.empty()) return ckpt::failed("warning: " + copied.warnings.front());
  return ckpt::note_durable(fs, path);
}

static Result<LiveRun> copied(CrashFs& fs, LiveRun run, const std::string& path) {
  TITAN_RETURN_IF_ERROR(copy_near(fs, run, path));
  return run;
}

Status go_on_near(CrashFs& fs, LiveRun& run, std::uint64_t step, ckpt::Mesh mesh, bool wiped,
                  const std::function<void()>& announced) {
  TITAN_ASSIGN_OR_RETURN(const std::string near, ckpt::open_near(fs, kSteps, kNear));
  const ckpt::Snapshot snapshot = snapshot_of(step, mesh, ckpt::Codec::kRaw, Files::kOwn);
  TITAN_ASSIGN_OR_RETURN(const std::string tmp,
                         ckpt::begin_save(fs, near, snapshot, "0a1b2c3d4e6" + std::to_string(mesh.world())));
  const auto still_ours = [&run] { return run.locks.still_ours(); };
  TITAN_RETURN_IF_ERROR(save_all_ranks(fs, tmp, near, snapshot, {false, still_ours}).status());
  if (wiped) return ckpt::remove_tree(fs, kNear);
  TITAN_RETURN_IF_ERROR(copy_near(fs, run, ckpt::join_path(near, ckpt::step_name(step))));
  if (announced) announced();
  return ok_status();
}

Result<LiveRun> start_run(CrashFs& fs) {
  LiveRun run;
  TITAN_ASSIGN_OR_RETURN(ckpt::OpenRun open, ckpt::open_run(fs, kRun, kSteps));
  for (const std::string& warning : open.warnings) return ckpt::failed("warning: " + warning);
  run.locks = std::move(open.locks);
  while (true) {
    train::StartRequest request;
    request.checkpoint_dir = kSteps;
    request.near_root = kNear;
    request.near_lost = run.near_lost;
    TITAN_ASSIGN_OR_RETURN(const train::StartDecision start, train::decide_start(fs, request, run.damaged));
    run.fresh = start.mode == train::StartMode::kFresh;
    if (run.fresh) return run;
    const Verdict verdict = look_at(fs, start.path);
    run.step = start.step;
    run.id = verdict.id;
    if (verdict.whole) return start.durable ? Result<LiveRun>(std::move(run)) : copied(fs, std::move(run), start.path);
    if (start.near && run.near_lost.insert(start.step).second) continue;
    if (!start.may_fall_back || !run.damaged.insert(start.step).second) return ckpt::corrupt(verdict.problem);
  }
}

Status go_on(CrashFs& fs, LiveRun& run, std::uint64_t step, ckpt::Mesh mesh, std::uint64_t keep,
             const std::function<void()>& announced, ckpt::Codec codec, Files files) {
  const ckpt::Snapshot snapshot = snapshot_of(step, mesh, codec, files);
  TITAN_ASSIGN_OR_RETURN(const std::string tmp,
                         ckpt::begin_save(fs, kSteps, snapshot, "0a1b2c3d4e5" + std::to_string(mesh.world())));
  const auto still_ours = [&run] { return run.locks.still_ours(); };
  const auto published = save_all_ranks(fs, tmp, kSteps, snapshot, {run.damaged.count(step) != 0, still_ours});
  if (!published.ok()) {
    ckpt::abandon_save(fs, tmp);
    return published.status();
  }
  // Nothing but a refused creation of ours may go wrong behind the commit.
  if (!published->warnings.empty() && !fs.refuses()) return ckpt::failed("warning: " + published->warnings.front());
  run.damaged.erase(step);
  if (announced) announced();
  if (keep == 0) return ckpt::ok_status();
  Status failed;
  ckpt::Retention retention(
      fs, {kSteps,
           {keep},
           still_ours,
           [](const std::string&, const std::string&) {},
           [&failed](const std::string& problem) { failed = ckpt::failed("retention: " + problem); }});
  for (const std::uint64_t damaged : run.damaged) retention.judge(damaged, ckpt::Verdict::kDamaged);
  if (!run.fresh) retention.judge(run.step, ckpt::Verdict::kProved, run.id);
  retention.judge(step, published->read_whole ? ckpt::Verdict::kProved : ckpt::Verdict::kSaved, published->id);
  retention.pass();
  return failed;
}

Status go_on_in_background(CrashFs& fs, LiveRun& run, std::uint64_t given_up, std::uint64_t step, ckpt::Mesh mesh,
                           std::uint64_t keep, const std::function<void()>& announced) {
  const auto still_ours = [&run] { return run.locks.still_ours(); };
  const ckpt::CommitOptions options{false, still_ours};
  const ckpt::Snapshot lost = snapshot_of(given_up, mesh, ckpt::Codec::kRaw, Files::kShared);
  TITAN_ASSIGN_OR_RETURN(const std::string half, ckpt::begin_save(fs, kSteps, lost, "0a1b2c3d4e50"));
  const auto rank_lost = [] { return ckpt::failed("a rank is lost"); };
  if (save_all_ranks(fs, half, kSteps, lost, options, rank_lost).ok()) return ckpt::failed("it was not given up");
  ckpt::abandon_save(fs, half);

  const auto retention_passes = [&]() -> Status {
    Status failed;
    ckpt::Retention retention(
        fs, {kSteps,
             {keep},
             still_ours,
             [](const std::string&, const std::string&) {},
             [&failed](const std::string& problem) { failed = ckpt::failed("retention: " + problem); }});
    retention.judge(run.step, ckpt::Verdict::kProved, run.id);
    retention.pass();
    return failed;
  };
  const ckpt::Snapshot snapshot = snapshot_of(step, mesh, ckpt::Codec::kRaw, Files::kOwn);
  TITAN_ASSIGN_OR_RETURN(const std::string tmp, ckpt::begin_save(fs, kSteps, snapshot, "0a1b2c3d4e51"));
  TITAN_RETURN_IF_ERROR(save_all_ranks(fs, tmp, kSteps, snapshot, options, retention_passes).status());
  if (announced) announced();
  return ckpt::ok_status();
}

std::string saved_mark(std::uint64_t step) { return "saved step " + std::to_string(step); }

}  // namespace titan::crash
