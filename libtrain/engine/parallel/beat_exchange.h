#pragma once
// Heartbeats over a store, at a cost that does not grow with the number of ranks. Each rank reads the beats of the next
// few ranks in a ring, and one key with the news: ranks that are quiet, beat again or leave. The news stand for the
// beats of these.
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <torch/csrc/distributed/c10d/Store.hpp>

namespace titan::train {

class BeatExchange {
 public:
  static constexpr int kNeighbours = 8;            ///< a host that dies has its ranks named by the one before it
  static constexpr int kQuietBeats = 3;            ///< after which a neighbour is news
  static constexpr std::size_t kSpareNews = 1024;  ///< bytes that the news may have too many

  BeatExchange(c10::intrusive_ptr<c10d::Store> store, int rank, int world);
  /// Call it before any rank beats: the key of the news must exist.
  static void prepare(c10d::Store& store, int rank);

  /// Stores this rank's beat; returns every rank's in rank order, empty where nobody says that the rank is quiet or
  /// leaves, and unchanged while it is quiet. `leaving`: every rank hears of it. Throws when the store is lost.
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
