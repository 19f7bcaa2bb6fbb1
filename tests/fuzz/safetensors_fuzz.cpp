// Any bytes as a safetensors file: the reader either explains what is wrong, or gives entries that tile the buffer and that the
// writer writes as a header with the same entries.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "converters/hf/safetensors.h"

namespace {

using titan::ckpt::Status;

// The input as a file.
class BytesFile final : public titan::ckpt::File {
 public:
  explicit BytesFile(std::span<const std::byte> bytes) : bytes_(bytes) {}
  Status pread(std::uint64_t offset, std::span<std::byte> out) override {
    if (offset > bytes_.size() || out.size() > bytes_.size() - offset) return titan::ckpt::corrupt("the file ends");
    if (!out.empty()) std::memcpy(out.data(), bytes_.data() + offset, out.size());
    return titan::ckpt::ok_status();
  }
  Status pwrite(std::uint64_t, std::span<const std::byte>) override { return titan::ckpt::failed("read only"); }
  Status truncate(std::uint64_t) override { return titan::ckpt::failed("read only"); }
  titan::ckpt::Result<std::uint64_t> size() override { return std::uint64_t{bytes_.size()}; }
  Status datasync() override { return titan::ckpt::ok_status(); }
  Status close() override { return titan::ckpt::ok_status(); }

 private:
  std::span<const std::byte> bytes_;
};

void require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using titan::convert::SafetensorsEntry;
  BytesFile file(std::as_bytes(std::span(data, size)));
  const auto header = titan::convert::read_safetensors_header(file, "input");
  if (!header.ok()) {
    require(!header.status().message.empty());
    return 0;
  }
  std::uint64_t next = 0;
  for (const SafetensorsEntry& entry : header->entries) {
    require(entry.begin == next && entry.end >= entry.begin);
    next = entry.end;
  }
  require(header->buffer_offset + next == size);

  std::vector<SafetensorsEntry> entries = header->entries;
  const std::string again = titan::convert::encode_safetensors_header(entries, header->metadata);
  const auto reread = titan::convert::decode_safetensors_header("again", std::string_view(again).substr(8), next);
  require(reread.ok() && reread->entries.size() == entries.size() && reread->metadata == header->metadata);
  return 0;
}
