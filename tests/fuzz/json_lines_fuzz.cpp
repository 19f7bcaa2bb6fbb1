// Any bytes as a file of texts or JSON lines, packed or not: read in large and in small portions they are the same
// documents, each within its buffer, or the same refusal; a line gives its text or says why not.
#include <cstdlib>
#include <string>
#include <vector>

#include "corpus/document_reader.h"
#include "tests/fuzz/bytes_file.h"

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

struct Documents {
  std::vector<std::string> texts;
  std::string error;
  bool operator==(const Documents&) const = default;
};

Documents read(titan::ckpt::Fs& fs, const std::string& separator, std::size_t wanted) {
  using namespace titan;
  constexpr std::size_t kMost = 4 << 20;  // bytes of what a small archive unfolds to
  Documents found;
  auto reader =
      corpus::DocumentReader::open(fs, {.inputs = {"/in"}, .format = {}, .separator = separator, .standard_input = {}});
  require(reader.ok());
  std::size_t bytes = 0;
  while (bytes < kMost) {
    corpus::RawDocuments raw;
    const ckpt::Status status = reader->fill(wanted, raw);
    for (const auto& place : raw.places) {
      require(place.begin < place.end && place.end <= raw.bytes.size());
      const std::string text = raw.bytes.substr(place.begin, place.end - place.begin);
      if (place.json) {
        const auto member = corpus::text_of_line("line", text, "text");
        require(member.ok() || !member.status().message.empty());
      }
      found.texts.push_back(text);
    }
    bytes += raw.bytes.size();
    found.error = status.ok() ? "" : status.to_string();
    if (!status.ok() || raw.places.empty()) return found;
  }
  return {};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  titan::fuzz::BytesFolder fs({{"/in", std::as_bytes(std::span(data, size))}});
  for (const char* separator : {"", "\n\n"}) require(read(fs, separator, 1) == read(fs, separator, 1 << 20));
  return 0;
}
