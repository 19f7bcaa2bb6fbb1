// Any bytes as data.json of a folder of tokens: they are refused with a reason, or say what write_token_data() writes
// again.
#include <cstdlib>
#include <string>

#include "ckpt/base/text.h"
#include "corpus/token_data.h"
#include "tests/fuzz/bytes_file.h"

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace titan;
  constexpr std::byte kNothing[16] = {};
  const auto folder = [&](std::span<const std::byte> json) {
    return fuzz::BytesFolder({{"/d/data.json", json},
                              {"/d/tokens", std::span(kNothing).first(4)},
                              {"/d/ends", std::span(kNothing).first(8)}});
  };
  fuzz::BytesFolder fs = folder(std::as_bytes(std::span(data, size)));
  corpus::is_token_data(fs, "/d");
  const auto read = corpus::read_token_data(fs, "/d");
  if (!read.ok()) {
    require(!read.status().message.empty());
    return 0;
  }
  const std::string written = corpus::write_token_data(*read);
  fuzz::BytesFolder again = folder(std::as_bytes(std::span(written)));
  const auto same = corpus::read_token_data(again, "/d");
  require(same.ok() && *same == *read);
  return 0;
}
