#include "libtrain/job/metrics/background_writer.h"

#include <algorithm>
#include <cerrno>
#include <deque>
#include <exception>
#include <thread>
#include <utility>

#include "ckpt/base/mutex.h"
#include "libtrain/job/metrics/log.h"

namespace titan::train {
namespace {

using Clock = std::chrono::steady_clock;
using ckpt::MutexLock;
using ckpt::Status;

constexpr std::chrono::seconds kGoodbye{2};

}  // namespace

/// What the thread and its callers share, under one lock. It has many members because one attempt to write may change
/// the queue, its size, the counts of attempts and of lost jobs, the last error and the time of the next attempt.
struct BackgroundWriter::State {
  struct Waiting {
    std::uint64_t number = 0;
    Keep keep = Keep::kAlways;
    std::size_t bytes = 0;
    Job job;
  };

  explicit State(Options o) : options(std::move(o)) {}

  const Options options;
  ckpt::Mutex mutex;
  ckpt::Condition changed;
  std::deque<Waiting> waiting TITAN_GUARDED_BY(mutex);  // the first job may be in progress
  std::size_t bytes TITAN_GUARDED_BY(mutex) = 0;
  std::size_t dropped TITAN_GUARDED_BY(mutex) = 0;       // jobs dropped since the store last accepted one
  std::uint64_t number TITAN_GUARDED_BY(mutex) = 0;      // number of the newest job
  std::uint64_t tries TITAN_GUARDED_BY(mutex) = 0;       // attempts that have begun
  std::uint64_t failed_try TITAN_GUARDED_BY(mutex) = 0;  // number of the last attempt that failed
  Status failure TITAN_GUARDED_BY(mutex);                // the error of that attempt
  Clock::time_point again TITAN_GUARDED_BY(mutex){};
  bool busy TITAN_GUARDED_BY(mutex) = false;
  bool refused TITAN_GUARDED_BY(mutex) = false;
  bool stop TITAN_GUARDED_BY(mutex) = false, left TITAN_GUARDED_BY(mutex) = false;
  bool ended TITAN_GUARDED_BY(mutex) = false;

  void work() {
    MutexLock lock(mutex);
    while (true) {
      while (!stop && (waiting.empty() || (refused && Clock::now() < again))) changed.wait(lock);
      if (waiting.empty() || left || (stop && refused)) break;
      const Job job = begin_try();
      lock.unlock();
      const Status status = outcome_of(job);
      lock.lock();
      const std::string line = end_try(job, status);
      if (line.empty() || !options.say) continue;
      lock.unlock();
      options.say(line);
      lock.lock();
    }
    ended = true;
    changed.notify_all();
  }

  Job begin_try() TITAN_REQUIRES(mutex) {
    ++tries;
    busy = true;
    return std::move(waiting.front().job);
  }

  static Status outcome_of(const Job& job) {
    try {
      return job();
    } catch (const std::exception& error) {
      return ckpt::failed(error.what());
    }
  }

  /// Ends an attempt; returns a message to report.
  std::string end_try(const Job& job, const Status& status) TITAN_REQUIRES(mutex) {
    busy = false;
    std::string line;
    if (status.ok()) {
      bytes -= waiting.front().bytes;
      waiting.pop_front();
      if (std::exchange(refused, false)) {
        line = options.what + " is written again";
        if (dropped > 0) line += "; " + std::to_string(dropped) + " of the oldest entries had no room and are lost";
        dropped = 0;
      }
    } else {
      waiting.front().job = job;
      failed_try = tries;
      failure = status;
      again = Clock::now() + options.again;
      if (!std::exchange(refused, true))
        line = options.what + " cannot be written, and waits in memory: " + log_text(status);
    }
    changed.notify_all();
    return line;
  }

  bool has(std::uint64_t wanted) const TITAN_REQUIRES(mutex) {
    return std::ranges::any_of(waiting, [&](const Waiting& one) { return one.number == wanted; });
  }

  /// Removes the job, unless it is being written.
  void take_back(std::uint64_t unwanted) TITAN_REQUIRES(mutex) {
    const auto begin = waiting.begin() + (busy ? 1 : 0);
    waiting.erase(std::remove_if(begin, waiting.end(), [&](const Waiting& one) { return one.number == unwanted; }),
                  waiting.end());
  }

  /// Drops the oldest droppable jobs until the rest fits.
  void make_room() TITAN_REQUIRES(mutex) {
    const auto may_go = [](const Waiting& job) { return job.keep == Keep::kWhileThereIsRoom; };
    auto from = waiting.begin() + (busy ? 1 : 0);
    while (bytes > options.limit) {
      from = std::find_if(from, waiting.end(), may_go);
      if (from == waiting.end()) return;
      bytes -= from->bytes;
      ++dropped;
      from = waiting.erase(from);
    }
  }
};

BackgroundWriter::BackgroundWriter(Options options) : state_(std::make_shared<State>(std::move(options))) {
  std::thread([state = state_] { state->work(); }).detach();
}

BackgroundWriter::~BackgroundWriter() {
  MutexLock lock(state_->mutex);
  state_->stop = true;
  state_->changed.notify_all();
  const auto deadline = Clock::now() + kGoodbye;
  while (!state_->ended && !state_->left)
    state_->left = state_->changed.wait_until(lock, deadline) == std::cv_status::timeout;
}

void BackgroundWriter::add(Keep keep, std::size_t bytes, Job job) {
  const MutexLock lock(state_->mutex);
  state_->waiting.push_back({++state_->number, keep, bytes, std::move(job)});
  state_->bytes += bytes;
  state_->make_room();
  state_->changed.notify_all();
}

Status BackgroundWriter::sync(Job job, std::chrono::milliseconds timeout) {
  const auto deadline = Clock::now() + timeout;
  MutexLock lock(state_->mutex);
  const std::uint64_t number = ++state_->number, tries = state_->tries;
  state_->waiting.push_back({number, Keep::kAlways, 0, std::move(job)});
  state_->again = {};
  state_->changed.notify_all();
  bool late = false;
  while (state_->has(number) && state_->failed_try <= tries && !late)
    late = state_->changed.wait_until(lock, deadline) == std::cv_status::timeout;
  if (!state_->has(number)) return ckpt::ok_status();
  state_->take_back(number);
  if (state_->failed_try > tries) return state_->failure;
  Status status =
      ckpt::failed(state_->options.what + ": the store has not answered for " +
                   std::to_string(std::chrono::duration_cast<std::chrono::seconds>(timeout).count()) + " s");
  status.error = ETIMEDOUT;
  return status;
}

}  // namespace titan::train
