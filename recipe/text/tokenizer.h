#pragma once
// A tokenizer from Hugging Face's tokenizer.json: byte pair encoding over bytes or over characters. Pure.
// \source https://huggingface.co/docs/tokenizers; https://github.com/huggingface/tokenizers (order of the parts)
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ckpt/base/hash.h"
#include "ckpt/base/result.h"
#include "recipe/text/added_tokens.h"
#include "recipe/text/bpe.h"
#include "recipe/text/detokenizer.h"
#include "recipe/text/normalizer.h"
#include "recipe/text/splitter.h"

namespace titan::recipe {

/// Immutable. Any number of threads may use it, each with its own Encoder. Its members are the steps of encoding in
/// their order, then what tokenizer.json says about ids.
class Tokenizer {
 public:
  static constexpr std::uint64_t kLargestFile = std::uint64_t{256} << 20;
  static constexpr std::uint32_t kMostIds = 1u << 24;

  /// Reads tokenizer.json, and tokenizer_config.json if there is one (else `config` is empty). `what` names
  /// tokenizer.json in messages.
  /// \error kUnsupported: a part that Titan does not have (Unigram, WordPiece, dropout, ...), which the message names;
  /// kInvalid: damaged, contradictory, too large
  static ckpt::Result<Tokenizer> parse(const std::string& what, std::string_view json, std::string_view config = {});

  /// The largest id plus one.
  std::uint64_t id_bound() const { return id_bound_; }
  /// The number of tokens with different texts, added tokens included.
  std::uint64_t tokens() const { return tokens_; }
  /// The id of the token with the text `content`.
  std::optional<std::uint32_t> id_of(std::string_view content) const;
  bool special(std::uint32_t id) const { return special_.contains(id); }
  /// The begin- and end-of-document tokens that tokenizer_config.json names (bos_token, eos_token); nullopt if it names
  /// none, or one that the tokenizer lacks.
  const std::optional<std::uint32_t>& bos() const { return bos_; }
  const std::optional<std::uint32_t>& eos() const { return eos_; }
  /// The ids that Hugging Face's tokenizer adds before and after a text. tokenizer_config.json decides, if it has
  /// add_bos_token (before) or add_eos_token (after); else the post-processor. Encoder does not add them.
  const std::vector<std::uint32_t>& prefix() const { return prefix_; }
  const std::vector<std::uint32_t>& suffix() const { return suffix_; }
  const Detokenizer& detokenizer() const { return detokenizer_; }
  /// Digest of the bytes of tokenizer.json.
  const ckpt::Digest& digest() const { return digest_; }

 private:
  friend class Encoder;
  friend class TokenizerParser;
  Normalizer normalizer_;
  Splitter splitter_;
  Bpe bpe_;
  Detokenizer detokenizer_;
  TokenFinder raw_tokens_, normalized_tokens_;  // searched in the original text; in the normalised text
  std::unordered_map<std::string, std::uint32_t> ids_;
  std::unordered_set<std::uint32_t> special_;
  std::uint64_t id_bound_ = 0, tokens_ = 0;
  std::optional<std::uint32_t> bos_, eos_;
  std::vector<std::uint32_t> prefix_, suffix_;
  ckpt::Digest digest_;
};

/// Encodes texts to ids. Use one per thread. The tokenizer must outlive it. Caches the ids of pieces of at most 30
/// bytes, in 4 MiB.
class Encoder : private PieceSink {
 public:
  /// `poll` is called from time to time within a long text; an error that it returns ends the work.
  explicit Encoder(const Tokenizer& tokenizer, std::function<ckpt::Status()> poll = {});

  /// Appends the ids of `text`, without Tokenizer::prefix() and suffix().
  /// \error kInvalid: not UTF-8 (with the offset), a symbol that the vocabulary cannot express, or Matcher::status();
  /// else the error of `poll`
  ckpt::Status encode(std::string_view text, std::vector<std::uint32_t>& ids);

 private:
  struct Remembered {  // 64 bytes: one cache line
    static constexpr std::size_t kMostBytes = 30, kMostIds = 8;
    std::uint8_t bytes = 0, ids = 0;
    char piece[kMostBytes];
    std::uint32_t id[kMostIds];
  };
  ckpt::Status piece(std::string_view piece) override;
  ckpt::Status normalise_and_cut(std::string_view text, bool first);

  const Tokenizer& tokenizer_;
  SplitRun split_;
  Bpe::Scratch scratch_;
  std::vector<Remembered> cache_;
  std::string normalised_;
  std::vector<std::uint32_t>* ids_ = nullptr;
  std::size_t since_poll_ = 0;  // bytes of pieces since the last poll
};

/// All of `ids` as text; bytes that are not UTF-8 become U+FFFD. With `skip_special`, special tokens are left out.
std::string decode(const Tokenizer& tokenizer, const std::vector<std::uint32_t>& ids, bool skip_special = false);

}  // namespace titan::recipe
