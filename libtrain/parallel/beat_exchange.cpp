#include "libtrain/parallel/beat_exchange.h"

#include <charconv>
#include <string_view>
#include <utility>

namespace titan::train {
namespace {

constexpr const char* kNews = "beat-news";
constexpr char kEnd = ';';  // of each number in the news

std::string beat_key(int rank) { return "beat/" + std::to_string(rank); }

void add_to_news(c10d::Store& store, int rank) {
  const std::string text = std::to_string(rank) + kEnd;
  store.append(kNews, {text.begin(), text.end()});
}

std::set<int> read_news(const std::vector<std::uint8_t>& bytes, int world) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  std::set<int> ranks;
  for (std::size_t at = 0, end; (end = text.find(kEnd, at)) != std::string_view::npos; at = end + 1) {
    int rank = -1;
    std::from_chars(text.data() + at, text.data() + end, rank);
    if (rank >= 0 && rank < world) ranks.insert(rank);
  }
  return ranks;
}

}  // namespace

BeatExchange::BeatExchange(c10::intrusive_ptr<c10d::Store> store, int rank, int world)
    : store_(std::move(store)), rank_(rank), world_(world) {}

void BeatExchange::prepare(c10d::Store& store, int rank) {
  store.compareSet(kNews, std::string(), std::string(1, kEnd));
  store.set(beat_key(rank), std::string("0"));
}

/// The next ranks of the ring that are not in the news, and all that are.
std::vector<int> BeatExchange::watched() const {
  std::vector<int> ranks(in_the_news_.begin(), in_the_news_.end());
  int found = 0;
  for (int step = 1; step < world_ && found < kNeighbours; ++step) {
    const int rank = (rank_ + step) % world_;
    if (in_the_news_.contains(rank)) continue;
    ranks.push_back(rank);
    ++found;
  }
  std::erase(ranks, rank_);
  return ranks;
}

std::vector<std::string> BeatExchange::operator()(const std::string& own, bool leaving) {
  store_->set(beat_key(rank_), own);
  if (leaving && !in_the_news_.contains(rank_)) add_to_news(*store_, rank_);

  const std::vector<int> ranks = watched();
  std::vector<std::string> keys;
  for (const int rank : ranks) keys.push_back(beat_key(rank));
  keys.push_back(kNews);
  const std::vector<std::vector<std::uint8_t>> found = store_->multiGet(keys);
  in_the_news_ = read_news(found.back(), world_);

  std::vector<std::string> values(static_cast<std::size_t>(world_));
  values[static_cast<std::size_t>(rank_)] = own;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    std::string value(found[i].begin(), found[i].end());
    Neighbour& neighbour = neighbours_[ranks[i]];
    neighbour.unchanged = value == neighbour.value ? neighbour.unchanged + 1 : 0;
    if (neighbour.unchanged == kQuietBeats && !in_the_news_.contains(ranks[i])) add_to_news(*store_, ranks[i]);
    neighbour.value = value;
    values[static_cast<std::size_t>(ranks[i])] = std::move(value);
  }
  return values;
}

}  // namespace titan::train
