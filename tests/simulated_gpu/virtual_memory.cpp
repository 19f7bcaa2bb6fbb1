// Memory of the simulated GPU that is mapped piece by piece, as LibTorch's segments that grow want it from the driver.
#include <cuda.h>
#include <sys/mman.h>

#include <cstring>
#include <string_view>
#include <utility>

#include "tests/simulated_gpu/gpus.h"
#include "tests/simulated_gpu/machine.h"

namespace {

constexpr std::size_t kGranularity = 2 << 20;

struct Piece {
  std::size_t bytes;
  int device;
};

Piece& piece_of(CUmemGenericAllocationHandle handle) { return *reinterpret_cast<Piece*>(handle); }
void* place(CUdeviceptr at) { return reinterpret_cast<void*>(at); }

void* fresh(void* at, std::size_t bytes, int access) {
  const int fixed = at == nullptr ? 0 : MAP_FIXED;
  return ::mmap(at, bytes, access, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | fixed, -1, 0);
}

CUresult reserve(CUdeviceptr* at, std::size_t bytes, std::size_t, CUdeviceptr, unsigned long long) {
  void* const made = fresh(nullptr, bytes, PROT_NONE);
  *at = reinterpret_cast<CUdeviceptr>(made);
  return made == MAP_FAILED ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}
CUresult free_addresses(CUdeviceptr at, std::size_t bytes) {
  ::munmap(place(at), bytes);
  return CUDA_SUCCESS;
}
CUresult create(CUmemGenericAllocationHandle* made, std::size_t bytes, const CUmemAllocationProp* facts,
                unsigned long long) {
  if (!titan::gpu::take_bytes(facts->location.id, bytes)) return CUDA_ERROR_OUT_OF_MEMORY;
  *made = reinterpret_cast<CUmemGenericAllocationHandle>(new Piece{bytes, facts->location.id});
  return CUDA_SUCCESS;
}
CUresult release(CUmemGenericAllocationHandle handle) {
  const Piece piece = piece_of(handle);
  delete &piece_of(handle);
  titan::gpu::give_back_bytes(piece.device, piece.bytes);
  return CUDA_SUCCESS;
}
CUresult map(CUdeviceptr at, std::size_t bytes, std::size_t, CUmemGenericAllocationHandle handle, unsigned long long) {
  titan::gpu::note_wait("map");
  if (fresh(place(at), bytes, PROT_READ | PROT_WRITE) == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
  titan::gpu::add_range(place(at), bytes, piece_of(handle).device);
  return CUDA_SUCCESS;
}
CUresult unmap(CUdeviceptr at, std::size_t bytes) {
  titan::gpu::note_wait("unmap");
  titan::gpu::Machine::get().finish_all();
  titan::gpu::drop_ranges(place(at), bytes);
  fresh(place(at), bytes, PROT_NONE);
  return CUDA_SUCCESS;
}
CUresult set_access(CUdeviceptr, std::size_t, const CUmemAccessDesc*, std::size_t) { return CUDA_SUCCESS; }
CUresult granularity(std::size_t* bytes, const CUmemAllocationProp*, CUmemAllocationGranularity_flags) {
  *bytes = kGranularity;
  return CUDA_SUCCESS;
}
CUresult get_device(CUdevice* device, int number) {
  *device = number;
  return CUDA_SUCCESS;
}
CUresult attribute(int* value, CUdevice_attribute, CUdevice) {
  *value = 0;
  return CUDA_SUCCESS;
}
CUresult error_string(CUresult, const char** text) {
  *text = "an error of the simulated driver";
  return CUDA_SUCCESS;
}
CUresult not_there() { return CUDA_ERROR_NOT_SUPPORTED; }

template <typename Function>
void* address(Function function) {
  return reinterpret_cast<void*>(function);
}

}  // namespace

void* titan::gpu::driver_function(const char* name) {
  const std::pair<std::string_view, void*> all[] = {{"cuMemAddressReserve", address(&reserve)},
                                                    {"cuMemAddressFree", address(&free_addresses)},
                                                    {"cuMemCreate", address(&create)},
                                                    {"cuMemRelease", address(&release)},
                                                    {"cuMemMap", address(&map)},
                                                    {"cuMemUnmap", address(&unmap)},
                                                    {"cuMemSetAccess", address(&set_access)},
                                                    {"cuMemGetAllocationGranularity", address(&granularity)},
                                                    {"cuDeviceGet", address(&get_device)},
                                                    {"cuDeviceGetAttribute", address(&attribute)},
                                                    {"cuGetErrorString", address(&error_string)}};
  for (const auto& [known, function] : all)
    if (known == name) return function;
  // What LibTorch looks up beside these, and never calls here.
  for (const std::string_view other :
       {"cuMemExportToShareableHandle", "cuMemImportFromShareableHandle", "cuMemRetainAllocationHandle",
        "cuMemGetAllocationPropertiesFromHandle", "cuMemsetD32Async", "cuStreamWriteValue32"})
    if (other == name) return address(&not_there);
  return nullptr;
}
