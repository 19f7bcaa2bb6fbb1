#include "ckpt/base/hash_kernel.h"

#if defined(__AVX512F__)
#include "ckpt/base/hash_kernel.inc"
#endif

namespace titan::ckpt {

const HashKernel* avx512_hash_kernel() {
#if defined(__AVX512F__)
  static constexpr HashKernel kernel{"avx512", hash, reset, update, digest};
  return &kernel;
#else
  return nullptr;
#endif
}

}  // namespace titan::ckpt
