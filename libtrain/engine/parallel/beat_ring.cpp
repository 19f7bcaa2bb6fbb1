#include "libtrain/engine/parallel/beat_ring.h"

#include <charconv>
#include <string_view>
#include <utility>

namespace titan::train {
namespace {

constexpr const char* kNews = "beat-news";
// The news are a list of items: a rank's number, then one of these letters. A later item of a rank replaces an earlier.
constexpr char kIsQuiet = ';', kBeatsAgain = '+', kHasLeft = 'L';

std::string beat_key(int rank) { return "beat/" + std::to_string(rank); }

void add_to_news(c10d::Store& store, int rank, char what) {
  const std::string text = std::to_string(rank) + what;
  store.append(kNews, {text.begin(), text.end()});
}

std::string text_of(const std::vector<std::uint8_t>& bytes) { return {bytes.begin(), bytes.end()}; }

}  // namespace

BeatRing::BeatRing(c10::intrusive_ptr<c10d::Store> store, int rank, int world)
    : store_(std::move(store)), rank_(rank), world_(world) {}

void BeatRing::prepare(c10d::Store& store, int rank) {
  store.compareSet(kNews, std::string(), std::string(1, kIsQuiet));
  store.set(beat_key(rank), std::string("0"));
}

std::map<int, BeatRing::News> BeatRing::read_news(std::string_view text, int world) {
  constexpr char kEnds[] = {kIsQuiet, kBeatsAgain, kHasLeft, '\0'};
  std::map<int, News> news;
  for (std::size_t at = 0, end; (end = text.find_first_of(kEnds, at)) != std::string_view::npos; at = end + 1) {
    int rank = -1;
    std::from_chars(text.data() + at, text.data() + end, rank);
    if (rank < 0 || rank >= world) continue;
    // Later items do not change that a rank has left: another rank may report it as quiet afterwards.
    const bool left = text[end] == kHasLeft || (news.contains(rank) && news[rank] == News::kLeaves);
    if (left)
      news[rank] = News::kLeaves;
    else if (text[end] == kIsQuiet)
      news[rank] = News::kQuiet;
    else
      news.erase(rank);
  }
  return news;
}

/// If the news, `text`, are long, replaces them by one item per rank. Does nothing if another rank has added an item
/// meanwhile.
void BeatRing::shorten(const std::string& text) {
  std::string last(1, kIsQuiet);
  for (const auto& [rank, news] : in_the_news_)
    last += std::to_string(rank) + (news == News::kLeaves ? kHasLeft : kIsQuiet);
  if (text.size() > last.size() + kSpareNews) store_->compareSet(kNews, text, last);
}

/// The next kNeighbours ranks of the ring that are not in the news.
std::vector<int> BeatRing::watched() const {
  std::vector<int> ranks;
  for (int step = 1; step < world_ && static_cast<int>(ranks.size()) < kNeighbours; ++step) {
    const int rank = (rank_ + step) % world_;
    if (in_the_news_.contains(rank)) continue;
    ranks.push_back(rank);
  }
  return ranks;
}

std::vector<std::string> BeatRing::operator()(const std::string& own, bool leaving) {
  store_->set(beat_key(rank_), own);
  const auto told = in_the_news_.find(rank_);
  const bool told_left = told != in_the_news_.end() && told->second == News::kLeaves;
  if (leaving && !told_left) add_to_news(*store_, rank_, kHasLeft);

  const std::vector<int> ranks = watched();
  std::vector<std::string> keys;
  for (const int rank : ranks) keys.push_back(beat_key(rank));
  keys.push_back(kNews);
  const std::vector<std::vector<std::uint8_t>> found = store_->multiGet(keys);
  const std::string news = text_of(found.back());
  in_the_news_ = read_news(news, world_);
  if (rank_ == 0) shorten(news);
  if (!leaving && in_the_news_.erase(rank_) > 0) add_to_news(*store_, rank_, kBeatsAgain);

  std::vector<std::string> values(static_cast<std::size_t>(world_));
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    std::string value = text_of(found[i]);
    Neighbour& neighbour = neighbours_[ranks[i]];
    neighbour.unchanged = value == neighbour.value ? neighbour.unchanged + 1 : 0;
    if (neighbour.unchanged >= kQuietBeats && !in_the_news_.contains(ranks[i]))
      add_to_news(*store_, ranks[i], kIsQuiet);
    neighbour.value = value;
    values[static_cast<std::size_t>(ranks[i])] = std::move(value);
  }
  for (const auto& [rank, what] : in_the_news_) {
    std::string& value = values[static_cast<std::size_t>(rank)];
    if (what == News::kLeaves)
      value = kHasLeft;
    else if (value.empty())  // otherwise its beat was read just now
      value = neighbours_.contains(rank) ? neighbours_[rank].value : std::string(1, kIsQuiet);
  }
  values[static_cast<std::size_t>(rank_)] = own;
  return values;
}

}  // namespace titan::train
