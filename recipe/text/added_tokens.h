#pragma once
// Added tokens (the list "added_tokens" in tokenizer.json), such as special tokens or runs of spaces. They are cut out
// of a text before its rest is encoded by merges. Pure.
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "ckpt/base/result.h"

namespace titan::recipe {

/// One added token; its fields have the names of tokenizer.json.
struct AddedToken {
  std::uint32_t id = 0;
  std::string content;
  bool single_word = false;  ///< matches only if no word character is directly before or after it
  bool lstrip = false;       ///< the match includes white space before it
  bool rstrip = false;       ///< the match includes white space after it
  bool normalized = true;    ///< searched for in the normalised text; false: in the original text
  bool special = false;      ///< omitted when ids are decoded for display
  bool operator==(const AddedToken&) const = default;
};

/// Finds added tokens in texts: the leftmost one, and of several at the same offset the longest.
class TokenFinder {
 public:
  static constexpr std::size_t kLongest = 1024;  // most bytes of a token that tokenizer.json may have

  /// Adds `token`, which is found where a text contains `text`.
  void add(std::string_view text, const AddedToken& token);
  bool empty() const { return tokens_.empty(); }

  /// Receives a token, or the text between two tokens, with its offset. For text between tokens, the token is null.
  using Take = std::function<ckpt::Status(std::string_view text, std::size_t begin, const AddedToken* token)>;
  /// Calls `take` for the parts of `text` from left to right; none is empty.
  ckpt::Status cut(std::string_view text, const Take& take) const;

 private:
  struct Node {
    std::int32_t token = -1;
    std::vector<std::pair<std::uint8_t, std::uint32_t>> next;  // by byte, ascending
  };
  const AddedToken* longest_at(std::string_view text, std::size_t* bytes) const;

  std::vector<AddedToken> tokens_;
  std::vector<Node> nodes_{1};
  bool leads_[256] = {};
};

}  // namespace titan::recipe
