#include "recipe/text/text_stream.h"

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "ckpt/base/utf8.h"

namespace titan::recipe {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";

/// The character at the start of `text`, which may be cut off.
struct Begun {
  std::size_t bytes = 1;  ///< of `text` that belong to it, or to one malformed sequence; never 0
  bool may_go_on = false;
};

// A malformed sequence is the longest one that could have begun a character, as in Python and in web decoders.
// \source The Unicode Standard, section 3.9, "U+FFFD Substitution of Maximal Subparts"
Begun begun(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t lead = byte(0);
  if (lead < 0xc2 || lead > 0xf4) return {};
  const std::size_t whole = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  const std::uint8_t low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
  const std::uint8_t high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
  std::size_t bytes = 1;
  while (bytes < std::min(whole, text.size())) {
    const bool fits = bytes == 1 ? byte(1) >= low && byte(1) <= high : (byte(bytes) & 0xc0) == 0x80;
    if (!fits) return {bytes, false};
    ++bytes;
  }
  return {bytes, bytes < whole};
}

/// The number of bytes at the end of `text` that may be the beginning of a stop string.
std::size_t begins_a_stop(std::string_view text, const std::vector<std::string>& stops) {
  std::size_t most = 0;
  for (const std::string& stop : stops)
    for (std::size_t length = std::min(stop.size() - 1, text.size()); length > most; --length)
      if (text.ends_with(std::string_view(stop).substr(0, length))) most = length;
  return most;
}

}  // namespace

// Takes the buffered bytes before `end`. Bytes of a character that may continue stay in the buffer, unless `last`.
std::string TextStream::take(std::size_t end, bool last) {
  std::string shown;
  std::size_t at = 0;
  while (at < end) {
    const std::string_view rest = std::string_view(held_).substr(at, end - at);
    if (const std::size_t whole = ckpt::decode_utf8(rest).bytes; whole > 0) {
      shown += rest.substr(0, whole);
      at += whole;
      continue;
    }
    const Begun piece = begun(rest);
    if (piece.may_go_on && !last) break;
    shown += kReplacement;
    at += piece.bytes;
  }
  held_.erase(0, at);
  return shown;
}

std::string TextStream::push(std::string_view bytes) {
  if (stopped_) return {};
  held_ += bytes;
  std::size_t found = std::string::npos;
  for (const std::string& stop : stops_) found = std::min(found, held_.find(stop));
  if (found == std::string::npos) return take(held_.size() - begins_a_stop(held_, stops_), false);
  std::string shown = take(found, true);
  held_.clear();
  stopped_ = true;
  return shown;
}

std::string TextStream::finish() { return take(held_.size(), true); }

}  // namespace titan::recipe
