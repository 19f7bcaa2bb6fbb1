#include "recipe/text/added_tokens.h"

#include <algorithm>

#include "ckpt/base/utf8.h"
#include "recipe/text/pattern.h"

namespace titan::recipe {
namespace {

using ckpt::Status;

using Edge = std::pair<std::uint8_t, std::uint32_t>;

auto edge_at(const std::vector<Edge>& edges, std::uint8_t byte) {
  return std::lower_bound(edges.begin(), edges.end(), byte,
                          [](const Edge& edge, std::uint8_t b) { return edge.first < b; });
}

/// Whether a single character matches `pattern`.
bool is_one(const char* pattern, std::string_view character) {
  const auto compiled = Pattern::compile(pattern);
  if (!compiled.ok()) return false;
  Matcher matcher(*compiled);
  Match match;
  matcher.start(character);
  return matcher.next(&match);
}

std::string_view first_character(std::string_view text) {
  return text.substr(0, std::max<std::size_t>(ckpt::decode_utf8(text).bytes, 1));
}

std::string_view last_character(std::string_view text) {
  std::size_t begin = text.size() - 1;
  while (begin > 0 && (static_cast<std::uint8_t>(text[begin]) & 0xc0) == 0x80) --begin;
  return text.substr(begin);
}

constexpr const char* kWord = "\\w";
constexpr const char* kSpace = "\\s";

}  // namespace

void TokenFinder::add(std::string_view text, const AddedToken& token) {
  if (text.empty()) return;
  leads_[static_cast<std::uint8_t>(text.front())] = true;
  std::uint32_t node = 0;
  for (const char c : text) {
    const auto byte = static_cast<std::uint8_t>(c);
    auto at = edge_at(nodes_[node].next, byte);
    if (at == nodes_[node].next.end() || at->first != byte) {
      at = nodes_[node].next.insert(at, {byte, static_cast<std::uint32_t>(nodes_.size())});
      node = at->second;
      nodes_.emplace_back();
    } else {
      node = at->second;
    }
  }
  nodes_[node].token = static_cast<std::int32_t>(tokens_.size());
  tokens_.push_back(token);
}

const AddedToken* TokenFinder::longest_at(std::string_view text, std::size_t* bytes) const {
  const AddedToken* found = nullptr;
  std::uint32_t node = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<std::uint8_t>(text[i]);
    const auto at = edge_at(nodes_[node].next, byte);
    if (at == nodes_[node].next.end() || at->first != byte) break;
    node = at->second;
    if (nodes_[node].token < 0) continue;
    found = &tokens_[static_cast<std::size_t>(nodes_[node].token)];
    *bytes = i + 1;
  }
  return found;
}

Status TokenFinder::cut(std::string_view text, const Take& take) const {
  std::size_t taken = 0;  // the text before this offset was given to `take`
  for (std::size_t at = 0; at < text.size();) {
    std::size_t bytes = 0;
    const AddedToken* token =
        leads_[static_cast<std::uint8_t>(text[at])] ? longest_at(text.substr(at), &bytes) : nullptr;
    if (token == nullptr) {
      ++at;
      continue;
    }
    std::size_t begin = at, end = at + bytes;
    at = end;  // also if the token was refused (single_word), so that this position is not searched again
    if (token->single_word) {
      const bool word_before = begin > 0 && is_one(kWord, last_character(text.substr(0, begin)));
      const bool word_behind = end < text.size() && is_one(kWord, first_character(text.substr(end)));
      if (word_before || word_behind) continue;
    }
    if (token->lstrip) {
      while (begin > taken) {
        const std::string_view last = last_character(text.substr(0, begin));
        if (!is_one(kSpace, last)) break;
        begin -= last.size();
      }
    }
    if (token->rstrip) {
      while (end < text.size()) {
        const std::string_view first = first_character(text.substr(end));
        if (!is_one(kSpace, first)) break;
        end += first.size();
      }
    }
    if (taken < begin) TITAN_RETURN_IF_ERROR(take(text.substr(taken, begin - taken), taken, nullptr));
    TITAN_RETURN_IF_ERROR(take(text.substr(begin, end - begin), begin, token));
    taken = end;
  }
  if (taken < text.size()) return take(text.substr(taken), taken, nullptr);
  return {};
}

}  // namespace titan::recipe
