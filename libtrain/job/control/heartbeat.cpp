#include "libtrain/job/control/heartbeat.h"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>

#include "ckpt/base/printed.h"
#include "libtrain/job/control/running_clock.h"

namespace titan::train {

using Clock = RunningClock;
using std::chrono::milliseconds;

namespace {

// Appended to the value of a rank that has an error of its own and is about to exit.
constexpr char kLeaving = 'L';
// Maximum time between the ends of processes that were killed together: on busy cores a killed process waits for one.
constexpr milliseconds kKilledTogether{300};

bool says_that_it_leaves(const std::string& value) { return !value.empty() && value.back() == kLeaving; }

milliseconds between(Clock::time_point from, Clock::time_point to) {
  return std::max(milliseconds(0), std::chrono::duration_cast<milliseconds>(to - from));
}

std::string number_text(milliseconds time) {
  const int decimals = time.count() % 1000 == 0 || time.count() >= 10'000 ? 0 : 1;
  return ckpt::printed("%.*f", decimals, static_cast<double>(time.count()) / 1000);
}

}  // namespace

/// State shared by the exchange's thread and its callers, under one lock. It has many members because a diagnosis uses
/// what all exchanges have left: the beats of the peers, the store's answers, why ranks leave.
struct Heartbeat::State {
  struct Peer {
    std::string value;
    Clock::time_point changed;
    bool leaving = false;
    std::optional<Clock::time_point> ended = {};  // when its process was found to have ended
  };

  HeartbeatOptions options;
  SendBeat send;
  mutable std::mutex mutex;
  std::condition_variable changed;
  std::vector<Peer> peers;
  Clock::time_point refreshed;             // time of the store's last answer
  std::optional<Clock::time_point> asked;  // when the exchange began that has no answer yet, or the first of those that
                                           // have failed since the last answer
  bool stop = false, ended = false, leaving = false, store_lost = false;
  std::uint64_t begun = 0, finished = 0;  // numbers of the last exchange that has begun, and of the last that has ended
  bool hurry = false;                     // the next exchange begins at once
  std::string own_words, first_words;     // why this rank leaves, and why the first rank that left did
  bool told = false;  // an exchange with own_words has ended, whether or not the store accepted them

  void loop() {
    for (std::uint64_t count = 1;; ++count) {
      std::string own = std::to_string(count), words, standing;
      bool leaves = false;
      {
        std::lock_guard lock(mutex);
        if (stop) break;
        leaves = leaving;
        words = own_words;
        begun = count;
        hurry = false;
        if (!asked) asked = Clock::now();
      }
      if (leaves) own += kLeaving;
      std::vector<std::string> values;
      bool lost = false;
      try {
        values = send(own, leaves);
        if (options.words && std::ranges::any_of(values, says_that_it_leaves)) standing = options.words(words);
      } catch (const std::exception&) {
        lost = true;
      }
      std::unique_lock lock(mutex);
      store_lost = lost;
      finished = count;
      if (!lost) note(values);
      look_at_processes();
      if (!standing.empty()) first_words = standing;
      told = !words.empty();
      changed.notify_all();
      changed.wait_for(lock, options.beat, [&] { return stop || hurry || (!own_words.empty() && !told); });
    }
    std::lock_guard lock(mutex);
    ended = true;
    changed.notify_all();
  }

  void note(const std::vector<std::string>& values) {
    const Clock::time_point now = Clock::now();
    // Peers are not to blame for a time in which this rank did not look (a suspended host, a hanging store).
    const auto unseen = now - refreshed;
    const bool long_one = unseen > std::max(options.beat * 4, options.quiet / 2);
    const auto excused = long_one ? unseen - options.beat * 2 : Clock::duration(0);
    for (Peer& peer : peers) peer.changed += excused;
    refreshed = now;
    asked.reset();
    for (std::size_t i = 0; i < std::min(values.size(), peers.size()); ++i) {
      if (values[i].empty()) peers[i].changed = refreshed;
      if (values[i].empty() || values[i] == peers[i].value) continue;
      peers[i].value = values[i];
      peers[i].changed = refreshed;
      peers[i].leaving = says_that_it_leaves(values[i]);
    }
  }

