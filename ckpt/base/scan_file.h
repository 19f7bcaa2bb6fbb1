#pragma once
// A file that is read past the page cache: see Fs::open_scan and Access.
#include <memory>
#include <string>

#include "ckpt/base/fs.h"

namespace titan::ckpt {

/// Takes `fd`, a regular file that is open for reading. kScan: what is in memory already comes from there; kPastCache:
/// nothing does, where the store can do that.
std::unique_ptr<File> make_scan_file(int fd, std::string path, Access access);

}  // namespace titan::ckpt
