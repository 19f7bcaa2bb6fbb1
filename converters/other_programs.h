#pragma once
// Recognises checkpoints of programs that Titan does not read, and says how to convert them.
#include <string>
#include <string_view>

#include "ckpt/base/file_kind.h"
#include "converters/format.h"

namespace titan::ckpt {
class File;
}

namespace titan::convert {

/// Examines the file names in a folder, or the first bytes of a file. \error kUnsupported naming what `path` is; ok:
/// not a checkpoint of these programs
Status check_other_programs(Fs& fs, const std::string& path);

/// Whether there is a regular file at `path`, or a link to one; false if nothing is there. \error kUnsupported:
/// something else is there (a folder, a pipe, a dead link); kMediaError, kFailed
Result<bool> file_there(Fs& fs, const std::string& path);

/// Returns `error`, which occurred while reading `path` as a file of kind `expected`. If the first bytes belong to
/// another kind of file (a web page, a git-lfs pointer, an archive), returns kUnsupported naming that kind instead;
/// kCorrupt if they are all zero.
Status or_wrong_file_kind(const std::string& path, std::string_view beginning, const Status& error,
                          ckpt::FileKind expected = ckpt::FileKind::kUnknown);
/// As the other or_wrong_file_kind(), for a file of which nothing was read yet.
Status or_wrong_file_kind(const std::string& path, ckpt::File& file, const Status& error, ckpt::FileKind expected);

}  // namespace titan::convert
