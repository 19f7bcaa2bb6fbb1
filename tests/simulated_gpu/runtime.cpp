// CUDA's runtime on the simulated GPU: memory, streams, events and copies.
#include <cuda_runtime_api.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "tests/simulated_gpu/gpus.h"
#include "tests/simulated_gpu/machine.h"

namespace {

using titan::gpu::Machine;
using titan::gpu::note_wait;

constexpr int kMostGpus = 16;
thread_local int current = 0;

struct Block {
  std::size_t bytes;
  int device;  ///< -1: pinned memory of the host
};

struct State {
  std::mutex mutex;
  std::map<const char*, Block> blocks;
  std::size_t used[kMostGpus] = {};
};

State& state() {
  static State& all = *new State;
  return all;
}

const Block* block_of(const void* at, const State& state) {
  auto next = state.blocks.upper_bound(static_cast<const char*>(at));
  if (next == state.blocks.begin()) return nullptr;
  --next;
  return static_cast<const char*>(at) < next->first + next->second.bytes ? &next->second : nullptr;
}

enum class Place { kPageable, kPinned, kGpu };

Place place_of(const void* at) {
  State& all = state();
  const std::scoped_lock lock(all.mutex);
  const Block* const block = block_of(at, all);
  return block == nullptr ? Place::kPageable : block->device < 0 ? Place::kPinned : Place::kGpu;
}

cudaError_t make_block(void** at, std::size_t bytes, int device) {
  State& all = state();
  const std::scoped_lock lock(all.mutex);
  if (device >= 0 && all.used[device] + bytes > titan::gpu::total_bytes()) return cudaErrorMemoryAllocation;
  void* const made = ::mmap(nullptr, std::max<std::size_t>(bytes, 1), PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (made == MAP_FAILED) return cudaErrorMemoryAllocation;
  if (device >= 0) all.used[device] += bytes;
  all.blocks[static_cast<const char*>(made)] = {bytes, device};
  *at = made;
  return cudaSuccess;
}

cudaError_t drop_block(void* at) {
  if (at == nullptr) return cudaSuccess;
  Machine::get().finish_all();
  State& all = state();
  const std::scoped_lock lock(all.mutex);
  const auto found = all.blocks.find(static_cast<const char*>(at));
  if (found == all.blocks.end()) return cudaErrorInvalidValue;
  if (found->second.device >= 0) all.used[found->second.device] -= found->second.bytes;
  ::munmap(at, std::max<std::size_t>(found->second.bytes, 1));
  all.blocks.erase(found);
  return cudaSuccess;
}

/// Once it has come to one, nothing works any more: CUDA says the same error again and again.
bool is_broken() {
  static const std::size_t most = titan::gpu::number_of("TITAN_SIMULATED_GPU_EVENTS", SIZE_MAX);
  static std::atomic<std::size_t> asked = 0;
  return asked++ >= most;
}

struct Event {
  std::mutex mutex;
  std::shared_ptr<titan::gpu::Mark> last;
  std::shared_ptr<titan::gpu::Mark> now() {
    const std::scoped_lock lock(mutex);
    return last;
  }
};

Event& event_of(cudaEvent_t event) { return *reinterpret_cast<Event*>(event); }

}  // namespace

void titan::gpu::note_wait(const char* where) {
  static const char* const file = std::getenv("TITAN_SIMULATED_GPU_WAITS");
  if (file == nullptr) return;
  if (std::FILE* out = std::fopen(file, "a"); out != nullptr) {
    std::fprintf(out, "%s\n", where);
    std::fclose(out);
  }
}

bool titan::gpu::take_bytes(int device, std::size_t bytes) {
  State& all = state();
  const std::scoped_lock lock(all.mutex);
  if (all.used[device] + bytes > total_bytes()) return false;
  all.used[device] += bytes;
  return true;
}

void titan::gpu::give_back_bytes(int device, std::size_t bytes) {
  State& all = state();
  const std::scoped_lock lock(all.mutex);
  all.used[device] -= bytes;
}

void titan::gpu::add_range(const void* at, std::size_t bytes, int device) {
  State& all = state();
  const std::scoped_lock lock(all.mutex);
  all.blocks[static_cast<const char*>(at)] = {bytes, device};
}

void titan::gpu::drop_ranges(const void* at, std::size_t bytes) {
  State& all = state();
  const std::scoped_lock lock(all.mutex);
  const auto* const first = static_cast<const char*>(at);
  all.blocks.erase(all.blocks.lower_bound(first), all.blocks.lower_bound(first + bytes));
}

extern "C" {

cudaError_t cudaGetDevice(int* device) {
  *device = current;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
  if (device < 0 || device >= titan::gpu::gpus()) return cudaErrorInvalidDevice;
  current = device;
  return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize() {
  note_wait("synchronize");
  Machine::get().finish_all();
  return cudaSuccess;
}
cudaError_t cudaMalloc(void** at, std::size_t bytes) {
  note_wait("malloc");
  return make_block(at, bytes, current);
}
cudaError_t cudaFree(void* at) {
  note_wait("free");
  return drop_block(at);
}
cudaError_t cudaHostAlloc(void** at, std::size_t bytes, unsigned) { return make_block(at, bytes, -1); }
cudaError_t cudaFreeHost(void* at) { return drop_block(at); }
cudaError_t cudaMemGetInfo(std::size_t* unused, std::size_t* total) {
  State& all = state();
  const std::scoped_lock lock(all.mutex);
  *total = titan::gpu::total_bytes();
  *unused = *total - all.used[current];
  return cudaSuccess;
}
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* facts, const void* at) {
  State& all = state();
  const std::scoped_lock lock(all.mutex);
  const Block* const block = block_of(at, all);
  *facts = {};
  facts->type = block == nullptr    ? cudaMemoryTypeUnregistered
                : block->device < 0 ? cudaMemoryTypeHost
                                    : cudaMemoryTypeDevice;
  facts->device = block == nullptr ? -2 : std::max(block->device, 0);
  facts->devicePointer = facts->hostPointer = const_cast<void*>(at);
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  *stream = static_cast<cudaStream_t>(Machine::get().make_stream());
  return cudaSuccess;
}
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int) {
  return cudaStreamCreateWithFlags(stream, flags);
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  Machine::get().drop_stream(stream);
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  note_wait("synchronize");
  Machine::get().finish_stream(stream);
  return cudaSuccess;
}
cudaError_t cudaStreamQuery(cudaStream_t stream) {
  return Machine::get().come_to(*Machine::get().mark(stream)) ? cudaSuccess : cudaErrorNotReady;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  if (auto mark = event_of(event).now()) Machine::get().wait(stream, std::move(mark));
  return cudaSuccess;
}
cudaError_t cudaStreamIsCapturing(cudaStream_t, cudaStreamCaptureStatus* status) {
  *status = cudaStreamCaptureStatusNone;
  return cudaSuccess;
}
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t, cudaStreamCaptureStatus* status, unsigned long long*, cudaGraph_t*,
                                     const cudaGraphNode_t**, const cudaGraphEdgeData**, std::size_t*) {
  *status = cudaStreamCaptureStatusNone;
  return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  *event = reinterpret_cast<cudaEvent_t>(new Event);
  return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t* event) { return cudaEventCreateWithFlags(event, 0); }
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete &event_of(event);
  return cudaSuccess;
}
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned) {
  auto mark = Machine::get().mark(stream);
  const std::scoped_lock lock(event_of(event).mutex);
  event_of(event).last = std::move(mark);
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return cudaEventRecordWithFlags(event, stream, 0);
}
// The first answer is always no.
cudaError_t cudaEventQuery(cudaEvent_t event) {
  const auto mark = event_of(event).now();
  if (!mark) return cudaSuccess;
  if (is_broken()) return cudaErrorIllegalAddress;
  if (!std::exchange(mark->asked, true)) return cudaErrorNotReady;
  return Machine::get().come_to(*mark) ? cudaSuccess : cudaErrorNotReady;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  note_wait("synchronize");
  if (const auto mark = event_of(event).now()) Machine::get().finish(*mark);
  return cudaSuccess;
}
cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t, cudaEvent_t) {
  *ms = 1;
  return cudaSuccess;
}

// As CUDA does: memory of the host that is not pinned holds the host up.
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind, cudaStream_t stream) {
  static const bool zeros = std::getenv("TITAN_SIMULATED_GPU_ZEROS") != nullptr;
  const Place source = place_of(from), target = place_of(to);
  Machine::get().give(stream, [=] {
    if (zeros && source == Place::kGpu && target != Place::kGpu)
      std::memset(to, 0, bytes);
    else
      std::memcpy(to, from, bytes);
    return true;
  });
  if (target == Place::kPageable || source == Place::kPageable) {
    note_wait("copy of memory that is not pinned");
    Machine::get().finish_stream(stream);
  }
  return cudaSuccess;
}
cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  cudaMemcpyAsync(to, from, bytes, kind, nullptr);
  Machine::get().finish_stream(nullptr);
  return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t stream) {
  Machine::get().give(stream, [=] {
    std::memset(to, value, bytes);
    return true;
  });
  return cudaSuccess;
}
cudaError_t cudaMemset(void* to, int value, std::size_t bytes) {
  cudaMemsetAsync(to, value, bytes, nullptr);
  Machine::get().finish_stream(nullptr);
  return cudaSuccess;
}

}  // extern "C"
