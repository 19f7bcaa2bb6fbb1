#pragma once
// Lines that are broken between words. Pure.
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace titan::ckpt {

/// Breaks `text` at blanks into lines of at most `width` characters; the first has `first` of them less. A word that is
/// longer has a line of its own. Blanks within a line stay as they are.
std::vector<std::string> wrap_words(std::string_view text, std::size_t width, std::size_t first = 0);

/// The same as one text: lines after the first are indented by `indent` blanks, which count.
std::string wrapped_text(std::string_view text, std::size_t width, std::size_t indent);

}  // namespace titan::ckpt
