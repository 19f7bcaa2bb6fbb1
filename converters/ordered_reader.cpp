#include "converters/ordered_reader.h"

#include <algorithm>
#include <cstring>

#include "ckpt/model/rope_permutation.h"

namespace titan::convert {
namespace {

constexpr std::uint64_t kMaxHeadBytes = std::uint64_t{64} << 20;  // a few heads are in memory at a time

}  // namespace

ckpt::Result<OrderedReader> OrderedReader::open(const ckpt::CheckpointReader& checkpoint, const ckpt::TensorRef& ref,
                                                std::uint64_t head_dim) {
  const ckpt::ParameterMeta& meta = checkpoint.manifest().parameters[ref.index].meta;
  const std::uint64_t row = meta.shape.empty() ? 1 : ckpt::element_count(std::span(meta.shape).subspan(1));
  OrderedReader reader(checkpoint, ref, head_dim, row);
  if (const std::uint64_t bytes = head_dim * row * reader.element_size(); bytes > kMaxHeadBytes)
    return ckpt::unsupported("one head of '" + meta.name + "' has " + std::to_string(bytes) + " bytes");
  return reader;
}

std::uint64_t OrderedReader::stride() const {
  const std::uint64_t head = head_dim_ * row_;
  return head == 0 ? reader_.stride() : std::max<std::uint64_t>(reader_.stride() / head, 1) * head;
}

ckpt::Status OrderedReader::read(std::uint64_t first, std::span<std::byte> out) {
  if (head_dim_ == 0) return reader_.read(first, out);
  const std::uint64_t bytes = row_ * element_size();
  spare_.resize(out.size());
  TITAN_RETURN_IF_ERROR(reader_.read(first, spare_));
  for (std::uint64_t row = 0; row < out.size() / bytes; ++row)
    std::memcpy(&out[row * bytes], &spare_[ckpt::interleaved_row(row, head_dim_) * bytes], bytes);
  return ckpt::ok_status();
}

}  // namespace titan::convert
