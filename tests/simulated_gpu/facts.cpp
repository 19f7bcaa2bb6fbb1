// What CUDA's runtime says of the simulated GPU: an H100's figures.
#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstdlib>

#include "tests/simulated_gpu/gpus.h"

extern "C" {

cudaError_t cudaDriverGetVersion(int* version) {
  *version = 13000;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceCount(int* count) {
  *count = titan::gpu::gpus();
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* facts, int device) {
  *facts = {};
  const char* const visible = std::getenv("CUDA_VISIBLE_DEVICES");
  facts->uuid.bytes[0] = static_cast<char>(device + (visible == nullptr ? 0 : std::atoi(visible)));
  std::snprintf(facts->name, sizeof facts->name, "Simulated GPU");
  facts->totalGlobalMem = titan::gpu::total_bytes();
  facts->major = 9;
  facts->multiProcessorCount = 132;
  facts->warpSize = 32;
  facts->maxThreadsPerBlock = 1024;
  facts->maxThreadsPerMultiProcessor = 2048;
  facts->maxBlocksPerMultiProcessor = 32;
  facts->regsPerBlock = facts->regsPerMultiprocessor = 65536;
  facts->sharedMemPerBlock = 48 << 10;
  facts->sharedMemPerBlockOptin = 227 << 10;
  facts->sharedMemPerMultiprocessor = 228 << 10;
  facts->l2CacheSize = 50 << 20;
  facts->memoryBusWidth = 5120;
  facts->textureAlignment = 512;
  for (int& most : facts->maxThreadsDim) most = 1024;
  facts->maxGridSize[0] = 0x7fffffff;
  facts->maxGridSize[1] = facts->maxGridSize[2] = 65535;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr which, int device) {
  cudaDeviceProp facts;
  cudaGetDeviceProperties(&facts, device);
  switch (which) {
    case cudaDevAttrComputeCapabilityMajor: *value = facts.major; break;
    case cudaDevAttrComputeCapabilityMinor: *value = facts.minor; break;
    case cudaDevAttrMultiProcessorCount: *value = facts.multiProcessorCount; break;
    case cudaDevAttrMaxThreadsPerBlock: *value = facts.maxThreadsPerBlock; break;
    case cudaDevAttrMaxThreadsPerMultiProcessor: *value = facts.maxThreadsPerMultiProcessor; break;
    case cudaDevAttrMaxSharedMemoryPerBlock: *value = static_cast<int>(facts.sharedMemPerBlock); break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin: *value = static_cast<int>(facts.sharedMemPerBlockOptin); break;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
      *value = static_cast<int>(facts.sharedMemPerMultiprocessor);
      break;
    case cudaDevAttrWarpSize: *value = facts.warpSize; break;
    case cudaDevAttrMaxGridDimX: *value = facts.maxGridSize[0]; break;
    default: *value = 0;
  }
  return cudaSuccess;
}
cudaError_t cudaDeviceGetPCIBusId(char* text, int bytes, int device) {
  std::snprintf(text, static_cast<std::size_t>(bytes), "0000:%02x:00.0", device);
  return cudaSuccess;
}
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0;
  *greatest = -5;
  return cudaSuccess;
}
cudaError_t cudaDeviceCanAccessPeer(int* can, int, int) {
  *can = 0;
  return cudaSuccess;
}
cudaError_t cudaGetLastError() { return cudaSuccess; }
cudaError_t cudaPeekAtLastError() { return cudaSuccess; }
cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode*) { return cudaSuccess; }
cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** found, unsigned, unsigned long long,
                                             cudaDriverEntryPointQueryResult* result) {
  *found = titan::gpu::driver_function(name);
  if (result != nullptr) *result = *found == nullptr ? cudaDriverEntryPointSymbolNotFound : cudaDriverEntryPointSuccess;
  return cudaSuccess;
}

}  // extern "C"
