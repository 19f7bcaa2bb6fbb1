#pragma once
// Recognises checkpoints of programs that we do not read, and says how to convert them.
#include <string>
#include <string_view>

#include "ckpt/base/what_is_this.h"
#include "converters/format.h"

namespace titan::convert {

/// Looks at the names of files in a folder, and at the first bytes of a file. \error kUnsupported naming what `path`
/// is; ok: it is none of these programs'
Status check_elsewhere(Fs& fs, const std::string& path);

/// Whether there is a regular file at `path`, also behind a link; false where nothing is. \error kUnsupported: it is
/// there and is no such file (a folder, a pipe, a link that leads nowhere); kMediaError, kFailed
Result<bool> file_there(Fs& fs, const std::string& path);

/// `error`, met while reading `path` as what it should be; or, where its first bytes are those of another kind of file
/// (a web page, a pointer of git-lfs, an archive), what it is. `expected` is what it should be, whole or not. \error
/// kUnsupported
Status or_what_it_is(const std::string& path, std::string_view beginning, const Status& error,
                     ckpt::FileKind expected = ckpt::FileKind::kUnknown);
/// The same of the file at `path`, of which nothing was read yet.
Status or_what_it_is(const std::string& path, ckpt::File& file, const Status& error, ckpt::FileKind expected);

}  // namespace titan::convert
