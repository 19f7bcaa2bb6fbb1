#pragma once
// Ids as text ("decoder"). Pure.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ckpt/base/result.h"
#include "ckpt/format/json_value.h"

namespace titan::recipe {

/// What each id is written as.
class Detokenizer {
 public:
  /// The member "decoder" of tokenizer.json; nullptr: that of a byte-level vocabulary. \error kUnsupported: other types
  /// than ByteLevel, Metaspace, and a Sequence of Replace, ByteFallback, Fuse and Strip, or none of a vocabulary of
  /// characters; kInvalid
  static ckpt::Result<Detokenizer> read(const ckpt::JsonValue* part, bool byte_level);

  /// Takes the tokens by id, ascending. Ids between them are written as nothing. \error kInvalid: all together are more
  /// than 512 MiB as text
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
  std::string first_without_;  // Metaspace: the first token loses these
  bool strips_space_ = false;  // one, at the beginning of the text
  std::vector<Replacement> replacements_;
  struct Token {
    std::uint32_t id;
    std::uint64_t begin;  // in written_, up to the next one's
  };
  std::vector<Token> tokens_;  // by id
  std::string written_;
};

/// Decodes ids one after the other; the detokenizer outlives it.
class DecodeRun {
 public:
  explicit DecodeRun(const Detokenizer& detokenizer) : detokenizer_(detokenizer) {}
  /// The bytes that `id` adds: UTF-8, which may be cut within a character (text_stream.h mends that).
  std::string push(std::uint32_t id);
  /// What was held back: bytes of the fallback, which count together.
  std::string finish();

 private:
  std::string stripped(std::string text);

  const Detokenizer& detokenizer_;
  std::string bytes_;
  bool first_ = true;     // no token yet
  bool at_start_ = true;  // nothing was written yet
};

}  // namespace titan::recipe
