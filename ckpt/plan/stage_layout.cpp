#include "ckpt/plan/stage_layout.h"

#include <algorithm>
#include <charconv>

namespace titan::ckpt {
namespace {

constexpr std::size_t kLongest = 65'536;  // characters after expansion

class Expander {
 public:
  explicit Expander(std::string_view layout) : layout_(layout) {
    for (const char c : layout)
      if (c != ',') text_ += c;
  }

  Result<std::string> run() {
    TITAN_ASSIGN_OR_RETURN(text_, expand_groups());
    return expand_characters();
  }

 private:
  Status wrong(const std::string& what) const { return invalid("stages `" + std::string(layout_) + "`: " + what); }

  /// Reads "*n" at `at` and moves past it; 1 if there is none.
  Result<std::size_t> repeat(std::size_t& at) {
    if (at >= text_.size() || text_[at] != '*') return std::size_t{1};
    std::size_t count = 0;
    const auto [end, error] = std::from_chars(text_.data() + at + 1, text_.data() + text_.size(), count);
    if (error != std::errc{} || count == 0 || count > kLongest)
      return wrong("`*` needs a number from 1 to " + std::to_string(kLongest));
    at = static_cast<std::size_t>(end - text_.data());
    return count;
  }

  Status append(std::string& out, std::string_view part, std::size_t count) {
    if (part.size() * count > kLongest - out.size())
      return wrong("it is longer than " + std::to_string(kLongest) + " groups");
    for (; count > 0; --count) out += part;
    return ok_status();
  }

  Result<std::string> expand_groups() {
    std::string out;
    for (std::size_t at = 0; at < text_.size();) {
      if (text_[at] == ')') return wrong("`)` without `(`");
      if (text_[at] != '(') {
        TITAN_RETURN_IF_ERROR(append(out, text_.substr(at++, 1), 1));
        continue;
      }
      const std::size_t end = text_.find_first_of("()", at + 1);
      if (end == std::string::npos) return wrong("`(` without `)`");
      if (text_[end] == '(') return wrong("groups in groups are not allowed");
      const std::string part = text_.substr(at + 1, end - at - 1);
      if (part.starts_with('*')) return wrong("a group cannot begin with `*`");
      at = end + 1;
      if (at >= text_.size() || text_[at] != '*') return wrong("`)` must be followed by `*` and a number");
      TITAN_ASSIGN_OR_RETURN(const std::size_t count, repeat(at));
      TITAN_RETURN_IF_ERROR(append(out, part, count));
    }
    return out;
  }

  Result<std::string> expand_characters() {
    std::string out;
    for (std::size_t at = 0; at < text_.size();) {
      const std::string part = text_.substr(at++, 1);
      if (part == "m")
        return unsupported("stages `" + std::string(layout_) + "`: multi-token prediction (m) is not supported");
      if (part.find_first_of("EtL|") == std::string::npos) return wrong("`" + part + "` is none of E t L | ( ) * ,");
      TITAN_ASSIGN_OR_RETURN(const std::size_t count, repeat(at));
      TITAN_RETURN_IF_ERROR(append(out, part, count));
    }
    return out;
  }

  std::string_view layout_;
  std::string text_;
};

}  // namespace

Result<std::vector<std::uint32_t>> parse_stage_layout(std::string_view layout, std::uint32_t layers) {
  TITAN_ASSIGN_OR_RETURN(const std::string text, Expander(layout).run());
  const auto wrong = [&](const std::string& what) { return invalid("stages `" + std::string(layout) + "`: " + what); };
  if (text.empty() || text.front() != 'E' || std::count(text.begin(), text.end(), 'E') != 1)
    return wrong("E must come first, and once");
  if (text.back() != 'L' || std::count(text.begin(), text.end(), 'L') != 1) return wrong("L must come last, and once");
  const auto given = static_cast<std::uint64_t>(std::count(text.begin(), text.end(), 't'));
  if (given != layers)
    return wrong("it has " + std::to_string(given) + " layers, the model has " + std::to_string(layers));
  std::vector<std::uint32_t> cuts;
  std::uint32_t group = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '|') {
      ++group;
      continue;
    }
    if (text[i + 1] == '|') return wrong("stage " + std::to_string(cuts.size() + 1) + " is empty");
    cuts.push_back(group);
  }
  return cuts;
}

std::string stage_layout_text(const std::vector<std::uint32_t>& cuts, std::uint32_t layers) {
  std::string text;
  for (std::size_t stage = 0; stage <= cuts.size(); ++stage) {
    const std::uint32_t first = stage == 0 ? 0 : cuts[stage - 1], end = stage < cuts.size() ? cuts[stage] : layers + 2;
    const std::uint32_t from = std::max(first, 1u), to = std::min(end, layers + 1);
    const std::uint32_t inside = to > from ? to - from : 0;
    if (stage > 0) text += '|';
    if (first == 0) text += 'E';
    if (inside > 0) text += inside == 1 ? "t" : "t*" + std::to_string(inside);
    if (end == layers + 2) text += 'L';
  }
  return text;
}

}  // namespace titan::ckpt
