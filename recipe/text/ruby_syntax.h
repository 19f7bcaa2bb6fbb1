#pragma once
// Regular expressions of tokenizer.json, which are Oniguruma's (Ruby's syntax, tables of Unicode 16), in the syntax of
// PCRE2 with UTF, UCP and MULTILINE. What the two read differently is rewritten or refused. Pure.
// \source https://github.com/kkos/oniguruma/blob/master/doc/RE, https://www.pcre.org/current/doc/html/pcre2pattern.html
#include <string>
#include <string_view>
#include <vector>

#include "ckpt/base/result.h"
#include "recipe/text/new_codes.h"

namespace titan::recipe {

struct PcreSyntax {
  std::string plain;             ///< right for texts without a code point of `newer`
  std::string exact;             ///< right for all texts; slower
  std::vector<CodeRange> newer;  ///< that its categories have and PCRE2's tables may lack, ascending
};

/// \error kUnsupported: what PCRE2 reads in another way and has no rewriting here; kInvalid: too long, or cut off
ckpt::Result<PcreSyntax> from_ruby(std::string_view pattern);

/// A pattern that matches `text` alone.
std::string quoted_pattern(std::string_view text);

}  // namespace titan::recipe
