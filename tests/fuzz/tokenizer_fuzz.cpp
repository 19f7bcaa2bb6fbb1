// Any bytes as tokenizer.json: they are refused with a reason, or make a tokenizer that encodes each text or says why
// not, within a bounded number of ids, and decodes what it made.
#include <cstdlib>
#include <string_view>
#include <vector>

#include "recipe/text/tokenizer.h"

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

constexpr std::string_view kTexts[] = {"", "a", "hello  hello\n\n\tx", "<s>h<s> \xc3\xa9\xcc\x81 12345",
                                       "\xe4\xbd\xa0\xf0\x9f\x98\x80'LL ok"};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace titan;
  const auto tokenizer = recipe::Tokenizer::parse("input", {reinterpret_cast<const char*>(data), size}, "");
  if (!tokenizer.ok()) {
    require(!tokenizer.status().message.empty());
    return 0;
  }
  recipe::Encoder encoder(*tokenizer);
  for (const std::string_view text : kTexts) {
    std::vector<std::uint32_t> ids, again;
    const ckpt::Status status = encoder.encode(text, ids);
    require(encoder.encode(text, again) == status);
    if (!status.ok()) continue;
    require(ids == again);
    for (const std::uint32_t id : ids) require(id < tokenizer->id_bound());
    recipe::decode(*tokenizer, ids);
  }
  return 0;
}
