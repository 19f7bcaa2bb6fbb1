#pragma once
// The leaf table of a shard, a few rows at a time: what a manifest claims of its length costs no memory.
#include <cstdint>
#include <string>
#include <vector>

#include "ckpt/base/fs.h"
#include "ckpt/format/manifest.h"
#include "ckpt/format/shard_file.h"

namespace titan::ckpt {

inline constexpr std::uint64_t kRowsAtOnce = 16384;  ///< 1 MiB of the table

/// Refuses a table of more than 64 MiB in a file that has no bytes on disk: reading its zeros could take days. \error
/// kCorrupt
Status check_table_on_disk(const FileEntry& entry, const FileInfo& info, const std::string& path);
/// The digest of the table of `entry` as it lies in `file`, read in parts. \error those of File::pread
Result<Digest> table_digest(File& file, const FileEntry& entry);
/// Checks that digest; `path` names the file. \error kCorrupt, those of File::pread
Status check_table(File& file, const FileEntry& entry, const std::string& path);
/// Reads rows [first, first + count) of the table, all of which are in it. \error those of File::pread
Result<std::vector<LeafRow>> read_rows(File& file, const FileEntry& entry, std::uint64_t first, std::uint64_t count);

}  // namespace titan::ckpt
