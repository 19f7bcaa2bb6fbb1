#pragma once
// A folder of token ids with document ends, which `titan-ckpt tokenize` writes and training reads.
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

struct TokenShard {
  std::string tokens_file, ends_file;  ///< token ids; document ends (u64, in tokens of the shard, ascending)
  std::uint64_t tokens = 0, documents = 0;
  ckpt::Digest tokens_digest, ends_digest;
  /// File with the ranges that are trained on: pairs of u64, begin and end in tokens of the shard, ascending. "": all
  /// tokens are trained on.
  std::string answers_file;
  std::uint64_t answers = 0;
  ckpt::Digest answers_digest;
  bool operator==(const TokenShard&) const = default;
};

struct TokenData {
  std::uint32_t token_bytes = 2;  ///< bytes per id, 2 or 4: unsigned, little-endian
  std::uint64_t tokens = 0, documents = 0;
  std::uint64_t text_bytes = 0;               ///< bytes of the documents as text
  std::uint64_t longest = 0;                  ///< tokens of the longest document
  std::optional<std::uint64_t> trained;       ///< number of tokens that are trained on; empty: all are
  std::uint64_t vocabulary = 0;               ///< upper bound of the ids: each is smaller
  ckpt::Digest tokenizer;                     ///< digest of tokenizer.json in the folder
  std::vector<std::uint32_t> before, behind;  ///< ids that each document begins and ends with
  std::vector<TokenShard> shards;
  bool operator==(const TokenData&) const = default;
};

/// The text of data.json.
std::string write_token_data(const TokenData& data);
/// Reads data.json of `folder` and checks the sizes of its files. \error kInvalid: `folder` is not a token folder, or
/// lacks a file; kCorrupt: a file of another size; kFailed
ckpt::Result<TokenData> read_token_data(ckpt::Fs& fs, const std::string& folder);
/// Whether `folder` has a token folder's data.json, readable or not.
bool is_token_data(ckpt::Fs& fs, const std::string& folder);
/// Whether a token folder has files with this name.
bool is_token_member(std::string_view name);

}  // namespace titan::corpus
