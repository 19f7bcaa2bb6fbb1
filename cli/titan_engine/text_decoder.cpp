#include "cli/titan_engine/text_decoder.h"

#include "recipe/text/tokenizer.h"

namespace titan::cli {

using ckpt::Result;

Result<std::vector<std::int64_t>> ids_of(const Texts& texts, const std::string& text, bool around) {
  std::vector<std::int64_t> ids;
  if (!texts.tokenizer) {
    for (const char c : text) ids.push_back(static_cast<unsigned char>(c));
    return ids;
  }
  std::vector<std::uint32_t> encoded;
  if (around) encoded = texts.tokenizer->prefix();
  recipe::Encoder encoder(*texts.tokenizer);
  TITAN_RETURN_IF_ERROR(encoder.encode(text, encoded));
  ids.assign(encoded.begin(), encoded.end());
  return ids;
}

TextDecoder::TextDecoder(const Texts& texts) : texts_(texts) {
  if (texts.tokenizer) run_.emplace(texts.tokenizer->detokenizer());
}

void TextDecoder::follow(const std::vector<std::int64_t>& ids) {
  for (const std::int64_t id : ids) push(id);
}

std::string TextDecoder::push(std::int64_t token) {
  // An id above 255 is not a byte. It becomes the byte 0xff, which never occurs in UTF-8.
  if (!run_) return std::string(1, token < 256 ? static_cast<char>(token) : '\xff');
  const auto id = static_cast<std::uint32_t>(token);
  return texts_.tokenizer->special(id) ? std::string() : run_->push(id);
}

std::string TextDecoder::finish() { return run_ ? run_->finish() : std::string(); }

}  // namespace titan::cli
