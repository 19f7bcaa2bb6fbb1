#pragma once
// Reads back what a save has written, past the page cache, before the step is published.
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ckpt/format/manifest.h"
#include "ckpt/format/shard_file.h"
#include "ckpt/model/read_back.h"

namespace titan::ckpt {

class Fs;

/// The indexes of the leaves (of `count`) that kSampled reads: one in a hundred, but at least one, evenly spread.
/// `seed` shifts them.
std::vector<std::uint64_t> sampled_leaves(std::uint64_t count, std::uint64_t seed);

/// Reads back the parts of shard `entry` in `folder` that `how` asks for, with up to `threads` threads. Compares table,
/// envelope and leaves with the digests taken while writing; `rows` are the table rows of its leaves.
/// \error kFailed: the store returns other bytes (with Status::error EIO), or cannot read the file
Status read_back(Fs& fs, const std::string& folder, const FileEntry& entry, std::span<const LeafRow> rows, ReadBack how,
                 unsigned threads);

/// Reads back the member `entry` of `folder`, which has one digest of the whole file. \error as read_back()
Status read_back_whole(Fs& fs, const std::string& folder, const FileEntry& entry);

}  // namespace titan::ckpt
