// Any bytes as a torch.save archive: no read leaves the bytes, and a tensor that is accepted lies inside its storage.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>

#include "converters/dcp/item.h"

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

// The input as a file; a read beyond its end is an error, as on a real one.
class Bytes final : public titan::ckpt::File {
 public:
  Bytes(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}
  titan::ckpt::Status pread(std::uint64_t offset, std::span<std::byte> out) override {
    if (offset > size_ || out.size() > size_ - offset) return titan::ckpt::corrupt("the file ends before");
    if (!out.empty()) std::memcpy(out.data(), data_ + offset, out.size());
    return {};
  }
  titan::ckpt::Status pwrite(std::uint64_t, std::span<const std::byte>) override { return titan::ckpt::failed("read only"); }
  titan::ckpt::Status truncate(std::uint64_t) override { return titan::ckpt::failed("read only"); }
  titan::ckpt::Result<std::uint64_t> size() override { return std::uint64_t{size_}; }
  titan::ckpt::Status datasync() override { return {}; }
  titan::ckpt::Status close() override { return {}; }

 private:
  const std::uint8_t* data_;
  std::size_t size_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace titan::convert::dcp;
  Bytes file(data, size);
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
