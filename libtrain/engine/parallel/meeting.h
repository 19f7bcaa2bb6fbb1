#pragma once
// What a rank is doing while it connects to its peers, and how a rank that leaves before all are connected tells the
// others why.
#include <memory>
#include <mutex>
#include <string>

#include <torch/csrc/distributed/c10d/Store.hpp>

#include "libtrain/job/control/heartbeat.h"

namespace titan::train {

/// What a rank is doing while it connects. The thread that connects sets it, the thread that waits reads it.
/// Thread-safe.
class Meeting {
 public:
  /// Sets what the rank is doing: `doing` completes "rank 1 was still ...", and `why` says what has failed so far.
  void now(const std::string& doing, const std::string& why = "");
  /// `doing`, followed by `why` in parentheses.
  std::string text() const;
  void watch(std::shared_ptr<Heartbeat> heartbeat);
  /// The heartbeat given to watch(); null before.
  std::shared_ptr<Heartbeat> heartbeat() const;

 private:
  mutable std::mutex mutex_;
  std::string doing_ = "beginning", why_;
  std::shared_ptr<Heartbeat> heartbeat_;
};

/// Tells the other ranks why this rank gives up its start. `word` is a sentence that names the rank. Only the sentence
/// of the first rank that leaves is kept. Does not throw.
void leave_word(c10d::Store& store, const std::string& word);
/// The sentence of the first rank that left; empty if none has left. Throws if the store is lost.
std::string word_of_leaver(c10d::Store& store);

}  // namespace titan::train
