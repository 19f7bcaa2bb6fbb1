#pragma once
// One file of token ids, raw or written by NumPy, Megatron or nanotron, and the ends of its documents.
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
/// "raw ids", "NumPy's", ...
const char* format_text(TokenFormat format);

struct TokenFile {
  TokenFormat format = TokenFormat::kRaw;
  std::string path;             ///< path of the file of ids
  std::string index;            ///< path of the file with document ends; empty: there is none
  std::string metadata;         ///< path of the file with the width of ids, if the index lacks it; empty: none
  std::uint64_t offset = 0;     ///< bytes before the first id
  std::uint64_t tokens = 0;     ///< number of ids; they are little-endian, one after the other
  std::uint32_t width = 2;      ///< bytes per id: 1, 2, 4 or 8
  bool is_signed = false;       ///< ids are signed; a negative id is invalid
  std::uint64_t documents = 0;  ///< number of documents in the index; 0: there is no index
  std::string tokenizer;        ///< name in nanotron's metadata; empty: unknown
};

/// The file of ids that belongs to an index or metadata file: "a.bin" for "a.idx", "a.ds" for "a.ds.index" and
/// "a.ds.metadata". Empty for other names.
std::string ids_of_index(std::string_view path);
/// The file of ids for a Megatron `path` without file ending; empty if it does not exist.
std::string ids_of_prefix(ckpt::Fs& fs, const std::string& path);

/// Examines the file of ids at `path` (or that of the index at `path`) and its neighbouring files: a `.bin` with an
/// `.idx` is Megatron's, a `.ds` is nanotron's. Raw ids have `raw_width` bytes (2 or 4), and so have nanotron's if the
/// metadata lack the width. \error kInvalid: it does not exist, another kind of array, a size that is not a multiple of
/// the id width; kCorrupt: an index that is incomplete or contradicts the file; kFailed
ckpt::Result<TokenFile> open_token_file(ckpt::Fs& fs, const std::string& path, std::uint32_t raw_width);

/// Where an index stores the ends of documents: u64, ascending, without the last end, which is the end of the file.
struct IndexedEnds {
  std::uint64_t offset = 0;  ///< bytes before the first end
  std::uint64_t count = 0;
  std::uint64_t unit = 1;  ///< divisor of the stored numbers: number / unit is in tokens
};
/// The ends in the index of `file`, which open_token_file() returned; none without an index.
IndexedEnds indexed_ends(const TokenFile& file);

/// Reads the whole index in parts: `take` gets document ends in tokens, ascending; the last one is `file.tokens`. Each
/// Megatron sequence is a document, as in Megatron's own training. Does nothing without an index. \error kCorrupt: ends
/// that do not ascend, sequences with gaps or overlaps or out of order; errors of `take`
ckpt::Status read_ends(ckpt::Fs& fs, const TokenFile& file,
                       const std::function<ckpt::Status(std::span<const std::uint64_t>)>& take);

}  // namespace titan::corpus
