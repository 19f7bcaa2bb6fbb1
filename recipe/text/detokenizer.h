#pragma once
// Decodes token ids to text, by the object "decoder" of tokenizer.json. Pure.
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
  /// Reads `part`, the object "decoder" of tokenizer.json. nullptr: there is none, and a byte-level vocabulary is
  /// decoded by its bytes. \error kUnsupported: other types than ByteLevel, Metaspace, Replace, ByteFallback, Fuse,
  /// Strip and Sequence; a Replace of a pattern, by a text more than four times as long, or after two others; a Strip
  /// of anything but one space at the beginning; a vocabulary of characters without a decoder; kInvalid
  static ckpt::Result<Detokenizer> read(const ckpt::JsonValue* part, bool byte_level);

  /// Adds a token. Ids must ascend; of several tokens with one id, the first counts. Ids without a token decode to
  /// empty text. \error kInvalid: the texts of all tokens together have more than 512 MiB
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
  /// Takes `id`, and returns the bytes that now follow in the text. They may end within a UTF-8 character
  /// (text_stream.h joins such parts). Bytes of byte-fallback tokens ("<0x0A>") are held back until another token
  /// follows, because consecutive ones are decoded together.
  std::string push(std::uint32_t id);
  /// Returns the bytes that are held back. Call it after the last id.
  std::string finish();

 private:
  std::string stripped(std::string text);

  const Detokenizer& detokenizer_;
  std::string bytes_;
  bool first_ = true;     // no token so far
  bool at_start_ = true;  // nothing written so far
};

}  // namespace titan::recipe
