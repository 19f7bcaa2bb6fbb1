#pragma once
// XXH3-128, compiled once for each instruction set. hash.cpp uses the widest one that the processor supports. All of
// them give the same digests.
#include <cstddef>
#include <cstdint>

namespace titan::ckpt {

/// The functions of XXH3-128 for one instruction set.
struct HashKernel {
  struct Value {
    std::uint64_t low, high;
  };
  struct alignas(64) State {
    unsigned char bytes[576];
  };
  const char* name;
  Value (*hash)(const void* data, std::size_t bytes);
  void (*reset)(State& state);
  void (*update)(State& state, const void* data, std::size_t bytes);
  Value (*digest)(const State& state);
};

/// The kernel of an instruction set; null if the program was compiled without it.
const HashKernel* portable_hash_kernel();
const HashKernel* avx2_hash_kernel();
const HashKernel* avx512_hash_kernel();

/// The kernels that this processor can run, slowest first. The first one is the portable one.
struct HashKernels {
  const HashKernel* kernels[3];
  int count;
};
HashKernels usable_hash_kernels();

}  // namespace titan::ckpt
