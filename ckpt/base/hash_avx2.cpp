#include "ckpt/base/hash_kernel.h"

#if defined(__AVX2__)
#include "ckpt/base/hash_kernel.inc"
#endif

namespace titan::ckpt {

const HashKernel* avx2_hash_kernel() {
#if defined(__AVX2__)
  static constexpr HashKernel kernel{"avx2", hash, reset, update, digest};
  return &kernel;
#else
  return nullptr;
#endif
}

}  // namespace titan::ckpt
