#include "libtrain/engine/cuda/gpu_wait.h"

#include <deque>
#include <thread>
#include <utility>

#include <c10/cuda/CUDAStream.h>

#include "ckpt/base/mutex.h"
#include "libtrain/job/control/comm_error.h"
#include "libtrain/job/control/running_clock.h"

namespace titan::train {
namespace {

using Clock = RunningClock;  // does not count time in which this process is stopped

constexpr const char* kWhereToLook =
    "NCCL_DEBUG=INFO shows what NCCL does; comm.train_timeout_seconds is how long it may take; if this is the first "
    "step, try CUDA_MODULE_LOADING=EAGER";

WaitRules& rules() {
  static WaitRules chosen;
  return chosen;
}

/// Transfers that streams wait for. A transfer that never ends although all peers are alive would block the run
/// forever; only this class detects that.
class Transfers {
 public:
  void add(const std::string& group, std::function<void()> check) {
    Waiting waiting{{}, group, std::move(check)};
    waiting.over.record(c10::cuda::getCurrentCUDAStream());
    const ckpt::MutexLock lock(mutex_);
    while (!waiting_.empty() && waiting_.front().over.query()) {
      waiting_.pop_front();
      last_end_ = Clock::now();
    }
    if (waiting_.empty()) last_end_ = Clock::now();
    waiting_.push_back(std::move(waiting));
  }

  void check(std::chrono::milliseconds patience) {
    const ckpt::MutexLock lock(mutex_);
    if (std::erase_if(waiting_, [](const Waiting& waiting) { return waiting.over.query(); }) > 0)
      last_end_ = Clock::now();
    for (const Waiting& waiting : waiting_) waiting.check();
    if (waiting_.empty() || Clock::now() - last_end_ < patience) return;
    const auto most = std::chrono::duration_cast<std::chrono::seconds>(patience);
    throw CommError(ckpt::failed("no transfer between GPUs has come to its end for " + std::to_string(most.count()) +
                                 " s, though all ranks give signs of life; the first that is waited for is one of " +
                                 waiting_.front().group)
                        .with_hint(kWhereToLook));
  }

 private:
  struct Waiting {
    at::cuda::CUDAEvent over;
    std::string group;
    std::function<void()> check;
  };

  ckpt::Mutex mutex_;
  std::deque<Waiting> waiting_ TITAN_GUARDED_BY(mutex_);
  Clock::time_point last_end_ TITAN_GUARDED_BY(mutex_);
};

// Never destroyed: CUDA events cannot be destroyed after the driver, which ends first.
Transfers& transfers() {
  static Transfers& all = *new Transfers;
  return all;
}

void check_all() {
  const WaitRules& all = rules();
  if (all.check_peers) all.check_peers();
  transfers().check(all.patience ? all.patience() : kForEver);
}

}  // namespace

void set_wait_rules(WaitRules chosen) { rules() = std::move(chosen); }

void note_transfer(const std::string& group, std::function<void()> check) { transfers().add(group, std::move(check)); }

void wait_for_event(const at::cuda::CUDAEvent& event, std::chrono::microseconds spin) {
  constexpr auto kBetweenLooks = std::chrono::milliseconds(500);
  constexpr auto kNap = std::chrono::microseconds(50);
  const auto began = Clock::now();
  auto looked = began;
  while (!event.query()) {
    const auto now = Clock::now();
    if (now - looked >= kBetweenLooks) {
      check_all();
      looked = now;
    }
    if (now - began >= spin) std::this_thread::sleep_for(kNap);
  }
}

void wait_for_gpu() {
  at::cuda::CUDAEvent done;
  done.record(c10::cuda::getCurrentCUDAStream());
  wait_for_event(done);
}

}  // namespace titan::train
