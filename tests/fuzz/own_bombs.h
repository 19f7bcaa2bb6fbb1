#pragma once
// Bombs in Titan's format: checkpoints of a few hundred bytes that claim huge contents.
#include <functional>
#include <string>
#include <vector>

#include "ckpt/base/status.h"

namespace titan::fuzz {

struct OwnBomb {
  std::string name;
  std::function<ckpt::Status()> light;  ///< must not return ok, and must not use more memory than the contents justify
};

std::vector<OwnBomb> own_bombs();
/// A whole shard of four million leaves is verified and read; ok when it is found to be whole.
ckpt::Status verify_four_million_leaves();

}  // namespace titan::fuzz
