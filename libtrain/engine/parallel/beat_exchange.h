#pragma once
// Heartbeats over a store, at a cost per rank that does not grow with the number of ranks. Each rank reads the beats of
// the next few ranks in a ring, and one "news" key: which ranks are quiet, beat again or leave. For ranks in the news,
// their own beats are not read.
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <torch/csrc/distributed/c10d/Store.hpp>

namespace titan::train {

class BeatExchange {
 public:
  static constexpr int kNeighbours =
      8;  ///< number of ranks watched: enough that the rank before a dead host notices all of its ranks
  static constexpr int kQuietBeats = 3;  ///< unchanged beats after which a neighbour is reported as quiet
  static constexpr std::size_t kSpareNews =
      1024;  ///< bytes that the news may have beyond what is needed before rank 0 shortens it

  BeatExchange(c10::intrusive_ptr<c10d::Store> store, int rank, int world);
  /// Creates the keys. Call it before any rank beats, since the news key must exist.
  static void prepare(c10d::Store& store, int rank);

  /// Stores this rank's beat, `own`, and returns the beats of all ranks in rank order. A rank that is neither watched
  /// by this rank nor in the news has an empty beat; a quiet rank has the same beat as before. `leaving`: announces
  /// that this rank leaves. Throws if the store is lost.
  std::vector<std::string> operator()(const std::string& own, bool leaving);

 private:
  enum class News : char { kQuiet, kLeaves };

  std::vector<int> watched() const;
  static std::map<int, News> read_news(std::string_view text, int world);
  void shorten(const std::string& text);

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
