#pragma once
// Writes the shard files of a token folder (token_data.h), document by document.
#include <memory>
#include <span>
#include <string>

#include "ckpt/base/hash.h"
#include "corpus/token_data.h"

namespace titan::ckpt {
class Fs;
}

namespace titan::corpus {

/// A range of tokens [begin, end), counted from the first token of a document.
struct TokenRange {
  std::size_t begin = 0, end = 0;
};

/// Writes shards into an empty folder, which the caller has created. No document is split between two shards.
class DataWriter {
 public:
  /// `token_bytes`: 2 or 4. `shard_bytes`: size of a shard's token file, which the last document of the shard may
  /// exceed. `answers`: only some tokens are trained on, so each shard also gets a file with the ranges of these
  /// tokens.
  DataWriter(ckpt::Fs& fs, std::string folder, std::uint32_t token_bytes, std::uint64_t shard_bytes,
             bool answers = false);
  ~DataWriter();

  /// Appends a document. `answers`: the document's ranges that are trained on, ascending; empty unless the writer was
  /// constructed with `answers`. \error the file system's error
  ckpt::Status add(std::span<const std::uint32_t> document, std::span<const TokenRange> answers = {});
  /// Flushes all files to disk (fsync). Returns the list of shards and the counts of tokens and documents; the caller
  /// sets the members about texts and tokenizer. \error the file system's error
  ckpt::Result<TokenData> finish();

 private:
  struct Output;
  ckpt::Status begin_shard();
  ckpt::Status end_shard();

  ckpt::Fs& fs_;
  std::string folder_;
  std::uint64_t shard_bytes_;
  TokenData data_;
  bool keeps_answers_;
  std::unique_ptr<Output> tokens_, ends_, answers_;
};

}  // namespace titan::corpus
