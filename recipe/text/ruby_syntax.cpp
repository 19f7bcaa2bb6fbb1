#include "recipe/text/ruby_syntax.h"

#include <algorithm>
#include <cctype>
#include <cstdio>

namespace titan::recipe {
namespace {

using ckpt::Result;
using ckpt::Status;

constexpr std::size_t kLongestPattern = 16384;

// The white space of Oniguruma. PCRE2 also counts U+180E.
constexpr const char* kSpace =
    R"(\x{9}-\x{d}\x{20}\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000})";
constexpr const char* kNoSpace =
    R"(\x{0}-\x{8}\x{e}-\x{1f}\x{21}-\x{84}\x{86}-\x{9f}\x{a1}-\x{167f}\x{1681}-\x{1fff}\x{200b}-\x{2027})"
    R"(\x{202a}-\x{202e}\x{2030}-\x{205e}\x{2060}-\x{2fff}\x{3001}-\x{10ffff})";
// Oniguruma's word characters. They include U+24B6 and other letters in circles and squares.
constexpr const char* kWord =
    R"(\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}\x{24b6}-\x{24e9}\x{1f130}-\x{1f149}\x{1f150}-\x{1f169}\x{1f170}-\x{1f189})";

std::string in_class(const std::vector<CodeRange>& ranges) {
  std::string text;
  char buffer[32];
  for (const CodeRange& range : ranges) {
    std::snprintf(buffer, sizeof buffer, range.first == range.last ? "\\x{%x}" : "\\x{%x}-\\x{%x}", range.first,
                  range.last);
    text += buffer;
  }
  return text;
}

class Rewriter {
 public:
  explicit Rewriter(std::string_view pattern) : pattern_(pattern) {}

  Result<PcreSyntax> run() {
    if (pattern_.size() > kLongestPattern)
      return ckpt::invalid("a pattern has " + std::to_string(pattern_.size()) + " bytes, more than " +
                           std::to_string(kLongestPattern));
    while (at_ < pattern_.size() && status_.ok()) {
      if (in_class_) {
        class_item();
      } else {
        item();
      }
    }
    if (status_.ok() && in_class_) fail("a class is not closed");
    if (!status_.ok()) return status_;
    std::ranges::sort(out_.newer, {}, &CodeRange::first);
    out_.newer.erase(std::unique(out_.newer.begin(), out_.newer.end()), out_.newer.end());
    return std::move(out_);
  }

 private:
  bool next_is(std::string_view text) const { return pattern_.substr(at_).starts_with(text); }
  void both(std::string_view text) {
    out_.plain += text;
    out_.exact += text;
  }
  void copy(std::size_t bytes) {
    both(pattern_.substr(at_, bytes));
    at_ += bytes;
  }
  void fail(const std::string& what) {
    if (status_.ok()) status_ = ckpt::invalid("the pattern '" + std::string(pattern_) + "': " + what);
  }
  void refuse(const std::string& what) {
    if (status_.ok())
      status_ = ckpt::unsupported("the pattern '" + std::string(pattern_) + "': " + what + " is not supported yet");
  }

  /// A set of characters; `newer` are those that PCRE2 may not know.
  void set(std::string_view members, const std::vector<CodeRange>& newer, bool negated) {
    if (in_class_ && negated) return refuse("a negated category inside a class");
    const char* open = in_class_ ? "" : negated ? "[^" : "[";
    const char* close = in_class_ ? "" : "]";
    out_.plain.append(open).append(members).append(close);
    out_.exact.append(open).append(members).append(in_class(newer)).append(close);
    out_.newer.insert(out_.newer.end(), newer.begin(), newer.end());
  }

  void category(bool negated) {
    const std::size_t close = pattern_.find('}', at_);
    if (!next_is("{") || close == std::string_view::npos) return fail("\\p without a name in braces");
    std::string_view name = pattern_.substr(at_ + 1, close - at_ - 1);
    if (name.starts_with('^')) {
      negated = !negated;
      name.remove_prefix(1);
    }
    constexpr std::string_view kKnown[] = {"L",  "Lu", "Ll", "Lt", "Lm", "Lo", "M",  "Mn", "Mc",
                                           "Me", "N",  "Nd", "Nl", "No", "P",  "Pc", "Pd", "Ps",
                                           "Pe", "Pi", "Pf", "Po", "S",  "Sm", "Sc", "Sk", "So"};
    if (std::find(std::begin(kKnown), std::end(kKnown), name) == std::end(kKnown))
      return refuse("the property '" + std::string(name) + "'");
    at_ = close + 1;
    set("\\p{" + std::string(name) + "}", new_codes(name), negated);
  }

