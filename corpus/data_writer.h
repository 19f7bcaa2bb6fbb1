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

/// Fills `folder`, which is the caller's and empty. A shard ends with the document that fills it.
class DataWriter {
 public:
  /// `shard_bytes`: tokens of a shard take so many bytes or little more.
  DataWriter(ckpt::Fs& fs, std::string folder, std::uint32_t token_bytes, std::uint64_t shard_bytes);
  ~DataWriter();

  ckpt::Status add(std::span<const std::uint32_t> document);
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
  std::unique_ptr<Output> tokens_, ends_;
};

}  // namespace titan::corpus
