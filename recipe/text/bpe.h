#pragma once
// Byte pair encoding: vocabulary, merges, and encoding of a piece of text. Pure.
// \source Sennrich, Haddow, Birch: Neural Machine Translation of Rare Words with Subword Units;
// https://github.com/huggingface/tokenizers (order of merges, unknown symbols)
#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ckpt/base/result.h"
#include "recipe/text/merge_queue.h"

namespace titan::recipe {

/// What a tokenizer.json says of its BPE: its object "model", and `byte_level` from its pre-tokenizer.
struct BpeParts {
  std::vector<std::pair<std::string_view, std::uint32_t>> vocabulary;
  std::vector<std::pair<std::string_view, std::string_view>> merges;  ///< in order of rank
  std::optional<std::string> unknown;                                 ///< the token for unknown symbols
  bool fuse_unknown = false, byte_fallback = false, ignore_merges = false;
  bool byte_level = false;  ///< each character of a token stands for a byte (byte_alphabet.h)
};

/// Encodes pieces of text to ids. Immutable.
class Bpe {
 public:
  /// Checks `parts` and builds the tables. \error kInvalid: a token of a merge, or `unknown`, is not in the vocabulary;
  /// an id is 4294967295
  static ckpt::Result<Bpe> make(const BpeParts& parts);

  /// Working memory of one thread, reused for each piece.
  struct Scratch {
    struct Symbol {
      std::uint32_t id;
      std::int32_t before, after;  ///< -1: none
      bool gone;
    };
    std::vector<Symbol> symbols;
    MergeQueue queue;
    std::function<ckpt::Status()> poll;  ///< called from time to time within a long piece; its error ends the work
  };
  /// Appends the ids of `piece`. Symbols are bytes if the vocabulary is byte-level, else characters. O(n log n) for n
  /// symbols. \error kInvalid: a symbol that the vocabulary cannot express, if there is no token for unknown symbols; a
  /// piece of 2 GiB or more; else the error of Scratch::poll
  ckpt::Status encode(std::string_view piece, Scratch& scratch, std::vector<std::uint32_t>& ids) const;

  /// Whether pieces may be cut before each run of `mark` without changing the ids. True only for kSpaceMark, and only
  /// if:
  /// - the mark is a token, and the vocabulary is one of characters, without ignore_merges
  /// - no merge joins a left token that does not end with the mark and a right token that begins with it
  bool never_joins(std::string_view mark) const { return mark == kSpaceMark && splits_at_mark_; }
  static constexpr std::string_view kSpaceMark = "\xe2\x96\x81";  // U+2581

 private:
  struct Bucket {
    std::uint64_t pair = kNoPair;
    std::uint32_t rank = 0, made = 0;
  };
  static constexpr std::uint64_t kNoPair = ~std::uint64_t{0};
  static std::size_t mixed(std::uint64_t pair);
  const Bucket* find(std::uint32_t left, std::uint32_t right) const;
  void set_merge(std::uint64_t pair, std::uint32_t rank, std::uint32_t made);
  ckpt::Status add_merges(const BpeParts& parts, const std::unordered_map<std::string_view, std::uint32_t>& ids);
  ckpt::Status symbols_of(std::string_view piece, Scratch& scratch) const;
  ckpt::Status merge(Scratch& scratch) const;

  std::vector<Bucket> buckets_;  // hash table of merges: open addressing, a power of two in size, at most half full
  bool byte_level_ = false, fuse_unknown_ = false, splits_at_mark_ = false, ignore_merges_ = false;
  std::optional<std::uint32_t> unknown_;
  std::array<std::optional<std::uint32_t>, 256> bytes_;          // ids of single bytes: byte-level, or for the fallback
  std::unordered_map<std::uint32_t, std::uint32_t> characters_;  // ids of single code points
  std::unordered_map<std::string, std::uint32_t> whole_;  // ids of whole tokens that need no merges, if ignore_merges_
};

}  // namespace titan::recipe
