#pragma once
// Bombs in our own format: checkpoints of a few hundred bytes that claim more than there is.
#include <functional>
#include <string>
#include <vector>

#include "ckpt/base/status.h"

namespace titan::fuzz {

struct OwnBomb {
  std::string name;
  std::function<ckpt::Status()> light;  ///< must not be ok, and must not take more memory than there is
};

std::vector<OwnBomb> own_bombs();
/// A whole shard of four million leaves is verified and read; ok when it is found to be whole.
ckpt::Status verify_four_million_leaves();

}  // namespace titan::fuzz
