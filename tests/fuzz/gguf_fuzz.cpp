// Any bytes as a GGUF file: whatever opens can be planned, read in any range and verified; a range has the bytes that
// the whole has, and tensors lie in the file without overlapping.
#include <algorithm>
#include <cstdlib>

#include "ckpt/model/leaf.h"
#include "converters/gguf/gguf_checkpoint.h"
#include "converters/gguf/gguf_file.h"
#include "tests/fuzz/bytes_file.h"

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace titan::convert;
  constexpr std::uint64_t kMostElements = 1 << 16;
  const auto bytes = std::as_bytes(std::span(data, size));
  titan::fuzz::BytesFile file(bytes);
  const auto header = read_gguf_header(file, "input");
  if (!header.ok()) {
    require(!header.status().message.empty());
    return 0;
  }
  for (const GgufTensor& tensor : header->tensors)
    require(tensor.bytes == 0 || (tensor.offset >= header->data_offset && tensor.offset + tensor.bytes <= size));
  titan::fuzz::BytesFolder fs({{"/x.gguf", bytes}});
  const auto opened = gguf_format().open(fs, "/x.gguf");
  if (!opened.ok()) return 0;
  const ForeignCheckpoint& source = **opened;
  static_cast<void>(source.plan({}).ok());
  static_cast<void>(source.plan({.look = true}).ok());
  for (std::size_t i = 0; i < source.tensors().size(); ++i) {
    const ForeignTensor& tensor = source.tensors()[i];
    const std::uint64_t elements = titan::ckpt::element_count(tensor.shape),
                        unit = titan::ckpt::dtype_size(tensor.dtype);
    if (elements == 0 || elements > kMostElements) continue;
    std::vector<std::byte> whole(elements * unit), part((elements + 1) / 2 * unit);
    const std::uint64_t first = elements - part.size() / unit;
    require(source.read(i, 0, whole).ok() && source.read(i, first, part).ok());
    require(std::equal(part.begin(), part.end(), whole.begin() + static_cast<std::ptrdiff_t>(first * unit)));
  }
  require(source.verify({}).ok());
  return 0;
}
