#pragma once
// Data files: finding them, fingerprinting them, and reading them as one token stream.
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

/// A folder that `titan-ckpt tokenize` made.
struct TokenFolder {
  std::string path;
  std::uint32_t token_bytes = 2;
  std::uint64_t vocabulary = 0;                   ///< its ids are below
  ckpt::Digest tokenizer;                         ///< of tokenizer.json, which lies in it
  std::vector<std::uint32_t> before{}, behind{};  ///< ids that each document begins and ends with
};

/// What lies beside a file of tokens; "": nothing.
struct BesideTokens {
  std::string ends;     ///< where its documents end
  std::string answers;  ///< which stretches are trained on
};

struct FoundFiles {
  std::vector<std::string> paths;     ///< in stream order
  std::vector<BesideTokens> beside;   ///< of each
  std::vector<TokenFolder> folders;   ///< whose shards are among them
  std::vector<std::string> left_out;  ///< by folders: "sub (a folder)"; hidden names are not told
  std::vector<std::string> twice;     ///< paths that are named more than once, and read as often
};

/// Turns a dataset path (a file, a folder, a pattern with `*`, `?` or `[...]`, or a comma-separated list of these; an
/// existing path wins over a list and over a pattern) into file paths in stream order. Folders give their regular files
/// sorted by name, without hidden ones and without subfolders; one that titan-ckpt tokenize made (data.json) gives its
/// shards. An index gives the ids that it is of, and so does Megatron's path without an ending. `key` names the
/// configuration key in errors. \error kInvalid: does not exist, empty path, a folder without files or of something
/// else.
ckpt::Result<FoundFiles> find_data_files(const std::string& dataset_path, const std::string& key);

/// Whether ids of the folders among `found` are read as what they are, for a model of `vocab_size` ids. \error kInvalid
ckpt::Status check_token_folders(const FoundFiles& found, TokenKind kind, std::uint64_t vocab_size);

/// Name, size and digest of 64 blocks of 4 KiB at offsets floor(i * (size - 4096) / 63), i = 0..63, of the whole
/// content when it is smaller than 64 blocks. Part of the checkpoint format's contract.
ckpt::DataFile fingerprint(const std::string& path, std::span<const std::byte> content);

/// The file as others may know it; its fingerprint is that of a file of `known` where name, size and ends say that it
/// is the same. `beside`: files that say where its documents end and what is trained on. They belong to the
/// fingerprint, but where `known` has the file without them: who began with that goes on with it. Part of the format's
/// contract. \error of `beside`, as MappedFile::open
ckpt::Result<KnownFile> known_file(const std::string& path, std::span<const std::byte> content,
                                   std::span<const KnownFile> known, std::span<const std::string> beside = {});

/// Where documents end, for who asks.
struct DocumentRule {
  bool asked = false;  ///< what lies beside the tokens is read
  /// Behind this id too; it stands in for the indexes of other programs.
  std::optional<std::int64_t> end_id{};
};

struct OpenedFiles {
  std::unique_ptr<TokenStream> stream;
  std::vector<ckpt::DataFile> files;              ///< fingerprints, in stream order
  std::vector<std::optional<ckpt::Digest>> ends;  ///< of each file (KnownFile)
  bool raw = false;                               ///< ids, or text, without a header or an index are among them
  bool unended = false;                           ///< of some ids nothing says where documents end, for who asks
  std::vector<std::string> warnings;              ///< what looks like something else than data
  ckpt::Status doubt;                             ///< not ok: a new run does not start on them (data_looks.h)
};
/// Maps `paths` as one stream, one file after the other; empty files add nothing. Text is checked to be UTF-8, file by
/// file, but for files with a fingerprint of `checked`, whose blocks are not all read where name, size and ends are the
/// same; `stop` is polled meanwhile. `beside`: what lies beside each file.
/// \error kInvalid: all empty, not UTF-8, size not a multiple of the token size, or of another kind (data_looks.h);
/// as corpus::open_token_file; kInterrupted, kTerminated (by `stop`).
ckpt::Result<OpenedFiles> open_token_files(const std::vector<std::string>& paths, TokenKind kind,
                                           const std::string& key, std::span<const KnownFile> checked = {},
                                           const ckpt::CancelToken& stop = {},
                                           std::span<const BesideTokens> beside = {}, const DocumentRule& rule = {});

}  // namespace titan::train
