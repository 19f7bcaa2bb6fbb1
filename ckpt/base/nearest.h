#pragma once
// "Did you mean": the known names that are closest to a mistyped one. Pure.
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace titan::ckpt {

/// The distance in bytes (optimal string alignment): insertions, deletions, substitutions and swaps of adjacent bytes
/// from `a` to `b`.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// The candidates within two edits of `word` (fewer if both are shorter than four bytes), and those of which `word`
/// is a prefix or that are a prefix of `word` (three bytes or more). Nearest first, ties in the given order, at most
/// `limit`.
std::vector<std::string> nearest(std::string_view word, const std::vector<std::string>& candidates,
                                 std::size_t limit = 3);

/// Returns "did you mean `a`?" or "did you mean `a`, `b` or `c`?"; empty when no candidate is near.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace titan::ckpt
