#pragma once
// Turns bytes that arrive in parts into text that can be shown at once: whole UTF-8 characters, up to the first stop
// string. Pure.
#include <string>
#include <string_view>
#include <vector>

namespace titan::recipe {

class TextStream {
 public:
  /// `stops`: non-empty strings that end the stream. They are not part of the output.
  explicit TextStream(std::vector<std::string> stops = {}) : stops_(std::move(stops)) {}

  /// Takes the next bytes. Returns the text that can be shown now: whole characters that can no longer be a part of a
  /// stop string. Malformed bytes become U+FFFD.
  std::string push(std::string_view bytes);
  /// Returns the buffered text; call it when no bytes follow.
  std::string finish();
  /// True once a stop string was found; push() then ignores its bytes.
  bool stopped() const { return stopped_; }

 private:
  std::string take(std::size_t end, bool last);

  std::vector<std::string> stops_;
  std::string held_;
  bool stopped_ = false;
};

}  // namespace titan::recipe
