#pragma once
// "Did you mean": which of the known names a mistyped one was probably meant to be. Pure.
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace titan::ckpt {

/// Counts the insertions, deletions, substitutions and swaps of neighbours that turn `a` into `b` (bytes).
std::size_t edit_distance(std::string_view a, std::string_view b);

/// Returns the candidates that are within two edits of `word` (fewer if both are shorter than four bytes), or of which
/// one is a prefix of the other (three bytes or more). Nearest first, equals in the order given, at most `limit`.
std::vector<std::string> nearest(std::string_view word, const std::vector<std::string>& candidates,
                                 std::size_t limit = 3);

/// Returns "did you mean `a`?" or "did you mean `a`, `b` or `c`?"; empty when no candidate is near.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace titan::ckpt
