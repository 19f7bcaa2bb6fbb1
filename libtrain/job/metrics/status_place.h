#pragma once
// Checks where metrics.status_file is written.
#include <string>

#include "ckpt/base/fs.h"

namespace titan::train {

/// The path of metrics.status_file = `name` of a run in `run_dir`.
std::string status_path(const std::string& run_dir, const std::string& name);

/// Refuses a `path` that has something other than the status of a run, since it would be replaced. \error kInvalid:
/// another file, a folder; kFailed, kMediaError
ckpt::Status check_status_place(ckpt::Fs& fs, const std::string& path);

}  // namespace titan::train
