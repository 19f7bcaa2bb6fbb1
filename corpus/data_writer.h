#pragma once
// Writes the shards of a token folder, document by document.
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ckpt/base/hash.h"
#include "corpus/token_data.h"

namespace titan::ckpt {
class Fs;
}

namespace titan::corpus {

/// The tokens [begin, end) of a document.
struct Stretch {
  std::size_t begin = 0, end = 0;
};

/// Fills `folder`, which the caller has created empty. A shard ends with the document that reaches the shard size.
class DataWriter {
 public:
  /// `shard_bytes`: bytes of tokens per shard, exceeded by less than one document. `answers`: only a part of the tokens
  /// is trained on.
  DataWriter(ckpt::Fs& fs, std::string folder, std::uint32_t token_bytes, std::uint64_t shard_bytes,
             bool answers = false);
  ~DataWriter();

  /// `answers`: the ranges of the document that are trained on, ascending; only if the writer was made with `answers`.
  ckpt::Status add(std::span<const std::uint32_t> document, std::span<const Stretch> answers = {});
  /// Makes everything durable. Returns the content of the folder: shards, tokens, documents, the longest document.
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
