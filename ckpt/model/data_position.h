#pragma once
// The place of a run in its data as a checkpoint stores it (pure values). \source FORMAT.md, "dataloader.json"
#include <cstdint>
#include <string>
#include <vector>

#include "ckpt/base/hash.h"
#include "ckpt/model/sample_range.h"

namespace titan::ckpt {

/// One data file as the fingerprint sees it (no folder names).
struct DataFile {
  std::string name;  ///< base name
  std::uint64_t bytes = 0;
  Digest blocks;  ///< digest of 64 blocks at fixed positions
  bool operator==(const DataFile&) const = default;
};

/// Where the run is in its data: one number, independent of ranks.
struct DataPosition {
  std::uint64_t samples = 0;  ///< consumed since the start of the permutation sequence
  /// value of `samples` at which epoch `first_epoch` began (a changed dataset starts a new one)
  std::uint64_t epoch_base = 0;
  std::uint64_t first_epoch = 0;  ///< epoch number at `epoch_base`
  std::uint64_t seed = 0;
  bool shuffle = true;
  std::uint64_t seq_len = 0;
  std::uint64_t sample_stride = 0;
  std::uint64_t samples_per_epoch = 0;
  std::string kind;       ///< "text" or "tokens"
  std::string tokenizer;  ///< "byte", or the digest of a tokenizer file, "none" for token files
  std::vector<DataFile> files;
  SampleRanges excluded;  ///< left out, at or after `samples`
  bool operator==(const DataPosition&) const = default;
};

/// Epoch of the last sample consumed at `position`; where none was consumed, of the first to come.
std::uint64_t last_epoch(const DataPosition& position);

}  // namespace titan::ckpt
