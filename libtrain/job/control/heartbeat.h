#pragma once
// Finds out which ranks are alive. Twice a second every rank writes a counter, its beat, into the rendezvous store and
// reads the beats of some other ranks. For the remaining ranks it relies on the reports of the ranks that read their
// beats.
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace titan::train {

/// A rank whose heartbeat has stopped, and for how long.
struct SilentRank {
  int rank = 0;
  std::chrono::milliseconds since{0};
  bool gone = false;  ///< its connection is closed: it is dead, not stopped
};

/// Why an operation failed: one line, and the ranks that caused it, if known.
struct LostRanks {
  std::string text;
  std::vector<int> ranks;
};
/// The lowest rank that is not among `lost`: it prints for all survivors if they share a terminal.
int first_survivor(const std::vector<int>& lost);

struct HeartbeatOptions {
  int rank = 0, world = 1;
  bool store_on_rank_0 = true;  ///< rank 0 hosts the store, so a store that does not answer means that rank 0 is silent
  std::chrono::milliseconds beat{500};     ///< time between two beats
  std::chrono::milliseconds quiet{2'500};  ///< diagnose() considers a rank without a beat for this long as dead
  std::chrono::milliseconds patience{
      1'000};  ///< added to `quiet` by diagnose(): the last beat may be seen after the error
  std::chrono::milliseconds linger{1'000};  ///< how long the store's host stays after it has found silent ranks, so
                                            ///< that other ranks can still read the store
  std::chrono::milliseconds train_timeout{100'000};  ///< overdue() reports ranks that are quiet for this long
  /// The error text of the first rank that leaves: writes `own` into the store, unless `own` is empty or the store
  /// already has such a text; returns the text in the store. Called from the heartbeat's thread; throws when the store
  /// is lost. May be empty.
  std::function<std::string(const std::string& own)> words;
  /// Whether the process of a rank is known to have ended; diagnose() then does not wait for silence. Thread-safe.
  /// Empty if that cannot be known, or if the news that a rank leaves takes more than one beat to reach this rank.
  std::function<bool(int rank)> ended;
};

/// Thread-safe. A thread calls the SendBeat function for each beat. The function may block forever (if the store's host
/// is stopped), so every wait for the thread has a limit.
class Heartbeat {
 public:
  /// Writes this rank's beat, `own`, and returns the beats of all ranks in rank order. An empty beat means that its
  /// rank is watched only by other ranks, which have reported nothing about it. Throws if the store is lost. `leaving`:
  /// this rank has an error and is about to exit.
  using SendBeat = std::function<std::vector<std::string>(const std::string& own, bool leaving)>;

  Heartbeat(HeartbeatOptions options, SendBeat send);
  /// Waits at most a second for the thread to end, since it may be stuck in the SendBeat function.
  ~Heartbeat();
  Heartbeat(const Heartbeat&) = delete;

  /// Ranks that have been silent for train_timeout or more; rank 0 also if its store has been lost for `quiet`.
  std::vector<SilentRank> overdue() const;
  /// As overdue(), with `limit` (at least `quiet`) in place of train_timeout.
  std::vector<SilentRank> silent_for(std::chrono::milliseconds limit) const;
  /// Ranks that have an error and are about to exit.
  std::vector<int> leaving() const;
  /// Explains why an operation failed, in one line that names silent or dead ranks, if any; takes up to `quiet` +
  /// `patience`. Tells the others that this rank is about to leave, so that they do not name it as the cause.
  /// `timed_out`: the operation failed by its timeout, otherwise by a lost connection.
  LostRanks diagnose(const std::string& operation, bool timed_out, std::chrono::milliseconds deadline);
  /// The line for `ranks`, which overdue() returned. On the store's host the call takes `linger`.
  LostRanks explain(const std::string& operation, const std::vector<SilentRank>& ranks);
  /// Tells the others that this rank leaves because of an error of its own, described by `words`. The others print the
  /// text of the first rank that left. Returns true if this rank is the first, or if the first cannot be known. Takes
  /// up to a second, and `linger` more on the store's host.
  bool leave(const std::string& words);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

/// "rank 2", "ranks 0, 3".
std::string name_ranks(const std::vector<int>& ranks);
/// "12 s", "2.5 s".
std::string seconds_text(std::chrono::milliseconds time);

}  // namespace titan::train
