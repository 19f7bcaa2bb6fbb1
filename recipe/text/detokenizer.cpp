#include "recipe/text/detokenizer.h"

#include "ckpt/base/utf8.h"
#include "recipe/text/byte_alphabet.h"
#include "recipe/text/json_types.h"

namespace titan::recipe {

using ckpt::JsonValue;
using ckpt::Result;
using ckpt::Status;

namespace {

/// The byte of "<0x0A>"; -1 for other tokens.
int fallback_byte(std::string_view token) {
  if (token.size() != 6 || !token.starts_with("<0x") || token.back() != '>') return -1;
  int value = 0;
  for (const char c : token.substr(3, 2)) {
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                             : -1;
    if (digit < 0) return -1;
    value = value * 16 + digit;
  }
  return value;
}

std::string without(std::string text, const std::string& part, const std::string& instead) {
  for (std::size_t at = 0; !part.empty() && (at = text.find(part, at)) != std::string::npos; at += instead.size())
    text.replace(at, part.size(), instead);
  return text;
}

}  // namespace

Status Detokenizer::add_part(const JsonValue& part) {
  const std::string type = type_of(part);
  if (type == "ByteLevel") {
    byte_level_ = true;
  } else if (type == "ByteFallback") {
    byte_fallback_ = true;
  } else if (type == "Metaspace") {
    TITAN_ASSIGN_OR_RETURN(const std::string mark, text_of(part, "replacement"));
    TITAN_ASSIGN_OR_RETURN(const bool prefix, flag_of(part, "add_prefix_space", true));
    const JsonValue* scheme = part.find("prepend_scheme");
    const bool never = scheme == nullptr ? !prefix : scheme->text() != nullptr && *scheme->text() == "never";
    if (!never) first_without_ = mark;
    replacements_.push_back({mark, " "});
  } else if (type == "Replace") {
    const JsonValue* pattern = part.find("pattern");
    if (pattern == nullptr || pattern->find("String") == nullptr)
      return refused_type("a decoder's Replace of", "Regex");
    Replacement replacement;
    TITAN_ASSIGN_OR_RETURN(replacement.from, text_of(*pattern, "String"));
    TITAN_ASSIGN_OR_RETURN(replacement.to, text_of(part, "content"));
    replacements_.push_back(std::move(replacement));
  } else if (type == "Strip") {
    TITAN_ASSIGN_OR_RETURN(const std::string content, text_of(part, "content"));
    const JsonValue *start = part.find("start"), *stop = part.find("stop");
    if (content != " " || start == nullptr || start->as_u64() != 1 || (stop != nullptr && stop->as_u64() != 0))
      return refused_type("the decoder", "Strip of more than one space at the beginning");
    strips_space_ = true;
  } else if (type != "Fuse") {
    return refused_type("the decoder", type);
  }
  return {};
}

Result<Detokenizer> Detokenizer::read(const JsonValue* part, bool byte_level) {
  Detokenizer detokenizer;
  if (part == nullptr) {
    detokenizer.byte_level_ = true;
    if (byte_level) return detokenizer;
    return ckpt::unsupported("a tokenizer of characters without a decoder is not supported yet");
  }
  TITAN_ASSIGN_OR_RETURN(const std::vector<const JsonValue*> parts, parts_of(*part, "decoders"));
  for (const JsonValue* each : parts) TITAN_RETURN_IF_ERROR(detokenizer.add_part(*each));
  return detokenizer;
}

std::string Detokenizer::decoded(std::string_view token) const {
  std::string text(token);
  if (byte_level_) return bytes_of_letters(token).value_or(text);
  for (const Replacement& each : replacements_) text = without(std::move(text), each.from, each.to);
  return text;
}

void Detokenizer::add(std::uint32_t id, std::string_view token) {
  if (id + std::size_t{1} < begins_.size()) return;  // the first token of an id counts
  begins_.resize(id + std::size_t{1}, written_.size());
  written_ += first_without_.empty() ? decoded(token) : std::string(token);
  begins_.push_back(written_.size());
}

std::string DecodeRun::stripped(std::string text) {
  if (text.empty()) return text;
  if (at_start_ && detokenizer_.strips_space_ && text.front() == ' ') text.erase(0, 1);
  at_start_ = false;
  return text;
}

std::string DecodeRun::push(std::uint32_t id) {
  const Detokenizer& of = detokenizer_;
  if (id + std::size_t{1} >= of.begins_.size()) return {};
  std::string text = of.written_.substr(of.begins_[id], of.begins_[id + 1] - of.begins_[id]);
  if (!of.first_without_.empty()) {
    if (first_) text = without(std::move(text), of.first_without_, "");
    text = of.decoded(text);
  }
  first_ = false;
  const int byte = of.byte_fallback_ ? fallback_byte(text) : -1;
  if (byte >= 0) {
    bytes_ += static_cast<char>(byte);
    return {};
  }
  const std::string before = finish();
  return before + stripped(std::move(text));
}

std::string DecodeRun::finish() {
  if (bytes_.empty()) return {};
  std::string text;
  if (ckpt::is_utf8(bytes_)) {
    text = bytes_;
  } else {
    for (std::size_t i = 0; i < bytes_.size(); ++i) text += "\xef\xbf\xbd";
  }
  bytes_.clear();
  return stripped(std::move(text));
}

}  // namespace titan::recipe
