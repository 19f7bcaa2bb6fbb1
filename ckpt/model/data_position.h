#pragma once
// The position of a run in its data, as a checkpoint stores it (pure values). \source FORMAT.md, "dataloader.json"
#include <cstdint>
#include <string>
#include <vector>

#include "ckpt/base/hash.h"
#include "ckpt/model/sample_range.h"

namespace titan::ckpt {

/// One data file of the run. It is recognised by its size and digest, also under another name or in another folder.
struct DataFile {
  std::string name;  ///< base name
  std::uint64_t bytes = 0;
  Digest blocks;  ///< digest over 64 blocks at fixed positions of the file
  bool operator==(const DataFile&) const = default;
};

/// One data set of a mixture.
struct MixedSet {
  std::string name;           ///< base name of its path
  std::uint64_t share = 0;    ///< fraction of the run's samples that come from this set, in units of 2^-32
  std::uint64_t samples = 0;  ///< samples in one pass over it
  std::uint64_t drawn = 0;    ///< samples drawn from it before DataPosition::epoch_base
  std::uint64_t most = 0;     ///< limit: the run draws at most this many samples from it; 0: no limit
  bool stops = false;       ///< true: the data end when `most` are drawn; false: its share then goes to the other sets
  std::uint64_t files = 0;  ///< how many of DataPosition::files belong to it; they follow those of earlier sets
  /// The part of `drawn`, and of `most`, that does not count as epochs of the set: samples from before the mixture that
  /// may be of other data, and, if samples were later cut or ordered in another way, the rest of the pass that was
  /// left.
  std::uint64_t uncounted = 0;
  bool operator==(const MixedSet&) const = default;
};

/// The position of the run in its data, the same for all ranks.
struct DataPosition {
  std::uint64_t samples = 0;  ///< number of the next sample, from 0 over all epochs; earlier ones were used or excluded
  /// The value of `samples` at which epoch `first_epoch` began. A changed data set starts a new epoch.
  std::uint64_t epoch_base = 0;
  std::uint64_t first_epoch = 0;  ///< epoch number at `epoch_base`
  std::uint64_t seed = 0;
  bool shuffle = true;
  std::uint64_t seq_len = 0;
  std::uint64_t sample_stride = 0;  ///< tokens between the first tokens of consecutive samples
  std::uint64_t samples_per_epoch = 0;
  std::string kind;       ///< "text" or "tokens"
  std::string tokenizer;  ///< "byte", "none" (for token files), or text that begins with the digest of a tokenizer.json
  std::vector<DataFile> files;
  SampleRanges excluded;  ///< samples that are left out; all at or after `samples`
  /// The sets of a mixture; empty if the data are one set. Their shares apply from `epoch_base` on. An epoch has as
  /// many samples as one pass over every set.
  std::vector<MixedSet> sets;
  bool operator==(const DataPosition&) const = default;
};

/// The epoch of the last sample before `position`; first_epoch if there is none since epoch_base.
std::uint64_t last_epoch(const DataPosition& position);

}  // namespace titan::ckpt
