#include "libtrain/job/control/wait_guard.h"

#include <list>
#include <thread>
#include <utility>

#include "ckpt/base/mutex.h"

namespace titan::train {

struct WaitGuard {
  ckpt::Mutex mutex;
  std::list<GuardedWait*> waits TITAN_GUARDED_BY(mutex);

  void work() {
    while (true) {
      std::this_thread::sleep_for(std::chrono::milliseconds(500));
      const ckpt::MutexLock lock(mutex);
      for (GuardedWait* wait : waits) wait->look(RunningClock::now());
    }
  }
};

namespace {

WaitGuard* begin_to_guard() {
  WaitGuard* const all = new WaitGuard;  // never freed: the thread ends with the process
  std::thread([all] { all->work(); }).detach();
  return all;
}

WaitGuard& guard() {
  static WaitGuard* const all = begin_to_guard();
  return *all;
}

}  // namespace

GuardedWait::GuardedWait(std::chrono::milliseconds patience, std::function<bool()> lost, std::function<void()> abort)
    : deadline_(RunningClock::now() + patience), lost_(std::move(lost)), abort_(std::move(abort)) {
  WaitGuard& all = guard();
  const ckpt::MutexLock lock(all.mutex);
  all.waits.push_back(this);
}

GuardedWait::~GuardedWait() {
  WaitGuard& all = guard();
  const ckpt::MutexLock lock(all.mutex);
  all.waits.remove(this);
}

void GuardedWait::look(RunningClock::time_point now) {
  if (given_up_ == GivenUp::kNo && lost_ && lost_()) given_up_ = GivenUp::kLostRank;
  if (given_up_ == GivenUp::kNo && now >= deadline_) given_up_ = GivenUp::kTimedOut;
  if (given_up_ != GivenUp::kNo) abort_();
}

GuardedWait::GivenUp GuardedWait::given_up() const {
  const ckpt::MutexLock lock(guard().mutex);
  return given_up_;
}

}  // namespace titan::train
