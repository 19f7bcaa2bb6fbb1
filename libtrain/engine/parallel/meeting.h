#pragma once
// What a rank is doing while it looks for its peers, and how one that leaves before they met tells the others why.
#include <chrono>
#include <memory>
#include <mutex>
#include <string>

#include <torch/csrc/distributed/c10d/Store.hpp>

#include "libtrain/job/talk/heartbeat.h"

namespace titan::train {

/// Shared by the thread that connects and the one that waits for it; thread-safe.
class Meeting {
 public:
  /// `doing` completes "rank 1 was still ..."; `why` says what has not worked so far.
  void now(const std::string& doing, const std::string& why = "");
  std::string text() const;
  void watch(std::shared_ptr<Heartbeat> heartbeat);
  std::shared_ptr<Heartbeat> heartbeat() const;

 private:
  mutable std::mutex mutex_;
  std::string doing_ = "beginning", why_;
  std::shared_ptr<Heartbeat> heartbeat_;
};

/// Leaves word for the others why this rank ends its start: a sentence that names it. The first word stands. Throws
/// nothing.
void leave_word(c10d::Store& store, const std::string& word);
/// The word of a rank that left, as a sentence; empty when there is none. Throws when the store is lost.
std::string word_of_leaver(c10d::Store& store);

}  // namespace titan::train
