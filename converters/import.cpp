#include "converters/import.h"

#include <algorithm>

#include "ckpt/model/leaf.h"
#include "converters/rotary.h"

namespace titan::convert {
PlannedReader::PlannedReader(const ForeignCheckpoint& source, const ImportPlan& plan) : source_(source), plan_(plan) {}

Status PlannedReader::read(std::size_t index, std::uint64_t first, std::span<std::byte> out) const {
  const TensorPlan& tensor = plan_.tensors[index];
  if (tensor.head_dim == 0 || out.empty()) return source_.read(tensor.source, first, out);
  const ForeignTensor& foreign = source_.tensors()[tensor.source];
  const std::uint64_t size = ckpt::dtype_size(foreign.dtype);
  const std::uint64_t width = ckpt::element_count(std::span(foreign.shape).subspan(1));
  for (std::uint64_t at = first; !out.empty();) {
    const std::uint64_t row = at / width, column = at % width;
    const std::uint64_t count = std::min<std::uint64_t>(width - column, out.size() / size);
    TITAN_RETURN_IF_ERROR(source_.read(tensor.source, halves_row(row, tensor.head_dim) * width + column, out.first(count * size)));
    out = out.subspan(count * size);
    at += count;
  }
  return ckpt::ok_status();
}

}  // namespace titan::convert
