#include "ckpt/base/hash_kernel.h"
#include "ckpt/base/hash_kernel.inc"

namespace titan::ckpt {

const HashKernel* portable_hash_kernel() {
  static constexpr HashKernel kernel{"portable", hash, reset, update, digest};
  return &kernel;
}

}  // namespace titan::ckpt