  void word(bool negated) {
    std::vector<CodeRange> newer = new_codes("L");
    for (const char* more : {"M", "Nd", "Nl", "Pc"}) {
      const std::vector<CodeRange> codes = new_codes(more);
      newer.insert(newer.end(), codes.begin(), codes.end());
    }
    set(kWord, newer, negated);
  }

  void code_point() {  // \uHHHH
    const std::string_view digits = pattern_.substr(at_, 4);
    if (digits.size() < 4 ||
        !std::all_of(digits.begin(), digits.end(), [](unsigned char c) { return std::isxdigit(c); }))
      return fail("\\u without four hexadecimal digits");
    both("\\x{" + std::string(digits) + "}");
    at_ += 4;
  }

  void escape() {
    if (at_ + 1 >= pattern_.size()) return fail("it ends with a backslash");
    const char c = pattern_[at_ + 1];
    const std::size_t begin = at_;
    at_ += 2;
    switch (c) {
      case 's': return both(in_class_ ? std::string(kSpace) : "[" + std::string(kSpace) + "]");
      case 'S': return both(in_class_ ? std::string(kNoSpace) : "[^" + std::string(kSpace) + "]");
      case 'd':
      case 'D': return set("\\p{Nd}", new_codes("Nd"), c == 'D');
      case 'w':
      case 'W': return word(c == 'W');
      case 'p':
      case 'P': return category(c == 'P');
      case 'u': return code_point();
      case 'v': return both("\\x{b}");
      case 'x':
        if (next_is("{")) return both("\\x");
        break;
      case 'n':
      case 'r':
      case 't':
      case 'f':
      case 'a':
      case 'e': return both(pattern_.substr(begin, 2));
      case 'A':
      case 'z':
      case 'Z':
        if (!in_class_) return both(pattern_.substr(begin, 2));
        break;
      default:
        if (!std::isalnum(static_cast<unsigned char>(c))) return both(pattern_.substr(begin, 2));
    }
    refuse("'\\" + std::string(1, c) + "'");
  }

  void open_class() {
    in_class_ = true;
    copy(1);
    if (next_is("^")) copy(1);
    if (next_is("]")) refuse("a class that begins with ']'");
  }

  void class_item() {
    if (next_is("\\")) return escape();
    if (next_is("[")) return refuse("'[' inside a class");
    if (next_is("&&")) return refuse("'&&' inside a class");
    if (next_is("]")) in_class_ = false;
    copy(1);
  }

  void group() {
    for (const char* known : {"(?:", "(?=", "(?!", "(?>", "(?<=", "(?<!", "(?i:", "(?i)"})
      if (next_is(known)) return copy(std::string_view(known).size());
    if (next_is("(?") || next_is("(*")) return refuse("'" + std::string(pattern_.substr(at_, 3)) + "'");
    copy(1);
  }

  void braces() {  // {n}, {n,m}: a repetition
    const std::size_t close = pattern_.find('}', at_);
    const std::string_view inner = close == std::string_view::npos ? "x" : pattern_.substr(at_ + 1, close - at_ - 1);
    if (inner.find_first_not_of("0123456789,") != std::string_view::npos || inner.empty())
      return refuse("'{' that begins no repetition");
    both(inner.starts_with(',') ? "{0" + std::string(inner) + "}" : "{" + std::string(inner) + "}");
    at_ = close + 1;
    if (next_is("+")) refuse("'}+', which is no possessive repetition in Ruby's syntax,");  // in PCRE2 it is one
  }

  void item() {
    switch (pattern_[at_]) {
      case '\\': return escape();
      case '[': return open_class();
      case '(': return group();
      case '{': return braces();
      default: copy(1);
    }
  }

  std::string_view pattern_;
  std::size_t at_ = 0;
  bool in_class_ = false;
  PcreSyntax out_;
  Status status_;
};

}  // namespace

Result<PcreSyntax> from_ruby(std::string_view pattern) { return Rewriter(pattern).run(); }

std::string quoted_pattern(std::string_view text) {
  std::string pattern;
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x80 && !std::isalnum(static_cast<unsigned char>(c))) pattern += '\\';
    pattern += c;
  }
  return pattern;
}

}  // namespace titan::recipe
