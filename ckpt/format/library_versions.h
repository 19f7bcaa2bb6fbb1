#pragma once
// Versions of the libraries that write checkpoints, as text.
#include <string>

namespace titan::ckpt {

std::string hdf5_version();    ///< "1.10.8"
std::string zstd_version();    ///< "1.5.4"
std::string xxhash_version();  ///< "0.8.1"

}  // namespace titan::ckpt
