#pragma once
// Downsamples a long curve without losing its minima and maxima. Pure.
#include <cstddef>
#include <cstdint>
#include <vector>

namespace titan::recipe {

struct Point {
  double x = 0, y = 0;
  bool operator==(const Point&) const = default;
};

/// Takes points in order of x. Up to 4 * `buckets` points are returned unchanged. More points are divided into buckets
/// with equal numbers of points (the last may have fewer), and each bucket keeps its first, lowest, highest and last
/// point. Memory does not grow with the number of points.
class Thin {
 public:
  explicit Thin(std::size_t buckets) : most_(buckets < 2 ? 2 : buckets) {}
  void add(Point point);
  std::vector<Point> points() const;
  std::uint64_t count() const { return count_; }

 private:
  struct Bucket {
    std::vector<Point> points;  ///< at most 4, in order of x
    std::uint64_t taken = 0;
    void add(Point point);
    void merge(const Bucket& next);
  };
  void halve();
  std::size_t most_;
  std::uint64_t width_ = 4, count_ = 0;  ///< width_: number of points in a full bucket
  std::vector<Bucket> buckets_;
};

}  // namespace titan::recipe
