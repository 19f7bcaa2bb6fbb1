#include "ckpt/base/helpers.h"

#include <atomic>
#include <new>
#include <utility>

namespace titan::ckpt {
namespace {

std::atomic<int> allowed = -1;  // threads that may still start; negative: no limit

bool is_allowed() {
  int left = allowed.load();
  while (left > 0 && !allowed.compare_exchange_weak(left, left - 1)) {}
  return left != 0;
}

}  // namespace

Status status_of(const std::exception& error) {
  // A text short enough to need no allocation.
  return failed(dynamic_cast<const std::bad_alloc*>(&error) != nullptr ? "out of memory" : error.what());
}

bool Helpers::start(std::function<void()> work) noexcept {
  if (!is_allowed()) return false;
  try {
    threads_.reserve(threads_.size() + 1);  // later, with the thread running, nothing may throw
    threads_.emplace_back(std::move(work));
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

void Helpers::join() {
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void Helpers::allow_for_test(int count) { allowed = count; }

}  // namespace titan::ckpt
