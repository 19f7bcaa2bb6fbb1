#pragma once
// Breaks lines between words. Pure.
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace titan::ckpt {

/// Breaks `text` at blanks into lines of at most `width` characters; the first line has at most `width` - `first`. A
/// word longer than a line gets a line of its own. Blanks within a line are kept.
std::vector<std::string> wrap_words(std::string_view text, std::size_t width, std::size_t first = 0);

/// The lines of wrap_words() joined. Lines after the first are indented by `indent` blanks, which count towards
/// `width`.
std::string wrapped_text(std::string_view text, std::size_t width, std::size_t indent);

}  // namespace titan::ckpt
