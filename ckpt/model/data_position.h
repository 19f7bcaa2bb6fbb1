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

/// A set of data that a mixture draws from.
struct MixedSet {
  std::string name;           ///< base name of its path
  std::uint64_t share = 0;    ///< of 2^32: its part of the samples
  std::uint64_t samples = 0;  ///< in one pass over it
  std::uint64_t drawn = 0;    ///< of it before DataPosition::epoch_base
  std::uint64_t most = 0;     ///< that are drawn of it in all; 0: without end
  bool stops = false;         ///< the data end when `most` are drawn; else the other sets take its share
  std::uint64_t files = 0;    ///< of DataPosition::files, behind those of the sets before
  /// Of `drawn` and `most`, those that do not count as its epochs: it did not give them itself, or cut otherwise.
  std::uint64_t uncounted = 0;
  bool operator==(const MixedSet&) const = default;
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
  /// Of a mixture; empty: one set. Their shares hold from `epoch_base` on, and an epoch is as many samples as all of
  /// them have in one pass.
  std::vector<MixedSet> sets;
  bool operator==(const DataPosition&) const = default;
};

/// Epoch of the last sample consumed at `position`; where none was consumed, of the first to come.
std::uint64_t last_epoch(const DataPosition& position);

}  // namespace titan::ckpt
