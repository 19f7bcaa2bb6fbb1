#pragma once
// Data files: finds them, computes their fingerprints, and reads them as one token stream.
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ckpt/base/cancel.h"
#include "ckpt/base/result.h"
#include "ckpt/model/data_position.h"
#include "libtrain/job/data/dataset.h"

namespace titan::train {

enum class TokenKind { kUtf8Bytes, kUint16, kUint32 };

/// A folder made by `titan-ckpt tokenize`.
struct TokenFolder {
  std::string path;
  std::uint32_t token_bytes = 2;
  std::uint64_t vocabulary = 0;                   ///< upper bound of ids (exclusive)
  ckpt::Digest tokenizer;                         ///< digest of the tokenizer.json in it
  std::vector<std::uint32_t> before{}, behind{};  ///< ids at the beginning and end of each document
};

/// Paths of the files that belong to a token file, its sidecars; empty if there is none.
struct SidecarFiles {
  std::string ends;     ///< file of document ends
  std::string answers;  ///< file of ranges that are trained on
};

struct FoundFiles {
  std::vector<std::string> paths;      ///< in stream order
  std::vector<SidecarFiles> sidecars;  ///< one per path
  std::vector<TokenFolder> folders;    ///< token folders whose shards are among `paths`
  std::vector<std::string> left_out;   ///< ignored contents of folders: "sub (a folder)"; hidden names are not listed
  std::vector<std::string> twice;      ///< paths that are given, and therefore read, more than once
};

/// Turns a dataset path (a file, a folder, a pattern with `*`, `?` or `[...]`, or a comma-separated list of these; an
/// existing path wins over a list and over a pattern) into file paths in stream order. A folder gives its regular files
/// sorted by name, without hidden files and subfolders; a folder made by titan-ckpt tokenize (it has data.json) gives
/// its shards. An index file gives the file of ids that it belongs to; so does a Megatron path without file ending.
/// `key` names the configuration key in errors. \error kInvalid: the path does not exist or is empty, or a folder has
/// no files or is not a folder of data (check_data_folder()); as corpus::read_token_data and corpus::matching_paths
ckpt::Result<FoundFiles> find_data_files(const std::string& dataset_path, const std::string& key);

/// Checks that `kind` is right for the token folders among `found`, and that their ids fit a model of `vocab_size` ids.
/// \error kInvalid
ckpt::Status check_token_folders(const FoundFiles& found, TokenKind kind, std::uint64_t vocab_size);

/// Name, size and digest of a file. The digest is of 64 blocks of 4 KiB at offsets floor(i * (size - 4096) / 63), i =
/// 0..63; if the content is smaller than 64 blocks, of all of it. Part of the checkpoint format's contract.
ckpt::DataFile fingerprint(const std::string& path, std::span<const std::byte> content);

/// Name, size and fingerprint of a file, in the form that other ranks get. If a file of `known` has the same name, size
/// and KnownFile::ends, its fingerprint is reused. `sidecars`: paths of the files that belong to a file of ids:
/// document ends, ranges that are trained on, index, metadata. These files are part of the fingerprint, unless `known`
/// has the fingerprint without them: a run that began without these files keeps its fingerprint, and does not use them
/// (KnownFile::alone). This rule is part of the checkpoint format's contract. \error for files in `sidecars`, as
/// MappedFile::open
ckpt::Result<KnownFile> known_file(const std::string& path, std::span<const std::byte> content,
                                   std::span<const KnownFile> known, std::span<const std::string> sidecars = {});

/// How document ends are found.
struct DocumentRule {
  bool asked = false;  ///< read the files next to the tokens
  /// The token id after which a document ends. If it is set, indexes of other programs are not used for document ends.
  std::optional<std::int64_t> end_id{};
};

struct OpenedFiles {
  std::unique_ptr<TokenStream> stream;
  std::vector<KnownFile> files;       ///< in stream order
  bool raw = false;                   ///< some files are ids or text without header or index
  bool unended = false;               ///< document ends are asked for, and some files of ids have none
  std::vector<std::string> warnings;  ///< about files that do not look like data
  ckpt::Status doubt;                 ///< not ok: a new run refuses these data (data_plausibility.h)
};
/// Maps `paths` as one stream, one file after the other; empty files add nothing. Checks that each text is UTF-8,
/// except files whose name and fingerprint are in `checked`; these are checked, too, if the data are doubtful
/// (`doubt`). If `checked` has a file with the same name, size and KnownFile::ends, the other blocks of the fingerprint
/// are not read. `stop` is polled meanwhile. `sidecars`: the files next to each path. \error kInvalid: all files are
/// empty; a file is not UTF-8, has a size that is not a multiple of the token size, or is of another kind
/// (data_plausibility.h); as MappedFile::open, corpus::open_token_file and corpus::read_ends; kInterrupted, kTerminated
/// (by `stop`)
ckpt::Result<OpenedFiles> open_token_files(const std::vector<std::string>& paths, TokenKind kind,
                                           const std::string& key, std::span<const KnownFile> checked = {},
                                           const ckpt::CancelToken& stop = {},
                                           std::span<const SidecarFiles> sidecars = {}, const DocumentRule& rule = {});

}  // namespace titan::train
