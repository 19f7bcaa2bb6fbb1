#pragma once
// A run's position in its data as a checkpoint stores it (pure values). \source FORMAT.md, "dataloader.json"
#include <cstdint>
#include <string>
#include <vector>

#include "ckpt/base/hash.h"
#include "ckpt/model/sample_range.h"

namespace titan::ckpt {

/// One data file in the fingerprint of the data (without its folder).
struct DataFile {
  std::string name;  ///< base name
  std::uint64_t bytes = 0;
  Digest blocks;  ///< digest of 64 blocks at fixed positions
  bool operator==(const DataFile&) const = default;
};

/// One set of data of a mixture.
struct MixedSet {
  std::string name;           ///< base name of its path
  std::uint64_t share = 0;    ///< its part of the samples, as a multiple of 2^-32
  std::uint64_t samples = 0;  ///< samples in one pass over it
  std::uint64_t drawn = 0;    ///< samples drawn from it before DataPosition::epoch_base
  std::uint64_t most = 0;     ///< samples that are drawn from it in all; 0: no limit
  bool stops = false;         ///< true: the data end when `most` are drawn; false: then the other sets take its share
  std::uint64_t files = 0;    ///< how many of DataPosition::files are its own; they follow those of the sets before it
  /// The part of `drawn` and `most` that does not count as epochs of this set: other data gave those samples, or they
  /// were cut otherwise.
  std::uint64_t uncounted = 0;
  bool operator==(const MixedSet&) const = default;
};

/// How far the run is in its data: one number for all ranks.
struct DataPosition {
  std::uint64_t samples = 0;  ///< consumed since the start of the permutation sequence
  /// The value of `samples` at which epoch `first_epoch` began (a changed dataset starts a new epoch).
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
  SampleRanges excluded;  ///< samples that are left out, at or after `samples`
  /// The sets of a mixture; empty if the data are one set. Their shares hold from `epoch_base` on. An epoch has as many
  /// samples as one pass over every set.
  std::vector<MixedSet> sets;
  bool operator==(const DataPosition&) const = default;
};

/// Epoch of the last sample consumed at `position`; if none was consumed, the epoch of the first sample to come.
std::uint64_t last_epoch(const DataPosition& position);

}  // namespace titan::ckpt
