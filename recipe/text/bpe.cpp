#include "recipe/text/bpe.h"

#include <algorithm>

#include "ckpt/base/printed.h"
#include "ckpt/base/utf8.h"
#include "recipe/text/byte_alphabet.h"

namespace titan::recipe {

using ckpt::Result;
using ckpt::Status;

namespace {

using Ids = std::unordered_map<std::string_view, std::uint32_t>;

constexpr std::size_t kPollMerges = 1 << 18;  // merges between two polls: some hundredths of a second

std::string fallback_token(unsigned byte) { return ckpt::printed("<0x%02X>", byte); }

}  // namespace

// \source Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators (the mix of SplitMix64)
std::size_t Bpe::mixed(std::uint64_t pair) {
  pair = (pair ^ pair >> 30) * 0xBF58476D1CE4E5B9u;
  return (pair ^ pair >> 27) * 0x94D049BB133111EBu >> 20;
}

const Bpe::Bucket* Bpe::find(std::uint32_t left, std::uint32_t right) const {
  const std::uint64_t pair = std::uint64_t{left} << 32 | right;
  for (std::size_t at = mixed(pair) & (buckets_.size() - 1);; at = (at + 1) & (buckets_.size() - 1)) {
    if (buckets_[at].pair == pair) return &buckets_[at];
    if (buckets_[at].pair == kNoPair) return nullptr;
  }
}

void Bpe::set_merge(std::uint64_t pair, std::uint32_t rank, std::uint32_t made) {
  std::size_t at = mixed(pair) & (buckets_.size() - 1);
  while (buckets_[at].pair != kNoPair && buckets_[at].pair != pair) at = (at + 1) & (buckets_.size() - 1);
  buckets_[at] = {pair, rank, made};  // if a pair occurs twice in the list, its last merge is used
}

Status Bpe::add_merges(const BpeParts& parts, const Ids& ids) {
  std::size_t size = 16;
  while (size < 2 * parts.merges.size()) size *= 2;
  buckets_.assign(size, {});
  std::string made;
  bool joins = false;
  for (std::size_t rank = 0; rank < parts.merges.size(); ++rank) {
    const auto& [left, right] = parts.merges[rank];
    made.assign(left).append(right);
    const auto a = ids.find(left), b = ids.find(right), both = ids.find(made);
    for (const auto& [half, name] : {std::pair(a, left), std::pair(b, right), std::pair(both, std::string_view(made))})
      if (half == ids.end())
        return ckpt::invalid("merge " + std::to_string(rank) + " needs the token '" + std::string(name) +
                             "', which the vocabulary does not have");
    set_merge(std::uint64_t{a->second} << 32 | b->second, static_cast<std::uint32_t>(rank), both->second);
    joins = joins || (right.starts_with(kSpaceMark) && !left.ends_with(kSpaceMark));
  }
  splits_at_mark_ = !joins && !byte_level_ && !ignore_merges_ && ids.contains(kSpaceMark);
  return {};
}

Result<Bpe> Bpe::make(const BpeParts& parts) {
  Bpe bpe;
  bpe.byte_level_ = parts.byte_level;
  bpe.fuse_unknown_ = parts.fuse_unknown;
  bpe.ignore_merges_ = parts.ignore_merges;
  Ids ids;
  ids.reserve(parts.vocabulary.size());
  for (const auto& [token, id] : parts.vocabulary) {
    ids[token] = id;
    if (id == ~std::uint32_t{0}) return ckpt::invalid("the vocabulary has the id 4294967295");
  }
  for (const auto& [token, id] : ids) {
    if (parts.byte_level) {
      const auto bytes = bytes_of_letters(token);
      if (!bytes || bytes->empty()) continue;
      if (bytes->size() == 1) bpe.bytes_[static_cast<std::uint8_t>(bytes->front())] = id;
      if (parts.ignore_merges) bpe.whole_.emplace(*bytes, id);
    } else {
      if (token.empty()) continue;
      const ckpt::Utf8Char character = ckpt::decode_utf8(token);
      if (character.bytes == token.size()) bpe.characters_.emplace(character.code, id);
      if (parts.ignore_merges) bpe.whole_.emplace(token, id);
    }
  }
  if (parts.byte_fallback && !parts.byte_level)
    for (unsigned byte = 0; byte < 256; ++byte)
      if (const auto at = ids.find(fallback_token(byte)); at != ids.end()) bpe.bytes_[byte] = at->second;
  if (parts.unknown) {
    const auto at = ids.find(*parts.unknown);
    if (at == ids.end()) return ckpt::invalid("the vocabulary does not have the unk_token '" + *parts.unknown + "'");
    bpe.unknown_ = at->second;
  }
  TITAN_RETURN_IF_ERROR(bpe.add_merges(parts, ids));
  return bpe;
}

Status Bpe::symbols_of(std::string_view piece, Scratch& scratch) const {
  std::vector<Scratch::Symbol>& symbols = scratch.symbols;
  symbols.clear();
  const auto add = [&](std::uint32_t id) {
    const auto at = static_cast<std::int32_t>(symbols.size());
    if (at > 0) symbols.back().after = at;
    symbols.push_back({id, at - 1, -1, false});
  };
  bool fused = false;  // the last symbol is the unknown token, which the next unknown symbol may join
  std::size_t polled = 0;
  for (std::size_t at = 0; at < piece.size();) {
    if (at - polled >= kPollMerges && scratch.poll) {
      polled = at;
      TITAN_RETURN_IF_ERROR(scratch.poll());
    }
    const ckpt::Utf8Char character = byte_level_ ? ckpt::Utf8Char{0, 1} : ckpt::decode_utf8(piece.substr(at));
    const std::string_view symbol = piece.substr(at, std::max<std::size_t>(character.bytes, 1));
    at += symbol.size();
    if (!byte_level_) {
      const auto known = characters_.find(character.code);
      if (known != characters_.end()) {
        add(known->second);
        fused = false;
        continue;
      }
    }
    const bool by_bytes = std::all_of(symbol.begin(), symbol.end(),
                                      [&](char c) { return bytes_[static_cast<std::uint8_t>(c)].has_value(); });
    if (by_bytes) {
      for (const char c : symbol) add(*bytes_[static_cast<std::uint8_t>(c)]);
      fused = false;
    } else if (!unknown_) {
      return ckpt::invalid("the vocabulary has no token for '" + std::string(symbol) +
                           "', and the tokenizer no unk_token");
    } else if (!fused) {
      add(*unknown_);
      fused = fuse_unknown_;
    }
  }
  return {};
}

Status Bpe::merge(Scratch& scratch) const {
  std::vector<Scratch::Symbol>& symbols = scratch.symbols;
  MergeQueue& queue = scratch.queue;
  queue.clear();
  const auto candidate = [&](std::int32_t left, std::int32_t right) {
    if (left < 0 || right < 0) return;
    const Bucket* bucket = find(symbols[left].id, symbols[right].id);
    if (bucket != nullptr) queue.push({bucket->rank, static_cast<std::uint32_t>(left), bucket->made});
  };
  for (std::size_t i = 1; i < symbols.size(); ++i) {
    if (i % kPollMerges == 0 && scratch.poll) TITAN_RETURN_IF_ERROR(scratch.poll());
    candidate(static_cast<std::int32_t>(i) - 1, static_cast<std::int32_t>(i));
  }
  for (std::size_t merged = 1; !queue.empty(); ++merged) {
    if (merged % kPollMerges == 0 && scratch.poll) TITAN_RETURN_IF_ERROR(scratch.poll());
    const MergeQueue::Candidate best = queue.pop();
    Scratch::Symbol& left = symbols[best.at];
    if (left.gone || left.after < 0) continue;
    Scratch::Symbol& right = symbols[left.after];
    const Bucket* bucket = find(left.id, right.id);
    if (bucket == nullptr || bucket->made != best.made) continue;  // one of the two symbols has changed since
    left.id = best.made;
    left.after = right.after;
    right.gone = true;
    const auto at = static_cast<std::int32_t>(best.at);
    if (left.after >= 0) symbols[left.after].before = at;
    candidate(left.before, at);
    candidate(at, left.after);
  }
  return {};
}

Status Bpe::encode(std::string_view piece, Scratch& scratch, std::vector<std::uint32_t>& ids) const {
  if (ignore_merges_) {
    const auto at = whole_.find(std::string(piece));
    if (at != whole_.end()) {
      ids.push_back(at->second);
      return {};
    }
  }
  constexpr std::size_t kLongestPiece = std::size_t{1} << 31;
  if (piece.size() >= kLongestPiece) return ckpt::invalid("a piece of text without a cut has 2 GiB or more");
  TITAN_RETURN_IF_ERROR(symbols_of(piece, scratch));
  TITAN_RETURN_IF_ERROR(merge(scratch));
  for (const Scratch::Symbol& symbol : scratch.symbols)
    if (!symbol.gone) ids.push_back(symbol.id);
  return {};
}

}  // namespace titan::recipe
