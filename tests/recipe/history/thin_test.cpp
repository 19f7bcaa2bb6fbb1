#include "recipe/history/thin.h"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

namespace titan::recipe::thin_test {
namespace {

std::vector<Point> wave(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<Point> points;
  for (std::size_t i = 0; i < count; ++i)
    points.push_back({static_cast<double>(i + 1), static_cast<double>(random() % 100000)});
  return points;
}

std::vector<Point> thinned(const std::vector<Point>& points, std::size_t buckets) {
  Thin thin(buckets);
  for (const Point& point : points) thin.add(point);
  EXPECT_EQ(thin.count(), points.size());
  return thin.points();
}

TEST(Thin, FewPointsStayAsTheyAre) {
  for (const std::size_t count : {0, 1, 3, 4, 5, 31, 32})
    EXPECT_EQ(thinned(wave(count, 1), 8), wave(count, 1)) << count;
}

TEST(Thin, ExtremesAndEndsStay) {
  for (const std::size_t count : {33, 34, 100, 1000, 12345}) {
    for (unsigned seed = 1; seed < 20; ++seed) {
      const auto points = wave(count, seed), kept = thinned(points, 8);
      ASSERT_LE(kept.size(), 32u);
      const auto by_value = [](const Point& a, const Point& b) { return a.y < b.y; };
      EXPECT_EQ(std::min_element(kept.begin(), kept.end(), by_value)->y,
                std::min_element(points.begin(), points.end(), by_value)->y);
      EXPECT_EQ(std::max_element(kept.begin(), kept.end(), by_value)->y,
                std::max_element(points.begin(), points.end(), by_value)->y);
      EXPECT_EQ(kept.front(), points.front());
      EXPECT_EQ(kept.back(), points.back());
      EXPECT_TRUE(std::is_sorted(kept.begin(), kept.end(), [](const Point& a, const Point& b) { return a.x < b.x; }));
      for (const Point& point : kept) EXPECT_EQ(points[static_cast<std::size_t>(point.x) - 1], point);
    }
  }
}

/// One spike anywhere is seen.
TEST(Thin, NoSpikeIsLost) {
  for (std::size_t at = 0; at < 500; ++at) {
    for (const double height : {9.0, -9.0}) {
      std::vector<Point> points;
      for (std::size_t i = 0; i < 500; ++i) points.push_back({static_cast<double>(i), i == at ? height : 0.0});
      const auto kept = thinned(points, 4);
      ASSERT_TRUE(std::ranges::find(kept, points[at]) != kept.end()) << at;
    }
  }
}

TEST(Thin, AMillionPointsTakeNoMoreMemory) {
  Thin thin(16);
  for (int i = 0; i < 1'000'000; ++i) thin.add({static_cast<double>(i), static_cast<double>(i % 977)});
  EXPECT_LE(thin.points().size(), 64u);
  EXPECT_GE(thin.points().size(), 16u);
}

}  // namespace
}  // namespace titan::recipe::thin_test
