#pragma once
// Byte pair encoding: the vocabulary, the merges, and the ids of a piece. Pure.
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

struct BpeParts {
  std::vector<std::pair<std::string_view, std::uint32_t>> vocabulary;
  std::vector<std::pair<std::string_view, std::string_view>> merges;  ///< by rank
  std::optional<std::string> unknown;                                 ///< the token that stands for unknown symbols
  bool fuse_unknown = false, byte_fallback = false, ignore_merges = false;
  bool byte_level = false;  ///< tokens are written in the letters of bytes
};

class Bpe {
 public:
  /// \error kInvalid: a merge of what the vocabulary lacks; an unknown token that it lacks
  static ckpt::Result<Bpe> make(const BpeParts& parts);

  /// What a thread needs to merge; used again for each piece.
  struct Scratch {
    struct Symbol {
      std::uint32_t id;
      std::int32_t before, after;  ///< -1: none
      bool gone;
    };
    std::vector<Symbol> symbols;
    MergeQueue queue;
    std::function<ckpt::Status()> poll;  ///< asked now and then within a long piece; its error ends the work
  };
  /// Appends the ids of `piece`: as bytes where the vocabulary is byte-level, else as characters. n log n in its
  /// length. \error kInvalid: a symbol that the vocabulary has no way to write
  ckpt::Status encode(std::string_view piece, Scratch& scratch, std::vector<std::uint32_t>& ids) const;

  /// No merge joins something else with a `mark` behind it, and `mark` is a token: pieces may be cut before runs of it.
  bool never_joins(std::string_view mark) const { return mark == kSpaceMark && splits_at_mark_; }
  static constexpr std::string_view kSpaceMark = "\xe2\x96\x81";  // U+2581

 private:
  struct Slot {
    std::uint64_t pair = kNoPair;
    std::uint32_t rank = 0, made = 0;
  };
  static constexpr std::uint64_t kNoPair = ~std::uint64_t{0};
  static std::size_t mixed(std::uint64_t pair);
  const Slot* find(std::uint32_t left, std::uint32_t right) const;
  void set_merge(std::uint64_t pair, std::uint32_t rank, std::uint32_t made);
  ckpt::Status add_merges(const BpeParts& parts, const std::unordered_map<std::string_view, std::uint32_t>& ids);
  ckpt::Status symbols_of(std::string_view piece, Scratch& scratch) const;
  ckpt::Status merge(Scratch& scratch) const;

  std::vector<Slot> slots_;  // open addressing, a power of two, at most half full
  bool byte_level_ = false, fuse_unknown_ = false, splits_at_mark_ = false, ignore_merges_ = false;
  std::optional<std::uint32_t> unknown_;
  std::array<std::optional<std::uint32_t>, 256> bytes_;          // of single bytes: byte-level, or for the fallback
  std::unordered_map<std::uint32_t, std::uint32_t> characters_;  // of single code points
  std::unordered_map<std::string, std::uint32_t> whole_;         // tokens that need no merges, where that counts
};

}  // namespace titan::recipe
