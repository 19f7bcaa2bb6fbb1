// check_cover: whether the chunks of a tensor fill it without overlap.
#include <algorithm>
#include <numeric>

#include "converters/dcp/metadata.h"

namespace titan::convert::dcp {
namespace {

constexpr int kMaxSplits = 96;  // most nested cuts of separate(); real shardings need one per dimension
constexpr std::size_t kMaxPairwise = 4096;

std::string box_text(const Chunk& chunk) {
  std::string text = "[";
  for (std::size_t d = 0; d < chunk.offsets.size(); ++d)
    text += (d > 0 ? ", " : "") + std::to_string(chunk.offsets[d]) + ":" +
            std::to_string(chunk.offsets[d] + chunk.sizes[d]);
  return text + "]";
}

class Cover {
 public:
  Cover(const std::string& what, const std::vector<Chunk>& chunks) : what_(what), chunks_(chunks) {}

  // Sorts the boxes of [begin, end) into groups: it cuts at every plane of dimension `dim` that no box crosses, then
  // does the same to each group in the next dimension. Two boxes overlap exactly when no cut separates them and they
  // overlap in all dimensions. `failed`: how many dimensions in a row had no plane to cut at. `splits`: recursion
  // depth.
  Status separate(std::vector<std::size_t>::iterator begin, std::vector<std::size_t>::iterator end, std::size_t dim,
                  std::size_t failed, int splits) {
    const std::size_t rank = chunks_[*begin].offsets.size();
    if (end - begin < 2) return {};
    if (failed == rank || splits > kMaxSplits) return pairwise(begin, end);
    std::sort(begin, end,
              [&](std::size_t a, std::size_t b) { return chunks_[a].offsets[dim] < chunks_[b].offsets[dim]; });
    bool cut = false;
    for (auto first = begin; first != end;) {
      std::uint64_t reach = 0;
      auto last = first;
      while (last != end && (last == first || chunks_[*last].offsets[dim] < reach)) {
        reach = std::max(reach, chunks_[*last].offsets[dim] + chunks_[*last].sizes[dim]);
        ++last;
      }
      cut = cut || last != end || first != begin;
      TITAN_RETURN_IF_ERROR(separate(first, last, (dim + 1) % rank, cut ? 0 : failed + 1, splits + 1));
      first = last;
    }
    return {};
  }

 private:
  Status pairwise(std::vector<std::size_t>::iterator begin, std::vector<std::size_t>::iterator end) {
    if (static_cast<std::size_t>(end - begin) > kMaxPairwise)
      return ckpt::corrupt(what_ + ": its chunks overlap, or form no grid");
    for (auto a = begin; a != end; ++a)
      for (auto b = a + 1; b != end; ++b)
        if (overlap(chunks_[*a], chunks_[*b]))
          return ckpt::corrupt(what_ + ": chunks " + box_text(chunks_[*a]) + " and " + box_text(chunks_[*b]) +
                               " overlap");
    return {};
  }
  static bool overlap(const Chunk& a, const Chunk& b) {
    for (std::size_t d = 0; d < a.offsets.size(); ++d)
      if (a.offsets[d] >= b.offsets[d] + b.sizes[d] || b.offsets[d] >= a.offsets[d] + a.sizes[d]) return false;
    return true;
  }

  const std::string& what_;
  const std::vector<Chunk>& chunks_;
};

std::uint64_t volume(const std::vector<std::uint64_t>& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), std::uint64_t{1}, std::multiplies<>());
}

}  // namespace

Status check_cover(const std::string& what, const std::vector<std::uint64_t>& shape, const std::vector<Chunk>& chunks) {
  if (shape.empty()) {
    if (chunks.size() == 1) return {};
    return ckpt::corrupt(what + ": a scalar has " + std::to_string(chunks.size()) + " chunks instead of one");
  }
  if (!chunks.empty()) {
    std::vector<std::size_t> order(chunks.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    TITAN_RETURN_IF_ERROR(Cover(what, chunks).separate(order.begin(), order.end(), 0, 0, 0));
  }
  // Disjoint boxes inside the tensor: their volumes cannot overflow, and they fill it exactly when the sums are equal.
  std::uint64_t sum = 0;
  for (const Chunk& chunk : chunks) sum += volume(chunk.sizes);
  if (sum == volume(shape)) return {};
  return ckpt::corrupt(what + ": its chunks hold " + std::to_string(sum) + " of " + std::to_string(volume(shape)) +
                       " elements");
}

}  // namespace titan::convert::dcp
