#pragma once
// What a rank is doing while it connects to its peers, and how a rank that leaves before all are connected tells the
// others why.
#include <chrono>
#include <memory>
#include <mutex>
#include <string>

#include <torch/csrc/distributed/c10d/Store.hpp>

#include "libtrain/job/control/heartbeat.h"

namespace titan::train {

/// Shared by the thread that connects and the thread that waits for it; thread-safe.
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

/// Tells the other ranks why this rank gives up its start. `word` is a sentence that names the rank; only the first one
/// is kept. Does not throw.
void leave_word(c10d::Store& store, const std::string& word);
/// The sentence of a rank that left; empty if none left. Throws if the store is lost.
std::string word_of_leaver(c10d::Store& store);

}  // namespace titan::train
