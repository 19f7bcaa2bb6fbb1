#pragma once
// The fake device as LibTorch sees it: PrivateUse1, its kernels those of the CPU.
#include <atomic>
#include <cstdint>

namespace titan::test {

/// Makes LibTorch know the device. Before the first backward pass. A second call does nothing.
void register_kernels();

/// What kernels brought to the host: numbers that were asked for, and tensors that were copied.
std::atomic<std::uint64_t>& kernel_host_reads();

}  // namespace titan::test
