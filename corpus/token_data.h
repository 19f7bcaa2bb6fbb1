#pragma once
// A token folder: token ids and document ends, which `titan-ckpt tokenize` writes and training reads.
// \source docs/data.md, "The folder"
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ckpt/base/hash.h"

namespace titan::ckpt {
class Fs;
}

namespace titan::corpus {

inline constexpr const char* kDataFile = "data.json";

/// The files of a shard: consecutive documents of a token folder. Positions are in tokens from the shard's first token.
struct TokenShard {
  std::string tokens_file, ends_file;       ///< names of the files of token ids and of document ends (u64, ascending)
  std::uint64_t tokens = 0, documents = 0;  ///< counts
  ckpt::Digest tokens_digest, ends_digest;
  /// Name of the file of ranges that are trained on, as pairs of u64 (begin, end), ascending. "": all tokens are
  /// trained on.
  std::string answers_file;
  std::uint64_t answers = 0;  ///< number of ranges
  ckpt::Digest answers_digest;
  bool operator==(const TokenShard&) const = default;
};

/// The content of data.json.
struct TokenData {
  std::uint32_t token_bytes = 2;  ///< bytes per id, 2 or 4: unsigned, little-endian
  std::uint64_t tokens = 0, documents = 0;
  std::uint64_t text_bytes = 0;               ///< bytes of the documents as text
  std::uint64_t longest = 0;                  ///< tokens of the longest document
  std::optional<std::uint64_t> trained;       ///< number of tokens that are trained on; empty: all tokens are
  std::uint64_t vocabulary = 0;               ///< every id is smaller than this
  ckpt::Digest tokenizer;                     ///< digest of tokenizer.json in the folder
  std::vector<std::uint32_t> before, behind;  ///< ids at the beginning and at the end of each document (BOS, EOS)
  std::vector<TokenShard> shards;
  bool operator==(const TokenData&) const = default;
};

/// Returns the text of data.json.
std::string write_token_data(const TokenData& data);
/// Reads data.json of `folder` and checks the sizes of the shard files. \error kInvalid: `folder` is not a token
/// folder, lacks a file, or has a data.json whose counts are not the sums over its shards; kCorrupt: a file has another
/// size
ckpt::Result<TokenData> read_token_data(ckpt::Fs& fs, const std::string& folder);
/// Whether `folder` has a data.json that names the schema of token folders; the rest of the file may be invalid.
bool is_token_data(ckpt::Fs& fs, const std::string& folder);
/// Whether `name` is a file name that `tokenize` uses in a token folder: "data.json", "tokens-00000.bin", ...
bool is_token_member(std::string_view name);

}  // namespace titan::corpus
