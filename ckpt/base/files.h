#pragma once
// Whole files and folders: what many callers do with an Fs in several calls.
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

/// Reads a whole file. \error kCorrupt when it is larger than `limit` bytes.
Result<std::vector<std::byte>> read_file(Fs& fs, const std::string& path, std::uint64_t limit);
/// Reads the whole of `member` in `folder` (Fs::open_member). \error kCorrupt when it is larger than `limit` bytes, and
/// the errors of open_member
Result<std::vector<std::byte>> read_member(Fs& fs, const std::string& folder, const std::string& member,
                                           std::uint64_t limit);
/// Creates `path` with `data`, makes the file durable and closes it. The directory is not synced.
Status write_new_file(Fs& fs, const std::string& path, std::span<const std::byte> data);
/// Finishes a member of a checkpoint: takes write permission from the file if the store can, makes it durable and
/// closes it.
Status finish_member(File& file);
/// Creates a member of a checkpoint with `data`: as write_new_file, and read-only.
Status write_member(Fs& fs, const std::string& path, std::span<const std::byte> data);
/// Creates `path` and every missing parent, syncing each parent that got a new name.
Status make_dirs(Fs& fs, const std::string& path);
/// Removes `path` with everything below it; missing is fine. `cancel` is asked before each removal, and nothing more is
/// removed once it says stop. \error kFailed, kInterrupted, kTerminated
Status remove_tree(Fs& fs, const std::string& path, const CancelToken& cancel = {});
/// Makes a folder whose name no other process uses, or takes it if it exists and is empty. \error as Fs::make_dir
Status make_own_dir(Fs& fs, const std::string& path);
/// The error about the symbolic link `path` inside a checkpoint.
Status link_refused(const std::string& path);

}  // namespace titan::ckpt
