#pragma once
// Checks the path of metrics.status_file.
#include <string>

#include "ckpt/base/status.h"

namespace titan::recipe {
struct Config;
}

namespace titan::ckpt {
class Fs;
}

namespace titan::train {

/// The path of metrics.status_file = `name` of a run in `run_dir`.
std::string status_path(const std::string& run_dir, const std::string& name);

/// Refuses a metrics.status_file at a path where the run writes other files, or where there is something else than the
/// status of this run, since the run would replace it. Accepted are: no file, an empty one, and in the run folder the
/// status of a run of another name (this run was moved). \error kInvalid: another file, the status of another run, a
/// folder; kFailed, kMediaError
ckpt::Status check_status_place(ckpt::Fs& fs, const recipe::Config& config);

}  // namespace titan::train
