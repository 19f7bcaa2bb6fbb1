#pragma once
// One file of token ids, whoever wrote it: raw, of NumPy, of Megatron, of nanotron; and where its documents end.
// \source https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html; Megatron-LM, indexed_dataset.py;
// datatrove, tokenization (`.ds`)
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "ckpt/base/fs.h"

namespace titan::corpus {

enum class TokenFormat { kRaw, kNumpy, kMegatron, kNanotron };
/// "raw ids", "NumPy's", ...
const char* format_text(TokenFormat format);

struct TokenFile {
  TokenFormat format = TokenFormat::kRaw;
  std::string path;             ///< of the ids
  std::string index;            ///< of the file that says where documents end; empty: nothing does
  std::string metadata;         ///< of the file that says how wide ids are, where an index does not; empty: none
  std::uint64_t offset = 0;     ///< bytes before the first id
  std::uint64_t tokens = 0;     ///< ids, little-endian, one behind the other
  std::uint32_t width = 2;      ///< bytes of an id: 1, 2, 4 or 8
  bool is_signed = false;       ///< an id below 0 is none
  std::uint64_t documents = 0;  ///< as the index counts them; 0: there is none
  std::string tokenizer;        ///< as nanotron's metadata names it; empty: nothing does
};

/// Whether a file of this name holds no ids but says where documents end, and then the file of ids that it is of:
/// "a.bin" of "a.idx", "a.ds" of "a.ds.index" and "a.ds.metadata"; else empty.
std::string ids_of_index(std::string_view path);
/// The file of ids that Megatron's `path` without an ending names; empty: none is there.
std::string ids_of_prefix(ckpt::Fs& fs, const std::string& path);

/// Looks at the file of ids `path`, or that of an index, and at what lies beside it: `.idx` makes `.bin` Megatron's,
/// `.ds` is nanotron's.
/// Raw ids have `raw_width` bytes (2 or 4), and so have nanotron's where its metadata do not say it.
/// \error kInvalid: not there, another kind of array, a size that is no number of ids; kCorrupt: an index that is cut
/// off or contradicts the file; kFailed
ckpt::Result<TokenFile> open_token_file(ckpt::Fs& fs, const std::string& path, std::uint32_t raw_width);

/// Where an index has the ends of documents as u64, ascending, but for the last: that is the end of the file.
struct IndexedEnds {
  std::uint64_t offset = 0;  ///< bytes before the first
  std::uint64_t count = 0;
  std::uint64_t unit = 1;  ///< bytes or tokens: a multiple of so many is one token
};
/// Of `file`, as open_token_file() left it; none where there is no index.
IndexedEnds indexed_ends(const TokenFile& file);

/// Reads the whole index, in pieces: `take` gets the ends of documents in tokens, ascending; the last is `file.tokens`.
/// Megatron's sequences are its documents, as its own training counts them. Nothing is read where there is no index.
/// \error kCorrupt: ends that do not ascend, sequences that leave a gap, overlap or are out of order; of `take`
ckpt::Status read_ends(ckpt::Fs& fs, const TokenFile& file,
                       const std::function<ckpt::Status(std::span<const std::uint64_t>)>& take);

}  // namespace titan::corpus
