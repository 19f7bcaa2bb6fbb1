#include "libtrain/engine/checkpoint/background_saver.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "libtrain/engine/model/runtime.h"
#include "libtrain/job/host/cores.h"
#include "libtrain/job/metrics/step_clock.h"

namespace titan::train {
namespace {

constexpr unsigned kCopies = 4;  // minimum number of threads that copy from a device to staging

}  // namespace

BackgroundSaver::~BackgroundSaver() {
  if (!busy()) return;
  source_->close();
  join();
}

void BackgroundSaver::join() {
  thread_.join();
  if (stager_.joinable()) stager_.join();
}

void BackgroundSaver::start(ckpt::Snapshot snapshot, const ShardedAdamW& optimizer, Clock::time_point due,
                            std::function<void(const std::string&)> on_begin) {
  if (busy()) throw std::logic_error("a save is under way");
  const auto begin = Clock::now();
  due_ = due;
  stall_seconds_ = std::chrono::duration<double>(begin - due).count();
  outcome_.reset();
  error_ = nullptr;
  done_ = false;
  snapshot_.emplace(std::move(snapshot));
  source_.emplace(optimizer, *snapshot_, staging_);
  snapshot_seconds_ = seconds_since(begin);
  stall_seconds_ += snapshot_seconds_;
  thread_ = std::thread([this, on_begin = std::move(on_begin)] {
    yield_cores_to_computing();  // the writing threads inherit it
    work(on_begin);
  });
  if (!options_.stages_ahead) return;
  stager_ = std::thread([this] {
    setup_thread();
    source_->stage_ahead(std::max(options_.threads, kCopies));
  });
}

void BackgroundSaver::work(const std::function<void(const std::string&)>& on_begin) {
  setup_thread();
  std::string temporary;
  try {
    const auto begun = [&](const std::string& tmp) {
      temporary = tmp;
      if (on_begin) on_begin(tmp);
    };
    const unsigned threads = writers_for(*snapshot_, options_.threads);
    auto report = checkpointer_.save_from(*options_.group, *snapshot_, *source_, threads, begun);
    outcome_.emplace(
        SaveOutcome{snapshot_->train.step, std::move(report), {snapshot_seconds_, 0, seconds_since(due_)}, false});
  } catch (...) {
    error_ = std::current_exception();
    // A rank is lost, so the save cannot be completed: its files are removed.
    if (!temporary.empty()) checkpointer_.abandon(temporary);
  }
  source_->close();
  done_ = true;
  done_.notify_all();
}

void BackgroundSaver::before_update() {
  if (!busy()) return;
  const auto begin = Clock::now();
  source_->before_update(options_.threads);
  stall_seconds_ += seconds_since(begin);
}

bool BackgroundSaver::done() const {
  if (!done_) return false;
  if (error_) std::rethrow_exception(error_);
  return true;
}

SaveOutcome BackgroundSaver::take() {
  done_.wait(false);
  join();
  source_.reset();
  snapshot_.reset();
  if (error_) std::rethrow_exception(error_);
  SaveOutcome outcome = std::move(*outcome_);
  outcome.times.stall = stall_seconds_;
  return outcome;
}

}  // namespace titan::train
