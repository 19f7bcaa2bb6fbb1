#include "libtrain/engine/parallel/roll_call.h"

#include <string>
#include <utility>

#include "libtrain/job/control/message.h"

namespace titan::train {
namespace {

constexpr const char *kCount = "arrivals", *kAll = "all-arrived", *kLookers = "arrival-lookers", *kMissing = "missing";

std::string arrival_key(int rank) { return "arrived/" + std::to_string(rank); }

std::string encode(const std::vector<int>& ranks) {
  MessageWriter out;
  for (const int rank : ranks) out.number(static_cast<std::uint64_t>(rank));
  return out.take();
}

std::vector<int> decode(const std::string& bytes) {
  MessageReader in(bytes);
  std::vector<int> ranks;
  while (!in.at_end()) ranks.push_back(static_cast<int>(in.number()));
  return ranks;
}

}  // namespace

void RollCall::arrive(c10d::Store& store, int rank, int world) {
  store.set(arrival_key(rank), std::string("1"));
  if (store.add(kCount, 1) == world) store.set(kAll, std::string("1"));
}

void RollCall::wait(std::chrono::milliseconds timeout) { store_.wait({kAll}, timeout); }

std::vector<int> RollCall::look_up() const {
  std::vector<int> ranks;
  for (int rank = 0; rank < world_; ++rank)
    if (!store_.check({arrival_key(rank)})) ranks.push_back(rank);
  return ranks;
}

std::vector<int> RollCall::missing(bool exact) {
  if (!std::exchange(asked_, true)) looks_up_ = store_.add(kLookers, 1) == 1;
  if (looks_up_) {
    std::vector<int> ranks = look_up();
    store_.set(kMissing, encode(ranks));
    return ranks;
  }
  std::vector<int> ranks;
  if (store_.check({kMissing})) ranks = decode(store_.get_to_str(kMissing));
  // The stored answer may be old: the rank that looks up may be dead, or does so only once a second.
  const auto absent = static_cast<std::size_t>(world_ - store_.add(kCount, 0));
  return exact && ranks.size() != absent ? look_up() : ranks;
}

}  // namespace titan::train
