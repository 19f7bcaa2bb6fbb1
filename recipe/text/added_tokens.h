#pragma once
// Tokens that are cut out of a text before it is merged ("added_tokens"): special ones, runs of spaces. Pure.
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "ckpt/base/result.h"

namespace titan::recipe {

struct AddedToken {
  std::uint32_t id = 0;
  std::string content;
  bool single_word = false;  ///< not where a word goes on beside it
  bool lstrip = false;       ///< takes white space before it along
  bool rstrip = false;       ///< and behind it
  bool normalized = true;    ///< looked for in the normalised text
  bool special = false;      ///< left out of decoded text that is to be read
  bool operator==(const AddedToken&) const = default;
};

/// Finds some of the added tokens in texts: the leftmost, of several there the longest.
class TokenFinder {
 public:
  static constexpr std::size_t kLongest = 1024;  // bytes of a token: how far is looked at each place of a text

  void add(std::string_view text, const AddedToken& token);
  bool empty() const { return tokens_.empty(); }

  /// Where a token, or what lies between two of them, stands. `token` is null for the latter.
  using Take = std::function<ckpt::Status(std::string_view text, std::size_t begin, const AddedToken* token)>;
  /// Calls `take` for the parts of `text` from left to right, which are not empty.
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
