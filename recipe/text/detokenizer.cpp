#include "recipe/text/detokenizer.h"

#include <algorithm>

#include "ckpt/base/utf8.h"
#include "recipe/text/byte_alphabet.h"
#include "recipe/text/json_types.h"

namespace titan::recipe {

using ckpt::JsonValue;
using ckpt::Result;
using ckpt::Status;

namespace {

constexpr std::size_t kMostReplacements = 2;
constexpr std::size_t kMostWritten = std::size_t{512} << 20;

/// The byte that a byte-fallback token ("<0x0A>") stands for; -1 for other tokens.
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
    if (replacements_.size() == kMostReplacements || grows(replacement.from, replacement.to))
      return refused_type("the decoder's", "Replace, more than two or of longer texts,");
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

Status Detokenizer::add(std::uint32_t id, std::string_view token) {
  if (!tokens_.empty() && id <= tokens_.back().id) return {};  // of several tokens with one id, the first is used
  tokens_.push_back({id, written_.size()});
  written_ += first_without_.empty() ? decoded(token) : std::string(token);
  if (written_.size() > kMostWritten) return ckpt::invalid("the tokens have more than 512 MiB as text");
  return {};
}

std::string_view Detokenizer::written(std::uint32_t id) const {
  const auto at = std::lower_bound(tokens_.begin(), tokens_.end(), id,
                                   [](const Token& token, std::uint32_t other) { return token.id < other; });
  if (at == tokens_.end() || at->id != id) return {};
  const std::uint64_t end = at + 1 == tokens_.end() ? written_.size() : (at + 1)->begin;
  return std::string_view(written_).substr(at->begin, end - at->begin);
}

std::string DecodeRun::stripped(std::string text) {
  if (text.empty()) return text;
  if (at_start_ && detokenizer_.strips_space_ && text.front() == ' ') text.erase(0, 1);
  at_start_ = false;
  return text;
}

std::string DecodeRun::push(std::uint32_t id) {
  const Detokenizer& of = detokenizer_;
  std::string text(of.written(id));
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
