#pragma once
// A file of token ids, raw or in the format of NumPy, Megatron or nanotron, and its index of document ends.
// \source https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html; Megatron-LM, indexed_dataset.py;
// datatrove, tokenization (`.ds`)
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "ckpt/base/result.h"

namespace titan::ckpt {
class Fs;
}

namespace titan::corpus {

enum class TokenFormat { kRaw, kNumpy, kMegatron, kNanotron };
/// "raw ids", "an array of NumPy", ...
const char* format_text(TokenFormat format);

/// The layout of a file of ids.
struct TokenFile {
  TokenFormat format = TokenFormat::kRaw;
  std::string path;             ///< path of the file of ids
  std::string index;            ///< path of the file with document ends; empty: there is none
  std::string metadata;         ///< path of nanotron's metadata; empty: there is none, or there is an index
  std::uint64_t offset = 0;     ///< bytes before the first id
  std::uint64_t tokens = 0;     ///< number of ids, which are consecutive and little-endian
  std::uint32_t width = 2;      ///< bytes per id: 1, 2, 4 or 8
  bool is_signed = false;       ///< ids are signed; a negative id is invalid
  std::uint64_t documents = 0;  ///< number of documents in the index; 0 without an index
  std::string tokenizer;        ///< name in nanotron's metadata; empty: unknown
};

/// The path of the file of ids that belongs to an index or metadata file: "a.bin" for "a.idx", "a.ds" for "a.ds.index"
/// and "a.ds.metadata". Empty for other names.
std::string ids_of_index(std::string_view path);
/// "`path`.bin" if `path` is a Megatron prefix: both "`path`.bin" and "`path`.idx" exist. Else empty.
std::string ids_of_prefix(ckpt::Fs& fs, const std::string& path);

/// Finds the layout of a file of ids. `path`: the file itself, or its index or metadata file. A `.bin` with an `.idx`
/// next to it is Megatron's, a `.ds` is nanotron's. `raw_width`: bytes per id (2 or 4) of raw ids, and of nanotron's
/// ids if nanotron's metadata do not record the width. `alone`: index and metadata are ignored. \error kInvalid: the
/// file of ids does not exist, is a NumPy array of another type or of several dimensions, or has a size that is not a
/// multiple of the id width; the index is not one of ids; kUnsupported: an index of another version; kCorrupt: an index
/// or array that is incomplete or contradicts the file; kMediaError, kFailed
ckpt::Result<TokenFile> open_token_file(ckpt::Fs& fs, const std::string& path, std::uint32_t raw_width,
                                        bool alone = false);

/// Where the index file stores document ends: u64, ascending. The last end is left out, since it is the end of the file
/// of ids.
struct IndexedEnds {
  std::uint64_t offset = 0;  ///< bytes in the index before the first end
  std::uint64_t count = 0;   ///< number of ends
  std::uint64_t unit = 1;    ///< a stored number divided by `unit` is an end in tokens
};
/// The place of the ends in the index of `file`, which open_token_file() returned; count 0 without an index.
IndexedEnds indexed_ends(const TokenFile& file);

/// Reads the index in parts, and calls `take` with the document ends of each part: in tokens, ascending. The last end
/// of all is `file.tokens`. Each Megatron sequence counts as a document, as in Megatron's own training. Does nothing
/// without an index. \error kCorrupt: the ends do not ascend, or the sequences have gaps, overlap or are out of order;
/// else the error of `take` or of the file system
ckpt::Status read_ends(ckpt::Fs& fs, const TokenFile& file,
                       const std::function<ckpt::Status(std::span<const std::uint64_t>)>& take);

}  // namespace titan::corpus
