#pragma once
// Replaces a small file atomically.
#include <string>
#include <string_view>

#include "ckpt/base/status.h"

namespace titan::ckpt {

class Fs;

/// `<path>.tmp-<id>` with a new random id, so that neither a user nor another writer has a file with this name.
std::string temporary_path(const std::string& path);

/// What is on the disk after a crash of the host. kNo: anything; kWhole: the old or the new text; kYes: as kWhole, and
/// the new text once put_file() has returned.
enum class Lasting { kNo, kWhole, kYes };

/// Writes `text` to temporary_path(path) and renames it to `path`. After an error the temporary file is removed.
Status put_file(Fs& fs, const std::string& path, std::string_view text, Lasting lasting);

/// Removes all temporary files of `path`, which killed put_file() calls left. Safe only if no other process writes
/// `path` now, or if that process repeats its put_file().
Status remove_stale_temporaries(Fs& fs, const std::string& path);

}  // namespace titan::ckpt
