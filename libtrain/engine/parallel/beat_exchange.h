#pragma once
// Heartbeats over a store, at a cost that does not grow with the number of ranks. Each rank reads the beats of the next
// few ranks in a ring, and one key with the news: which ranks are quiet, beat again or leave. Ranks in the news are
// known from the news alone; their own beats need not be read.
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
      8;  ///< of so many, so that the ranks of a host that dies are noticed from the host before it
  static constexpr int kQuietBeats = 3;  ///< unchanged beats after which a neighbour is reported as quiet
  static constexpr std::size_t kSpareNews =
      1024;  ///< bytes that the news may have beyond what is needed, before rank 0 shortens it

  BeatExchange(c10::intrusive_ptr<c10d::Store> store, int rank, int world);
  /// Creates the keys. Call it before any rank beats: the key of the news must exist.
  static void prepare(c10d::Store& store, int rank);

  /// Stores this rank's beat, `own`, and returns the beats of all ranks in rank order. A rank that is neither watched
  /// by this rank nor in the news has an empty beat; a quiet rank has the same beat as before. `leaving`: tells all
  /// ranks that this rank leaves. Throws when the store is lost.
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
