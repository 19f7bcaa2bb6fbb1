// Any bytes as a torch.save archive: no read leaves the bytes, and a tensor that is accepted lies inside its storage.
#include <algorithm>
#include <cstdlib>
#include <string>

#include "converters/pickle/item.h"
#include "tests/fuzz/bytes_file.h"
#include "tests/fuzz/mend_crc.h"

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace titan::convert;
  titan::fuzz::BytesFile file(std::as_bytes(std::span(data, size)));
  const auto zip = ZipArchive::open(file, "input", 0, size);
  if (!zip.ok()) return 0;
  std::uint64_t sum = 0;
  for (const ZipEntry& entry : zip->entries()) {
    sum += entry.bytes;
    require(zip->find(entry.name) == &entry);
    static_cast<void>(zip->read(entry, 1 << 20).ok());
  }
  require(sum <= size);
  const auto item = read_item(*zip);
  if (!item.ok()) return 0;
  const auto* tensor = std::get_if<ItemTensor>(&*item);
  if (tensor == nullptr) return 0;
  const ZipEntry* storage = zip->find(tensor->storage);
  require(storage != nullptr);
  std::uint64_t last = tensor->first;
  bool empty = false;
  for (std::size_t d = 0; d < tensor->shape.size(); ++d) {
    empty = empty || tensor->shape[d] == 0;
    if (!empty) last += (tensor->shape[d] - 1) * tensor->stride[d];
  }
  require(empty || (last + 1) * torch_dtype_size(tensor->dtype) <= storage->bytes);
  return 0;
}
