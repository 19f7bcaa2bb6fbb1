#pragma once
// Decodes token ids to text, by the member "decoder" of tokenizer.json. Pure.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ckpt/base/result.h"
#include "ckpt/format/json_value.h"

namespace titan::recipe {

/// Holds the text of each id.
class Detokenizer {
 public:
  /// Reads the member "decoder" of tokenizer.json; nullptr: the decoder of a byte-level vocabulary. \error
  /// kUnsupported: types other than ByteLevel, Metaspace, and a Sequence of Replace, ByteFallback, Fuse and Strip; a
  /// vocabulary of characters without a decoder; kInvalid
  static ckpt::Result<Detokenizer> read(const ckpt::JsonValue* part, bool byte_level);

  /// Adds a token. Ids must ascend; ids that are skipped decode to empty text. \error kInvalid: the texts of all tokens
  /// together have more than 512 MiB
  ckpt::Status add(std::uint32_t id, std::string_view token);

 private:
  friend class DecodeRun;
  struct Replacement {
    std::string from, to;
  };
  std::string decoded(std::string_view token) const;
  std::string_view written(std::uint32_t id) const;
  ckpt::Status add_part(const ckpt::JsonValue& part);

  bool byte_level_ = false, byte_fallback_ = false;
  std::string first_without_;  // for Metaspace: removed from the beginning of the first token
  bool strips_space_ = false;  // one space at the beginning of the text
  std::vector<Replacement> replacements_;
  struct Token {
    std::uint32_t id;
    std::uint64_t begin;  // offset in written_; the text ends where the next one begins
  };
  std::vector<Token> tokens_;  // by id
  std::string written_;
};

/// Decodes ids one after another. The detokenizer must outlive it.
class DecodeRun {
 public:
  explicit DecodeRun(const Detokenizer& detokenizer) : detokenizer_(detokenizer) {}
  /// The bytes that `id` appends to the text. They may end within a UTF-8 character (text_stream.h joins such parts).
  std::string push(std::uint32_t id);
  /// Returns the rest of the text: the bytes of byte-fallback tokens ("<0x0A>") are buffered, because consecutive ones
  /// are decoded together.
  std::string finish();

 private:
  std::string stripped(std::string text);

  const Detokenizer& detokenizer_;
  std::string bytes_;
  bool first_ = true;     // no token so far
  bool at_start_ = true;  // nothing written so far
};

}  // namespace titan::recipe
