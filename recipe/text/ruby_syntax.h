#pragma once
// Translates regular expressions of tokenizer.json, which have Oniguruma's syntax (Ruby's, with Unicode 16), to PCRE2
// with UTF, UCP and MULTILINE. Constructs that the two treat differently are rewritten or refused. Pure.
// \source https://github.com/kkos/oniguruma/blob/master/doc/RE, https://www.pcre.org/current/doc/html/pcre2pattern.html
#include <string>
#include <string_view>
#include <vector>

#include "ckpt/base/result.h"
#include "recipe/text/new_codes.h"

namespace titan::recipe {

/// A translated pattern.
struct PcreSyntax {
  std::string plain;             ///< correct for texts without code points of `newer`
  std::string exact;             ///< correct for all texts, but slower
  std::vector<CodeRange> newer;  ///< code points in the pattern's categories that PCRE2's tables may lack, ascending
};

/// Translates `pattern`. \error kUnsupported: PCRE2 treats it differently, and no rewriting is known; kInvalid: too
/// long, or cut off
ckpt::Result<PcreSyntax> from_ruby(std::string_view pattern);

/// A pattern that matches exactly `text`.
std::string quoted_pattern(std::string_view text);

}  // namespace titan::recipe
