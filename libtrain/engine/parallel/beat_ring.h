#pragma once
// Exchanges heartbeats through a c10d store, at a cost per rank that does not grow with the number of ranks. A beat is
// a value that a rank stores again and again, each time another one. Each rank reads the beats of the next 8 ranks in a
// ring, and one key with the "news": a list of ranks that are quiet, beat again or leave. The beats of ranks in the
// news are not read.
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <torch/csrc/distributed/c10d/Store.hpp>

namespace titan::train {

/// A function object that a Heartbeat calls for each beat.
class BeatRing {
 public:
  static constexpr int kNeighbours = 8;  ///< number of ranks that a rank watches: as many as a host with 8 GPUs has
  static constexpr int kQuietBeats = 3;  ///< number of equal reads of a beat after which a rank is reported as quiet
  static constexpr std::size_t kSpareNews = 1024;  ///< rank 0 shortens the news if it has this many superfluous bytes

  BeatRing(c10::intrusive_ptr<c10d::Store> store, int rank, int world);
  /// Creates this rank's key and the news key in the store. Call it on every rank before any rank beats.
  static void prepare(c10d::Store& store, int rank);

  /// Stores this rank's beat, `own`, and returns the beats of all ranks, by rank. A quiet rank has the same beat as
  /// before. A rank that leaves has "L". A rank that is neither watched by this rank nor in the news has an empty beat.
  /// `leaving`: announces that this rank leaves. Throws if the store is lost.
  std::vector<std::string> operator()(const std::string& own, bool leaving);

 private:
  enum class News : char { kQuiet, kLeaves };

  std::vector<int> watched() const;
  /// What the news say of each rank, without ranks that beat again.
  static std::map<int, News> read_news(std::string_view text, int world);
  void shorten(const std::string& text);

  /// The last beat of a watched rank, and how many reads in a row have found it unchanged.
  struct Neighbour {
    std::string value;
    int unchanged = 0;
  };
  c10::intrusive_ptr<c10d::Store> store_;
  int rank_, world_;
  std::map<int, Neighbour> neighbours_;
  std::map<int, News> in_the_news_;
};

}  // namespace titan::train
