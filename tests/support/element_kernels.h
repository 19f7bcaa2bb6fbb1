#pragma once
// The GPU's element kernels compiled as CPU functions. Include it in one source of a program: they are C functions.
#include <cmath>
#include <cstring>

namespace titan::test::element {

struct Index {
  unsigned x = 0, y = 0;
};
/// Where the kernel that is called is.
inline thread_local Index blockIdx, threadIdx, blockDim;

inline float __uint_as_float(unsigned bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}
inline unsigned __float_as_uint(float value) {
  unsigned bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

#ifndef __device__
#define __device__
#define __global__
#define __shared__
#endif
#define TITAN_EACH_THREAD
template <typename Work>
void each_thread(const Work& work) {
  for (threadIdx.x = 0; threadIdx.x < blockDim.x; ++threadIdx.x) work();
}
#include "libtrain/engine/cuda/element_kernels.cu"

/// Calls a kernel for each thread of `blocks` times `blocks_y` blocks of `threads`.
template <typename Call>
void for_each_thread(unsigned blocks, unsigned blocks_y, unsigned threads, const Call& call) {
  blockDim = {threads, 1};
  for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x)
    for (blockIdx.y = 0; blockIdx.y < blocks_y; ++blockIdx.y)
      for (threadIdx.x = 0; threadIdx.x < threads; ++threadIdx.x) call();
}

/// Calls a kernel whose threads meet for each of `blocks`: it goes through the `threads` of a block itself.
template <typename Call>
void for_each_block(unsigned blocks, unsigned threads, const Call& call) {
  blockDim = {threads, 1};
  blockIdx.y = 0;
  for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x) call();
}

}  // namespace titan::test::element
