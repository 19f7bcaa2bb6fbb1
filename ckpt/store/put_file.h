#pragma once
// A small file that is written anew in the place of what is there, whole at any moment.
#include <string>
#include <string_view>

#include "ckpt/base/status.h"

namespace titan::ckpt {

class Fs;

/// `<path>.tmp-<id>` with an id that no other call gets: no file of a user's has that name, and no other writer's.
std::string temporary_beside(const std::string& path);

/// What a crash may leave. kNo: anything; kWhole: the old text or the new one; kYes: the new one, once the call
/// returns.
enum class Lasting { kNo, kWhole, kYes };

/// Writes `text` beside `path` (temporary_beside) and renames it there; an error leaves nothing beside it.
Status put_file(Fs& fs, const std::string& path, std::string_view text, Lasting lasting);

/// Removes what calls of put_file for `path` left that were killed. Only for who writes there alone, or whose next
/// put_file mends it.
Status remove_unput(Fs& fs, const std::string& path);

}  // namespace titan::ckpt
