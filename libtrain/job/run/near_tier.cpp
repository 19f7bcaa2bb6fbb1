#include "libtrain/job/run/near_tier.h"

#include <algorithm>
#include <utility>

#include "ckpt/base/fs.h"
#include "ckpt/base/path.h"
#include "ckpt/base/random_id.h"
#include "ckpt/format/member_names.h"
#include "ckpt/run/near_folder.h"
#include "ckpt/run/run_folder.h"
#include "ckpt/save/step_copy.h"
#include "libtrain/job/host/cores.h"
#include "libtrain/job/metrics/step_clock.h"

namespace titan::train {
namespace {

using ckpt::Code;
using ckpt::Status;

constexpr unsigned kLastRead = 2;  // failed reads after which a step counts as lost: a single one may be wrong

}  // namespace

NearTier::NearTier(ckpt::Fs& fs, Options options) : fs_(fs), options_(std::move(options)) {
  thread_ = std::thread([this] {
    yield_cores_to_computing();
    work();
  });
}

NearTier::~NearTier() {
  (void)stop_.request(ckpt::StopReason::kTerminate);
  {
    const ckpt::MutexLock lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

std::string NearTier::path_of(std::uint64_t step) const {
  return ckpt::join_path(options_.folder, ckpt::step_name(step));
}

void NearTier::add(std::uint64_t step) {
  const ckpt::MutexLock lock(mutex_);
  queue_.push_back(step);
  changed_.notify_all();
}

std::vector<Drained> NearTier::take() {
  const ckpt::MutexLock lock(mutex_);
  return std::exchange(drained_, {});
}

std::size_t NearTier::waiting() {
  const ckpt::MutexLock lock(mutex_);
  return queue_.size();
}

Status NearTier::refused() {
  const ckpt::MutexLock lock(mutex_);
  return refused_;
}

Status NearTier::wait(std::size_t most, std::chrono::milliseconds limit, std::chrono::milliseconds patience) {
  const Clock::time_point begin = Clock::now();
  ckpt::MutexLock lock(mutex_);
  hurry_ = true;
  changed_.notify_all();
  while (queue_.size() > most) {
    const auto passed = Clock::now() - begin;
    if (!refused_.ok() && passed >= patience) return refused_;
    if (passed >= limit)
      return ckpt::failed("step " + std::to_string(queue_.front()) + " is still being copied to " +
                          options_.checkpoint_dir + " after " +
                          std::to_string(std::chrono::duration_cast<std::chrono::seconds>(passed).count()) + " s");
    changed_.wait(lock);
  }
  return ckpt::ok_status();
}

ckpt::Result<ckpt::Published> NearTier::copy(std::uint64_t step) {
  ckpt::StepCopyOptions how;
  how.read_back = options_.read_back;
  how.commit = {options_.damaged.contains(step), options_.still_ours};
  how.cancel = ckpt::CancelToken(stop_);
  return ckpt::copy_step(fs_, path_of(step), options_.checkpoint_dir, how);
}

// Whether the near folder has lost the step, so that another attempt to copy it would fail, too.
bool NearTier::is_lost(std::uint64_t step, const Status& status) {
  if (status.code == Code::kNotFound)
    return fs_.stat(ckpt::join_path(path_of(step), ckpt::kManifestFile)).status().code == Code::kNotFound;
  return (status.code == Code::kCorrupt || status.code == Code::kMediaError) && ++unreadable_[step] >= kLastRead;
}

void NearTier::work() {
  std::chrono::milliseconds pause = options_.first_pause;
  ckpt::MutexLock lock(mutex_);
  while (!stopping_) {
    if (queue_.empty()) {
      changed_.wait(lock);
      continue;
    }
    const std::uint64_t step = queue_.front();
    const std::string name = "step " + std::to_string(step);
    under_way_ = true;
    lock.unlock();
    const Clock::time_point begin = Clock::now();
    const ckpt::Result<ckpt::Published> copied = copy(step);
    const bool lost = !copied.ok() && is_lost(step, copied.status());
    if (copied.ok()) {
      options_.damaged.erase(step);
      keep_only(step);
    }
    lock.lock();
    under_way_ = false;
    if (copied.ok() || lost) {
      if (copied.ok()) drained_.push_back({step, *copied, seconds_since(begin)});
      refused_ = ckpt::ok_status();
      pause = options_.first_pause;
      queue_.pop_front();
      changed_.notify_all();
      if (!lost) continue;
      lock.unlock();
      (void)fs_.rename_noreplace(path_of(step),
                                 ckpt::join_path(options_.folder, ckpt::damaged_name(step, ckpt::random_id())));
      options_.problem(
          name + " is lost: checkpoint.near has not kept it until it was copied: " + ckpt::one_line(copied.status()));
      lock.lock();
      continue;
    }
    if (stopping_) break;
    const bool told = !refused_.ok();
    refused_ = copied.status();
    changed_.notify_all();
    if (!told) {
      lock.unlock();
      options_.problem(name + " is only in " + options_.folder +
                       " so far, and its copy is tried again later: " + ckpt::one_line(copied.status()));
      lock.lock();
    }
    const Clock::time_point again = Clock::now() + pause;
    pause = std::min(2 * pause, options_.longest_pause);
    while (!stopping_ && !hurry_ && Clock::now() < again) (void)changed_.wait_until(lock, again);
    if (std::exchange(hurry_, false)) pause = options_.first_pause;
  }
}

// Deletes a step or a damaged step. A user's own files in it stay in the near folder, which a restart of the host may
// empty (tmpfs).
Status NearTier::drop(const std::string& name) {
  const auto remove = ckpt::is_damaged_name(name) ? ckpt::delete_damaged : ckpt::delete_step;
  std::string kept;
  Status status = remove(fs_, options_.folder, name, ckpt::random_id(), {}, &kept);
  if (!kept.empty()) options_.problem(name + " was removed from checkpoint.near; " + ckpt::kept_text(kept));
  return status;
}

// Called once the run folder has `step`: older steps in the near folder are no longer needed.
void NearTier::keep_only(std::uint64_t step) {
  Status noted = ckpt::note_durable(fs_, path_of(step));
  const auto scan = ckpt::list_steps(fs_, options_.folder);
  if (!scan.ok()) noted = scan.status();
  if (!noted.ok()) return options_.problem("checkpoint.near: " + ckpt::one_line(noted));
  const auto removed = [&](const Status& status) {
    if (!status.ok() && status.code != Code::kNotFound) options_.problem("checkpoint.near: " + ckpt::one_line(status));
  };
  for (const ckpt::StepEntry& entry : scan->steps)
    if (entry.step < step) removed(drop(ckpt::step_name(entry.step)));
  for (const std::string& name : scan->damaged) removed(drop(name));
}

void NearTier::make_room() {
  const auto scan = ckpt::list_steps(fs_, options_.folder);
  if (!scan.ok()) return;
  for (const ckpt::StepEntry& entry : scan->steps)
    if (ckpt::was_durable(fs_, entry.path)) (void)drop(ckpt::step_name(entry.step));
}

std::vector<std::uint64_t> NearTier::drop_older() {
  std::vector<std::uint64_t> dropped;
  {
    const ckpt::MutexLock lock(mutex_);
    const auto first = queue_.begin() + (under_way_ ? 1 : 0),
               last = queue_.end() - (under_way_ || queue_.empty() ? 0 : 1);
    dropped.assign(first, last);
    queue_.erase(first, last);
  }
  for (const std::uint64_t step : dropped) (void)drop(ckpt::step_name(step));
  return dropped;
}

void NearTier::clear() {
  make_room();
  const auto scan = ckpt::list_steps(fs_, options_.folder);
  if (!scan.ok() || !scan->steps.empty()) return;
  for (const std::string& kept : ckpt::remove_near(fs_, options_.folder))
    options_.problem("a step was removed from checkpoint.near; " + ckpt::kept_text(kept));
}

}  // namespace titan::train
