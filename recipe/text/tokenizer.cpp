#include "recipe/text/tokenizer.h"

#include <algorithm>
#include <cstring>
#include <functional>

#include "ckpt/base/utf8.h"
#include "recipe/text/text_stream.h"

namespace titan::recipe {

using ckpt::Status;

namespace {

constexpr std::size_t kCacheSlots = 1 << 16;
constexpr std::size_t kPollBytes = 1 << 20;  // bytes between two polls: some hundredths of a second

}  // namespace

std::optional<std::uint32_t> Tokenizer::id_of(std::string_view content) const {
  const auto at = ids_.find(std::string(content));
  return at == ids_.end() ? std::nullopt : std::optional(at->second);
}

Encoder::Encoder(const Tokenizer& tokenizer, std::function<Status()> poll)
    : tokenizer_(tokenizer), split_(tokenizer.splitter_), cache_(kCacheSlots) {
  scratch_.poll = std::move(poll);
}

Status Encoder::piece(std::string_view piece) {
  since_poll_ += piece.size();
  if (since_poll_ >= kPollBytes && scratch_.poll) {
    since_poll_ = 0;
    TITAN_RETURN_IF_ERROR(scratch_.poll());
  }
  if (piece.size() > Remembered::kMostBytes) return tokenizer_.bpe_.encode(piece, scratch_, *ids_);
  Remembered& slot = cache_[std::hash<std::string_view>()(piece) % kCacheSlots];
  if (slot.bytes == piece.size() && std::memcmp(slot.piece, piece.data(), piece.size()) == 0) {
    ids_->insert(ids_->end(), slot.id, slot.id + slot.ids);
    return {};
  }
  const std::size_t before = ids_->size();
  TITAN_RETURN_IF_ERROR(tokenizer_.bpe_.encode(piece, scratch_, *ids_));
  const std::size_t made = ids_->size() - before;
  if (made > Remembered::kMostIds) return {};
  slot.bytes = static_cast<std::uint8_t>(piece.size());
  slot.ids = static_cast<std::uint8_t>(made);
  std::memcpy(slot.piece, piece.data(), piece.size());
  std::copy_n(ids_->data() + before, made, slot.id);
  return {};
}

Status Encoder::normalise_and_cut(std::string_view text, bool first) {
  const std::string_view normal = tokenizer_.normalizer_.apply(text, normalised_);
  if (tokenizer_.normalized_tokens_.empty()) return split_.cut(normal, first, *this);
  return tokenizer_.normalized_tokens_.cut(
      normal, [&](std::string_view part, std::size_t begin, const AddedToken* token) -> Status {
        if (token == nullptr) return split_.cut(part, first && begin == 0, *this);
        ids_->push_back(token->id);
        return {};
      });
}

Status Encoder::encode(std::string_view text, std::vector<std::uint32_t>& ids) {
  const std::size_t valid = ckpt::scan_text(text).valid;
  if (valid < text.size()) return ckpt::invalid("the text is not UTF-8 at offset " + std::to_string(valid));
  ids_ = &ids;
  if (tokenizer_.raw_tokens_.empty()) return normalise_and_cut(text, true);
  return tokenizer_.raw_tokens_.cut(text,
                                    [&](std::string_view part, std::size_t begin, const AddedToken* token) -> Status {
                                      if (token == nullptr) return normalise_and_cut(part, begin == 0);
                                      ids_->push_back(token->id);
                                      return {};
                                    });
}

std::string decode(const Tokenizer& tokenizer, const std::vector<std::uint32_t>& ids, bool skip_special) {
  DecodeRun run(tokenizer.detokenizer());
  TextStream stream;
  std::string text;
  for (const std::uint32_t id : ids)
    if (!skip_special || !tokenizer.special(id)) text += stream.push(run.push(id));
  text += stream.push(run.finish());
  return text + stream.finish();
}

}  // namespace titan::recipe
