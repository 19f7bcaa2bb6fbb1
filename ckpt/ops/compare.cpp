#include "ckpt/ops/compare.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "ckpt/ops/element.h"

namespace titan::ckpt {

namespace {

/// The elements of one tensor from front to back, leaf by leaf.
class ElementStream {
 public:
  ElementStream(const CheckpointReader& reader, const TensorRef& ref)
      : reader_(reader),
        ref_(ref),
        grid_(reader.manifest().parameters[ref.index].meta.grid(reader.manifest().leaf_elements)),
        size_(dtype_size(reader.manifest().stored(ref)->dtype)) {}

  /// What is left of the present leaf; reads the next one when nothing is. Empty at the end.
  Result<std::span<const std::byte>> front() {
    if (rest_.empty() && next_ < grid_.count()) {
      buffer_.resize(grid_.length(next_) * size_);
      TITAN_RETURN_IF_ERROR(reader_.read(ref_, {next_, 1}, buffer_));
      rest_ = buffer_;
      ++next_;
    }
    return rest_;
  }
  void take(std::size_t bytes) { rest_ = rest_.subspan(bytes); }

 private:
  const CheckpointReader& reader_;
  const TensorRef& ref_;
  LeafGrid grid_;
  std::uint64_t size_;
  std::uint64_t next_ = 0;
  std::vector<std::byte> buffer_;
  std::span<const std::byte> rest_;
};

}  // namespace

void add_distance(TensorDistance& distance, DType dtype, std::uint64_t base, std::span<const std::byte> a,
                  std::span<const std::byte> b) {
  const std::uint64_t size = dtype_size(dtype);
  const std::uint64_t count = a.size() / size;
  distance.elements += count;
  if (std::memcmp(a.data(), b.data(), a.size()) == 0) return;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::byte* left = a.data() + i * size;
    const std::byte* right = b.data() + i * size;
    if (std::memcmp(left, right, size) == 0) continue;
    if (distance.different++ == 0) {
      distance.first_index = base + i;
      distance.first_a = element_text(dtype, left);
      distance.first_b = element_text(dtype, right);
    }
    const double x = element_value(dtype, left), y = element_value(dtype, right);
    if (!std::isfinite(x) || !std::isfinite(y)) {
      ++distance.non_finite;
      continue;
    }
    const double error = std::fabs(x - y), scale = std::max(std::fabs(x), std::fabs(y));
    distance.max_abs = std::max(distance.max_abs, error);
    if (scale > 0) distance.max_rel = std::max(distance.max_rel, error / scale);
  }
}

Result<TensorDistance> tensor_distance(const CheckpointReader& a, const TensorRef& ref_a, const CheckpointReader& b,
                                       const TensorRef& ref_b, const std::function<void(std::uint64_t)>& read, const CancelToken& cancel) {
  const DType dtype = a.manifest().stored(ref_a)->dtype;
  ElementStream stream_a(a, ref_a), stream_b(b, ref_b);
  TensorDistance distance;
  std::uint64_t bytes = 0;
  while (true) {
    TITAN_RETURN_IF_ERROR(cancel.check());
    TITAN_ASSIGN_OR_RETURN(const std::span<const std::byte> left, stream_a.front());
    TITAN_ASSIGN_OR_RETURN(const std::span<const std::byte> right, stream_b.front());
    const std::size_t common = std::min(left.size(), right.size());
    if (common == 0) return distance;
    add_distance(distance, dtype, distance.elements, left.first(common), right.first(common));
    stream_a.take(common);
    stream_b.take(common);
    bytes += 2 * common;
    if (read) read(bytes);
  }
}

}  // namespace titan::ckpt
