#pragma once
// Simulated GPUs, in place of libcudart.so and the libraries above it. Preloaded under the real LibTorch by
// tests/e2e/simulated_gpu.py.
//   TITAN_SIMULATED_GPUS=2         number that a process sees; default 1
//   CUDA_VISIBLE_DEVICES=1         the number of the first of them
//   TITAN_SIMULATED_GPU_BYTES=N    memory of each; default 80 GiB
//   TITAN_SIMULATED_GPU_ZEROS=1    the host always reads zeros: for kernels that compute nothing
//   TITAN_SIMULATED_GPU_WAITS=FILE places where the host waited in the driver, one per line
//   TITAN_SIMULATED_GPU_EVENTS=N   an illegal access after N event queries
#include <vector_types.h>

#include <cstddef>
#include <cstdlib>

namespace titan::gpu {

inline std::size_t number_of(const char* variable, std::size_t otherwise) {
  const char* const value = std::getenv(variable);
  return value == nullptr ? otherwise : std::strtoull(value, nullptr, 10);
}

/// The host stands in the driver here, and cannot hand out work.
void note_wait(const char* where);

/// A kernel was handed to the GPU.
void count_launch();

/// Of the memory of a GPU; false: it has not as much.
bool take_bytes(int device, std::size_t bytes);
void give_back_bytes(int device, std::size_t bytes);
/// Addresses that are a GPU's from now on, and no more: those that begin within `bytes`.
void add_range(const void* at, std::size_t bytes, int device);
void drop_ranges(const void* at, std::size_t bytes);
/// A kernel of libtitan_cuda.so; null where it has none of that name.
const void* own_kernel(const char* name);
/// Gives it to a stream. False: it is none of these.
bool launch_own(const void* kernel, dim3 blocks, dim3 threads, void** arguments, void* stream);
/// What LibTorch looks up of the driver by name; null where there is none.
void* driver_function(const char* name);

inline int gpus() { return static_cast<int>(number_of("TITAN_SIMULATED_GPUS", 1)); }
inline std::size_t total_bytes() { return number_of("TITAN_SIMULATED_GPU_BYTES", std::size_t{80} << 30); }

}  // namespace titan::gpu
