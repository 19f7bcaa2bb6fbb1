#include <torch/version.h>

#include "cli/titan_train/engine.h"

namespace titan::cli {

std::string torch_version() { return TORCH_VERSION; }

}  // namespace titan::cli
