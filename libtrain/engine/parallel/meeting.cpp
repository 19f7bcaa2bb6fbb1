#include "libtrain/engine/parallel/meeting.h"

#include <exception>
#include <utility>

namespace titan::train {
namespace {

constexpr const char* kWord = "left-the-start";

}  // namespace

void Meeting::now(const std::string& doing, const std::string& why) {
  const std::lock_guard lock(mutex_);
  doing_ = doing;
  why_ = why;
}

std::string Meeting::text() const {
  const std::lock_guard lock(mutex_);
  return why_.empty() ? doing_ : doing_ + " (" + why_ + ")";
}

void Meeting::watch(std::shared_ptr<Heartbeat> heartbeat) {
  const std::lock_guard lock(mutex_);
  heartbeat_ = std::move(heartbeat);
}

std::shared_ptr<Heartbeat> Meeting::heartbeat() const {
  const std::lock_guard lock(mutex_);
  return heartbeat_;
}

void leave_word(c10d::Store& store, const std::string& word) {
  try {
    store.compareSet(kWord, std::string(), word);
  } catch (const std::exception&) {
    // Without a store no rank can be told.
  }
}

std::string word_of_leaver(c10d::Store& store) {
  if (!store.check({kWord})) return {};
  const auto bytes = store.get(kWord);
  return {bytes.begin(), bytes.end()};
}

}  // namespace titan::train
