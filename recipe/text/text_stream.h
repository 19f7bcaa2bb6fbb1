#pragma once
// Bytes that come in pieces, as text that can be shown at once: whole UTF-8 characters, up to the first of the texts
// that end it. Pure.
#include <string>
#include <string_view>
#include <vector>

namespace titan::recipe {

class TextStream {
 public:
  /// `stops`: texts that end the stream, none of them empty; they are not part of it.
  explicit TextStream(std::vector<std::string> stops = {}) : stops_(std::move(stops)) {}

  /// Takes the next bytes. Returns what can be shown now: whole characters that no longer may belong to a stop;
  /// malformed bytes as U+FFFD.
  std::string push(std::string_view bytes);
  /// What was held back, once nothing follows.
  std::string finish();
  /// A stop has come: push() takes nothing any more.
  bool stopped() const { return stopped_; }

 private:
  std::string take(std::size_t end, bool last);

  std::vector<std::string> stops_;
  std::string held_;
  bool stopped_ = false;
};

}  // namespace titan::recipe
