// Kernels of the simulated GPU: they are launched and do nothing.
//   TITAN_SIMULATED_GPU_KERNELS=FILE    the names of those that were launched, a line each
//   TITAN_SIMULATED_GPU_LAUNCHES=FILE   how many were, and products by cuBLAS: 8 bytes, however the process ends
#include <cuda_runtime_api.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "tests/simulated_gpu/gpus.h"

namespace {

/// In the file, where that is asked for.
std::atomic<std::uint64_t>* shared_count() {
  const char* const file = std::getenv("TITAN_SIMULATED_GPU_LAUNCHES");
  if (file == nullptr) return nullptr;
  const int fd = ::open(file, O_RDWR | O_CREAT, 0644);
  if (fd < 0 || ::ftruncate(fd, sizeof(std::uint64_t)) != 0) return nullptr;
  void* const at = ::mmap(nullptr, sizeof(std::uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  ::close(fd);
  return at == MAP_FAILED ? nullptr : static_cast<std::atomic<std::uint64_t>*>(at);
}

struct Kernels {
  std::mutex mutex;
  std::map<const void*, std::string> names;
  std::set<std::string> launched;
  std::map<const void*, std::vector<char>> symbols;
};

Kernels& kernels() {
  static Kernels& all = *new Kernels;
  return all;
}

cudaError_t launched(const void* kernel) {
  titan::gpu::count_launch();
  static const char* const file = std::getenv("TITAN_SIMULATED_GPU_KERNELS");
  if (file == nullptr) return cudaSuccess;
  Kernels& all = kernels();
  const std::scoped_lock lock(all.mutex);
  const std::string& name = all.names[kernel];
  if (!all.launched.insert(name).second) return cudaSuccess;
  if (std::FILE* out = std::fopen(file, "a"); out != nullptr) {
    std::fprintf(out, "%s\n", name.c_str());
    std::fclose(out);
  }
  return cudaSuccess;
}

}  // namespace

void titan::gpu::count_launch() {
  static std::atomic<std::uint64_t>* const count = shared_count();
  if (count != nullptr) ++*count;
}

extern "C" {

// What the code of kernels registers itself with.
void** __cudaRegisterFatBinary(void*) {
  static void* one = nullptr;
  return &one;
}
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}
void __cudaRegisterVar(void**, char*, char*, const char*, int, std::size_t, int, int) {}
void __cudaRegisterFunction(void**, const char* kernel, char*, const char* name, int, uint3*, uint3*, dim3*, dim3*,
                            int*) {
  Kernels& all = kernels();
  const std::scoped_lock lock(all.mutex);
  all.names[kernel] = name;
}
cudaError_t __cudaGetKernel(cudaKernel_t* made, const void* kernel) {
  *made = reinterpret_cast<cudaKernel_t>(const_cast<void*>(kernel));
  return cudaSuccess;
}
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3, dim3, void**, std::size_t, cudaStream_t) {
  return launched(kernel);
}
cudaError_t cudaLaunchKernel(const void* kernel, dim3 blocks, dim3 threads, void** arguments, std::size_t,
                             cudaStream_t stream) {
  titan::gpu::launch_own(kernel, blocks, threads, arguments, stream);
  return launched(kernel);
}
cudaError_t cudaLibraryGetKernel(cudaKernel_t* made, cudaLibrary_t, const char* name) {
  const void* const kernel = titan::gpu::own_kernel(name);
  if (kernel == nullptr) return cudaErrorSymbolNotFound;
  Kernels& all = kernels();
  const std::scoped_lock lock(all.mutex);
  all.names[kernel] = name;
  *made = static_cast<cudaKernel_t>(const_cast<void*>(kernel));
  return cudaSuccess;
}
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t*, const void* kernel, void**) { return launched(kernel); }

thread_local struct {
  dim3 grid, block;
  std::size_t shared;
  cudaStream_t stream;
} pushed;
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, std::size_t shared, cudaStream_t stream) {
  pushed = {grid, block, shared, stream};
  return 0;
}
cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, std::size_t* shared, void* stream) {
  *grid = pushed.grid;
  *block = pushed.block;
  *shared = pushed.shared;
  *static_cast<cudaStream_t*>(stream) = pushed.stream;
  return cudaSuccess;
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* facts, const void*) {
  *facts = {};
  facts->maxThreadsPerBlock = 1024;
  facts->maxDynamicSharedSizeBytes = 227 << 10;
  facts->numRegs = 32;
  facts->ptxVersion = facts->binaryVersion = 90;
  return cudaSuccess;
}
cudaError_t cudaFuncSetAttribute(const void*, cudaFuncAttribute, int) { return cudaSuccess; }
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void*, int, std::size_t,
                                                                   unsigned) {
  *blocks = 2;
  return cudaSuccess;
}
cudaError_t cudaGetSymbolAddress(void** at, const void* symbol) {
  Kernels& all = kernels();
  const std::scoped_lock lock(all.mutex);
  std::vector<char>& bytes = all.symbols[symbol];
  bytes.resize(1 << 20);
  *at = bytes.data();
  return cudaSuccess;
}
cudaError_t cudaMemcpyToSymbol(const void*, const void*, std::size_t, std::size_t, cudaMemcpyKind) {
  return cudaSuccess;
}

}  // extern "C"
