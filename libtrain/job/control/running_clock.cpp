#include "libtrain/job/control/running_clock.h"

#include <thread>

#include "ckpt/base/mutex.h"

namespace titan::train {

GapFilter::Time GapFilter::at(Time now) {
  if (now - seen_ > kGap) left_out_ += now - seen_ - kTick;
  seen_ = now;
  return now - left_out_;
}

namespace {

struct OwnTime {
  ckpt::Mutex mutex;
  GapFilter filter TITAN_GUARDED_BY(mutex){std::chrono::steady_clock::now()};

  GapFilter::Time now() {
    const ckpt::MutexLock lock(mutex);
    return filter.at(std::chrono::steady_clock::now());
  }
};

OwnTime* started() {
  OwnTime* const time = new OwnTime;  // never freed: the thread ends with the process
  std::thread([time] {
    while (true) {
      std::this_thread::sleep_for(GapFilter::kTick);
      time->now();
    }
  }).detach();
  return time;
}

}  // namespace

RunningClock::time_point RunningClock::now() {
  static OwnTime* const time = started();
  return time->now();
}

}  // namespace titan::train
