#include "ckpt/read/range_reader.h"

#include <algorithm>
#include <cstring>

namespace titan::ckpt {

RangeReader::RangeReader(const CheckpointReader& checkpoint, TensorRef ref)
    : checkpoint_(checkpoint),
      ref_(std::move(ref)),
      grid_(checkpoint.manifest().parameters[ref_.index].meta.grid(checkpoint.manifest().leaf_elements)),
      size_(dtype_size(checkpoint.manifest().stored(ref_)->dtype)) {}

std::uint64_t RangeReader::stride() const {
  constexpr std::uint64_t kBytes = std::uint64_t{1} << 20;
  return std::max<std::uint64_t>(kBytes / (grid_.leaf_elements * size_), 1) * grid_.leaf_elements;
}

Status RangeReader::read(std::uint64_t first, std::span<std::byte> out) {
  if (checkpoint_.foreign()) return checkpoint_.read(ref_, first, out);
  for (std::uint64_t at = first, end = first + out.size() / size_; at < end;) {
    const std::uint64_t leaf = at / grid_.leaf_elements;
    std::uint64_t whole = leaf;  // end of the leaves that are needed in full
    if (at == grid_.begin(leaf))
      while (whole < grid_.count() && grid_.begin(whole + 1) <= end) ++whole;
    std::uint64_t next;
    if (whole > leaf) {
      next = grid_.begin(whole);
      TITAN_RETURN_IF_ERROR(checkpoint_.read(ref_, {leaf, whole - leaf}, out.first((next - at) * size_)));
    } else {
      if (loaded_ != leaf) {
        loaded_ = ~std::uint64_t{0};
        leaf_.resize(grid_.length(leaf) * size_);
        TITAN_RETURN_IF_ERROR(checkpoint_.read(ref_, {leaf, 1}, leaf_));
        loaded_ = leaf;
      }
      next = std::min(grid_.begin(leaf + 1), end);
      std::memcpy(out.data(), &leaf_[(at - grid_.begin(leaf)) * size_], (next - at) * size_);
    }
    out = out.subspan((next - at) * size_);
    at = next;
  }
  return ok_status();
}

}  // namespace titan::ckpt