  /// The mutex is held.
  std::vector<int> leaving_ranks() const {
    std::vector<int> ranks;
    for (std::size_t i = 0; i < peers.size(); ++i)
      if (static_cast<int>(i) != options.rank && peers[i].leaving) ranks.push_back(static_cast<int>(i));
    return ranks;
  }

  /// Ranks quiet for `limit`; the mutex is held.
  std::vector<SilentRank> silent(milliseconds limit) const {
    const milliseconds unanswered = asked ? between(*asked, Clock::now()) : milliseconds(0);
    if (unanswered >= limit || (store_lost && unanswered >= std::min(limit, options.quiet))) {
      // Without fresh values nothing is known about the others. A store host that said why it leaves needs no
      // explanation.
      if (options.store_on_rank_0 && options.rank != 0 && !(peers[0].leaving && !first_words.empty()))
        return {{0, unanswered, store_lost}};
      return {};
    }
    std::vector<SilentRank> ranks;
    for (std::size_t i = 0; i < peers.size(); ++i) {
      const milliseconds since = between(peers[i].changed, refreshed);
      if (static_cast<int>(i) == options.rank || peers[i].leaving || since < limit) continue;
      ranks.push_back({static_cast<int>(i), since});
    }
    return ranks;
  }

  /// Checks which processes have ended; the mutex is held.
  void look_at_processes() {
    if (!options.ended) return;
    for (std::size_t i = 0; i < peers.size(); ++i)
      if (static_cast<int>(i) != options.rank && !peers[i].ended && options.ended(static_cast<int>(i)))
        peers[i].ended = Clock::now();
  }

