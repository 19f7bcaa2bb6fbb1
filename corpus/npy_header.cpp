// The header is a Python dictionary literal: {'descr': '<i4', 'fortran_order': False, 'shape': (3, 4), }
#include "corpus/npy_header.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <string_view>

namespace titan::corpus {
namespace {

using ckpt::Result;

constexpr std::size_t kMostExtents = 64;

class Literal {
 public:
  explicit Literal(std::string_view text) : text_(text) {}

  bool take(char expected) {
    skip();
    if (at_ >= text_.size() || text_[at_] != expected) return false;
    ++at_;
    return true;
  }
  bool word(std::string_view expected) {
    skip();
    if (text_.substr(at_, expected.size()) != expected) return false;
    at_ += expected.size();
    return true;
  }
  bool quoted(std::string* out) {
    skip();
    if (at_ >= text_.size() || (text_[at_] != '\'' && text_[at_] != '"')) return false;
    const std::size_t end = text_.find(text_[at_], at_ + 1);
    if (end == std::string_view::npos) return false;
    *out = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return true;
  }
  bool number(std::uint64_t* out) {
    skip();
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), *out);
    if (error != std::errc{}) return false;
    at_ = static_cast<std::size_t>(end - text_.data());
    return true;
  }
  bool at_end() {
    skip();
    return at_ == text_.size();
  }

 private:
  void skip() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }
  std::string_view text_;
  std::size_t at_ = 0;
};

bool read_shape(Literal& literal, std::vector<std::uint64_t>* shape) {
  if (!literal.take('(')) return false;
  while (!literal.take(')')) {
    std::uint64_t extent = 0;
    if (shape->size() == kMostExtents || !literal.number(&extent)) return false;
    shape->push_back(extent);
    if (!literal.take(',')) return literal.take(')');
  }
  return true;
}

bool read_entry(Literal& literal, NpyHeader* header) {
  std::string key;
  if (!literal.quoted(&key) || !literal.take(':')) return false;
  if (key == "descr") return literal.quoted(&header->descr);
  if (key == "shape") return read_shape(literal, &header->shape);
  if (key != "fortran_order") return false;
  header->fortran_order = literal.word("True");
  return header->fortran_order || literal.word("False");
}

bool read_dictionary(Literal literal, NpyHeader* header) {
  if (!literal.take('{')) return false;
  while (!literal.take('}')) {
    if (!read_entry(literal, header)) return false;
    if (!literal.take(',') && !literal.take('}')) return false;
    if (literal.at_end()) break;
  }
  return literal.at_end() && !header->descr.empty();
}

}  // namespace

Result<NpyHeader> parse_npy_header(std::span<const std::byte> file) {
  const std::string_view text(reinterpret_cast<const char*>(file.data()), std::min(file.size(), kLongestNpyHeader));
  if (!text.starts_with("\x93NUMPY") || text.size() < 12) return ckpt::invalid("not a NumPy file");
  const int major = text[6];
  if (major < 1 || major > 3)
    return ckpt::invalid("a NumPy file of version " + std::to_string(major) + "; 1 to 3 are known");
  const std::size_t width = major == 1 ? 2 : 4;
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < width; ++i) length |= std::uint64_t{static_cast<unsigned char>(text[8 + i])} << (8 * i);
  NpyHeader header;
  header.data_offset = 8 + width + length;
  if (header.data_offset > text.size() || !read_dictionary(Literal(text.substr(8 + width, length)), &header))
    return ckpt::invalid("a NumPy file whose header cannot be read");
  return header;
}

}  // namespace titan::corpus
