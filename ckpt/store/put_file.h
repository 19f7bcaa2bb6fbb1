#pragma once
// Replaces a small file atomically.
#include <string>
#include <string_view>

#include "ckpt/base/status.h"

namespace titan::ckpt {

class Fs;

/// `<path>.tmp-<id>` with an id that no other call gets: no file of a user's has that name, and no other writer's.
std::string temporary_path(const std::string& path);

/// What is on disk after a crash. kNo: anything; kWhole: the old or the new text; kYes: the new text, once the call has
/// returned.
enum class Lasting { kNo, kWhole, kYes };

/// Writes `text` to temporary_path(path) and renames it to `path`. After an error the temporary file is removed.
Status put_file(Fs& fs, const std::string& path, std::string_view text, Lasting lasting);

/// Removes the temporary files that killed put_file() calls for `path` left. Safe only if nobody else writes `path`
/// now, or if the other writer repeats its put_file().
Status remove_stale_temporaries(Fs& fs, const std::string& path);

}  // namespace titan::ckpt
