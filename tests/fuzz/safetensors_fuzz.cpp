// Any bytes as a safetensors file: the reader either explains what is wrong, or gives entries that tile the buffer and
// that the writer writes as a header with the same entries.
#include <algorithm>
#include <cstdlib>

#include "converters/hf/safetensors.h"
#include "tests/fuzz/bytes_file.h"

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using titan::convert::SafetensorsEntry;
  titan::fuzz::BytesFile file(std::as_bytes(std::span(data, size)));
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