  /// Ranks whose processes have ended without a message: the first of them and those that were killed with it. The
  /// mutex is held.
  std::vector<SilentRank> ended_ranks() {
    look_at_processes();
    std::vector<SilentRank> ranks;
    const auto add = [&](std::size_t i) {
      ranks.push_back({static_cast<int>(i), between(peers[i].changed, Clock::now()), true});
    };
    if (store_lost && !peers[0].leaving) {
      // Without a store no rank can announce that it leaves. A store host that ended without a message is the cause.
      if (peers[0].ended) add(0);
      return ranks;
    }
    std::optional<Clock::time_point> first;
    for (const Peer& peer : peers)
      if (peer.ended && !peer.leaving) first = std::min(first.value_or(*peer.ended), *peer.ended);
    // Survivors end later, too, and cannot announce it without a store; therefore its host stays for `linger`.
    for (std::size_t i = 0; i < peers.size(); ++i)
      if (peers[i].ended && !peers[i].leaving && *peers[i].ended <= *first + options.beat * 3 / 2) add(i);
    return ranks;
  }
};

Heartbeat::Heartbeat(HeartbeatOptions options, SendBeat send) : state_(std::make_shared<State>()) {
  state_->refreshed = Clock::now();
  state_->peers.assign(static_cast<std::size_t>(options.world), {"", state_->refreshed});
  state_->options = std::move(options);
  state_->send = std::move(send);
  // Detached, sharing the state: a thread stuck in the exchange must not keep the process from ending.
  std::thread([state = state_] { state->loop(); }).detach();
}

Heartbeat::~Heartbeat() {
  std::unique_lock lock(state_->mutex);
  state_->stop = true;
  state_->changed.notify_all();
  state_->changed.wait_for(lock, std::chrono::seconds(1), [&] { return state_->ended; });
}

std::vector<SilentRank> Heartbeat::overdue() const { return silent_for(state_->options.train_timeout); }

std::vector<SilentRank> Heartbeat::silent_for(milliseconds limit) const {
  std::lock_guard lock(state_->mutex);
  return state_->silent(std::max(limit, state_->options.quiet));
}

std::vector<int> Heartbeat::leaving() const {
  std::lock_guard lock(state_->mutex);
  return state_->leaving_ranks();
}

LostRanks Heartbeat::explain(const std::string& operation, const std::vector<SilentRank>& ranks) {
  std::vector<int> numbers;
  milliseconds longest{0};
  for (const SilentRank& silent : ranks) {
    numbers.push_back(silent.rank);
    longest = std::max(longest, silent.since);
  }
  std::unique_lock lock(state_->mutex);
  state_->leaving = true;
  const HeartbeatOptions& options = state_->options;
  // The store ends with its host: the other survivors get more time to learn from it what this rank has just learned.
  if (options.rank == 0 && options.store_on_rank_0 && options.world > 2)
    state_->changed.wait_for(lock, options.linger, [] { return false; });
  std::string text = name_ranks(numbers) + (numbers.size() == 1 ? " is " : " are ");
  text += ranks[0].gone ? "gone: connection closed and no heartbeat for " : "silent: no heartbeat for ";
  text += seconds_text(longest);
  if (!ranks[0].gone) text += " (comm.train_timeout_seconds = " + number_text(options.train_timeout) + ")";
  return {text + ", noticed by rank " + std::to_string(options.rank) + " in " + operation, std::move(numbers)};
}

bool Heartbeat::leave(const std::string& words) {
  std::unique_lock lock(state_->mutex);
  const HeartbeatOptions& options = state_->options;
  state_->leaving = true;
  state_->own_words = words;
  state_->changed.notify_all();
  state_->changed.wait_for(lock, std::chrono::seconds(1), [&] { return state_->told; });
  const bool first = state_->first_words.empty() || state_->first_words == words;
  if (options.rank == 0 && options.store_on_rank_0 && options.world > 1)
    state_->changed.wait_for(lock, options.linger, [] { return false; });
  return first;
}

LostRanks Heartbeat::diagnose(const std::string& operation, bool timed_out, milliseconds deadline) {
  std::unique_lock lock(state_->mutex);
  const HeartbeatOptions& options = state_->options;
  state_->leaving = true;
  std::vector<SilentRank> silent;
  bool ended = false;
  // A rank with an error has announced it in the store before its process ended: later exchanges see it.
  const std::uint64_t fresh = state_->begun + 1;
  state_->hurry = true;
  state_->changed.notify_all();
  state_->changed.wait_for(lock, options.quiet + options.patience, [&] {
    silent = state_->silent(options.quiet);
    if (silent.empty() && !timed_out && state_->finished >= fresh) {
      silent = state_->ended_ranks();
      ended = !silent.empty();
    }
    return !silent.empty() || (!state_->first_words.empty() && !state_->leaving_ranks().empty());
  });
  // The last beats of ranks that were lost together are up to a beat apart, and are seen up to another beat later.
  if (!silent.empty()) {
    state_->changed.wait_for(lock, ended ? kKilledTogether : options.beat * 5 / 2, [] { return false; });
    auto now = ended ? state_->ended_ranks() : state_->silent(options.quiet);
    if (now.size() > silent.size()) silent = std::move(now);
  }
  const std::vector<int> leaving = state_->leaving_ranks();
  const std::string words = state_->first_words.empty() ? "" : ": " + state_->first_words;
  lock.unlock();

  for (SilentRank& rank : silent) rank.gone = rank.gone || !timed_out;
  if (!silent.empty()) return explain(operation, silent);
  const std::string where = ", noticed by rank " + std::to_string(options.rank) + " in " + operation;
  // A rank that is about to leave has not closed its connections yet. Without its message, it may have timed out as
  // this rank did.
  if (!leaving.empty() && (!timed_out || !words.empty()))
    return {name_ranks(leaving) + " met an error and left" + where + words, leaving};
  if (timed_out) {
    return {operation + " did not finish within " + seconds_text(deadline) + " on rank " +
                std::to_string(options.rank) +
                ", although every rank has a heartbeat: a peer is busy elsewhere or waits in another operation",
            {}};
  }
  return {"a peer closed its connection" + where, {}};
}

int first_survivor(const std::vector<int>& lost) {
  int rank = 0;
  while (std::ranges::find(lost, rank) != lost.end()) ++rank;
  return rank;
}

std::string name_ranks(const std::vector<int>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size(); ++i) text += (i > 0 ? ", " : "") + std::to_string(ranks[i]);
  return text;
}

std::string seconds_text(milliseconds time) { return number_text(time) + " s"; }

}  // namespace titan::train
