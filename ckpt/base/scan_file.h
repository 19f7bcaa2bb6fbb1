#pragma once
// A file that is read once, front to back, at the speed of the disk: see Fs::open_scan.
#include <memory>
#include <string>

#include "ckpt/base/fs.h"

namespace titan::ckpt {

/// What PosixFs::open_scan does. \error kNotFound, kFailed
Result<std::unique_ptr<File>> open_scan_file(const std::string& path);

}  // namespace titan::ckpt
