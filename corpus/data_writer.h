#pragma once
// Writes the shards of a folder of tokens, document by document.
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ckpt/base/fs.h"
#include "ckpt/base/hash.h"
#include "corpus/token_data.h"

namespace titan::corpus {

/// Places [begin, end) of a document.
struct Stretch {
  std::size_t begin = 0, end = 0;
};

/// Fills `folder`, which is the caller's and empty. A shard ends with the document that fills it.
class DataWriter {
 public:
  /// `shard_bytes`: tokens of a shard take so many bytes or little more. `answers`: some tokens are not trained on.
  DataWriter(ckpt::Fs& fs, std::string folder, std::uint32_t token_bytes, std::uint64_t shard_bytes,
             bool answers = false);
  ~DataWriter();

  /// `answers`: the stretches of the document that are trained on, ascending, where the writer keeps such.
  ckpt::Status add(std::span<const std::uint32_t> document, std::span<const Stretch> answers = {});
  /// Makes all durable. Returns what the folder holds: shards, tokens, documents, the longest.
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
