#pragma once
// Operations on whole files and folders, each made of several calls of an Fs.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ckpt/base/cancel.h"
#include "ckpt/base/result.h"

namespace titan::ckpt {

class File;
class Fs;

/// Reads a whole file. \error kCorrupt when it is larger than `limit` bytes, and the errors of Fs::open_read
Result<std::vector<std::byte>> read_file(Fs& fs, const std::string& path, std::uint64_t limit);
/// Reads the whole of `member` in `folder` (Fs::open_member). \error kCorrupt when it is larger than `limit` bytes, and
/// the errors of open_member
Result<std::vector<std::byte>> read_member(Fs& fs, const std::string& folder, const std::string& member,
                                           std::uint64_t limit);
/// Creates `path` with `data`, makes the file durable and closes it. The directory is not synced.
Status write_new_file(Fs& fs, const std::string& path, std::span<const std::byte> data);
/// Finishes a member of a checkpoint: removes write permission if the store has permissions, makes the file durable and
/// closes it.
Status finish_member(File& file);
/// Creates a member of a checkpoint with `data`: as write_new_file(), and read-only.
Status write_member(Fs& fs, const std::string& path, std::span<const std::byte> data);
/// Creates `path` and every missing parent, and syncs each folder in which a name was created.
Status make_dirs(Fs& fs, const std::string& path);
/// Removes `path` with everything below it; ok if `path` does not exist. Checks `cancel` before each removal, and
/// removes nothing more after a stop. \error kFailed, kMediaError, kInterrupted, kTerminated
Status remove_tree(Fs& fs, const std::string& path, const CancelToken& cancel = {});
/// Creates the folder `path`, whose name no other process may use. An existing empty folder counts as created.
/// \error as Fs::make_dir
Status make_own_dir(Fs& fs, const std::string& path);
/// The error (kCorrupt) about the symbolic link `path` inside a checkpoint.
Status link_refused(const std::string& path);

}  // namespace titan::ckpt
