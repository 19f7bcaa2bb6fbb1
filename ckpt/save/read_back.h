#pragma once
// What was written is read again from the store, past the page cache, before it counts as saved.
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ckpt/base/fs.h"
#include "ckpt/format/manifest.h"
#include "ckpt/format/shard_file.h"
#include "ckpt/model/read_back.h"

namespace titan::ckpt {

/// The leaves of `count` that kSampled reads: one in a hundred, one at least, spread over the file; `seed` moves them.
std::vector<std::uint64_t> sampled_leaves(std::uint64_t count, std::uint64_t seed);

/// Reads of the shard `entry` in `folder`, whose leaves are `rows`, what `how` asks for: table, envelope and leaves
/// must have the digests of what was written. Up to `threads` read.
/// \error kFailed with the errno EIO: the store gives back something else, or cannot read it
Status read_back(Fs& fs, const std::string& folder, const FileEntry& entry, std::span<const LeafRow> rows, ReadBack how,
                 unsigned threads);

/// Reads the member `entry` of `folder`, which has one digest for all its bytes, in the same way. \error as above
Status read_back_whole(Fs& fs, const std::string& folder, const FileEntry& entry);

}  // namespace titan::ckpt
