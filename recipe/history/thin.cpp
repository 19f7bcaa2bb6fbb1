#include "recipe/history/thin.h"

#include <algorithm>

namespace titan::recipe {
namespace {

constexpr std::size_t kKept = 4;

/// Keeps the first, lowest, highest and last point, in order of x.
void reduce(std::vector<Point>& points) {
  if (points.size() <= kKept) return;
  const auto by_value = [](const Point& a, const Point& b) { return a.y < b.y; };
  auto least = std::min_element(points.begin(), points.end(), by_value);
  auto greatest = std::max_element(points.begin(), points.end(), by_value);
  if (greatest < least) std::swap(least, greatest);
  std::vector<Point> kept{points.front()};
  for (const auto& one : {least, greatest})
    if (one != points.begin() && one + 1 != points.end() && kept.back() != *one) kept.push_back(*one);
  kept.push_back(points.back());
  points = std::move(kept);
}

}  // namespace

void Thin::Bucket::add(Point point) {
  points.push_back(point);
  ++taken;
  reduce(points);
}

void Thin::Bucket::merge(const Bucket& next) {
  points.insert(points.end(), next.points.begin(), next.points.end());
  taken += next.taken;
  reduce(points);
}

void Thin::halve() {
  for (std::size_t i = 0; 2 * i < buckets_.size(); ++i) {
    Bucket whole = std::move(buckets_[2 * i]);
    if (2 * i + 1 < buckets_.size()) whole.merge(buckets_[2 * i + 1]);
    buckets_[i] = std::move(whole);
  }
  buckets_.resize((buckets_.size() + 1) / 2);
  width_ *= 2;
}

void Thin::add(Point point) {
  ++count_;
  const auto full = [&] { return buckets_.empty() || buckets_.back().taken >= width_; };
  if (full() && buckets_.size() == most_) halve();
  // With an odd number of buckets, the last one had no partner and is half full.
  if (full()) buckets_.emplace_back();
  buckets_.back().add(point);
}

std::vector<Point> Thin::points() const {
  std::vector<Point> all;
  for (const Bucket& bucket : buckets_) all.insert(all.end(), bucket.points.begin(), bucket.points.end());
  return all;
}

}  // namespace titan::recipe
