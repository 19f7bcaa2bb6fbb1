#include "converters/read_all.h"

#include <algorithm>
#include <vector>

namespace titan::convert {

Result<ckpt::VerifyReport> read_all(const ForeignCheckpoint& source, const char* note, const Progress& progress) {
  constexpr std::uint64_t kChunk = std::uint64_t{4} << 20;
  ckpt::VerifyReport report;
  report.note = note;
  std::uint64_t total = 0;
  for (const ForeignTensor& tensor : source.tensors()) total += tensor.bytes();
  std::vector<std::byte> buffer(std::min(kChunk, total));
  for (std::size_t i = 0; i < source.tensors().size(); ++i) {
    const ForeignTensor& tensor = source.tensors()[i];
    const std::uint64_t size = ckpt::dtype_size(tensor.dtype), elements = ckpt::element_count(tensor.shape);
    for (std::uint64_t at = 0; at < elements; at += kChunk / size) {
      const std::uint64_t count = std::min(kChunk / size, elements - at);
      const Status read = source.read(i, at, std::span(buffer).first(count * size));
      if (read.code == ckpt::Code::kCorrupt) {
        report.damage.push_back({source.path(), "tensor", tensor.name, 0, at * size, count * size, read.message});
        break;
      }
      TITAN_RETURN_IF_ERROR(read);
      report.bytes += count * size;
      if (progress) TITAN_RETURN_IF_ERROR(progress(report.bytes, total));
    }
    ++report.leaves;
  }
  return report;
}

}  // namespace titan::convert
