#include "libtrain/engine/cuda/cuda_device.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <utility>

#include <ATen/ATen.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>

#include "libtrain/engine/cuda/cuda_lane.h"
#include "libtrain/engine/cuda/gpu_switches.h"
#include "libtrain/engine/cuda/gpu_wait.h"
#include "libtrain/engine/device/host_values.h"
#include "libtrain/job/host/gpu_checks.h"

namespace titan::train {
namespace {

struct EventFence : Fence {
  at::cuda::CUDAEvent begun;
};

constexpr std::size_t kPinned = 4 << 20;  // largest pinned buffer, in bytes: has room for a leaf (1 MiB)

constexpr std::chrono::microseconds kSaversSpin{50};  // about the time that the copy of a leaf takes

/// A stream outside LibTorch's pool. LibTorch may give a stream of the pool to an NCCL group too: copies would then
/// wait for transfers.
c10::cuda::CUDAStream make_stream(c10::DeviceIndex index) {
  const c10::cuda::CUDAGuard here(index);
  cudaStream_t stream = nullptr;
  C10_CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  return c10::cuda::getStreamFromExternal(stream, index);
}

bool is_pinned(const std::byte* memory) {
  cudaPointerAttributes facts{};
  return cudaPointerGetAttributes(&facts, memory) == cudaSuccess && facts.type == cudaMemoryTypeHost;
}

at::TensorOptions pinned(at::ScalarType type) { return at::TensorOptions().dtype(type).pinned_memory(true); }

}  // namespace

CudaDevice::CudaDevice(DeviceSettings settings)
    : settings_(std::move(settings)),
      place_(at::kCUDA, static_cast<at::DeviceIndex>(settings_.index)),
      copies_(make_stream(place_.index())),
      kernels_(settings_, *this) {
  set_gpu_switches(settings_);
  c10::cuda::set_device(place_.index());
  at::empty({1}, options(at::kFloat));  // throws if CUDA does not work
}

std::string CudaDevice::name() const { return at::cuda::getDeviceProperties(place_.index())->name; }

std::string CudaDevice::unit() const {
  if (gpu_is_shared()) return {};
  const cudaUUID_t& uuid = at::cuda::getDeviceProperties(place_.index())->uuid;
  std::string text = "GPU-";
  for (const char byte : uuid.bytes) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned>(static_cast<unsigned char>(byte)));
    text += digits;
  }
  return text;
}

ckpt::Settings CudaDevice::environment() const { return gpu_rows(settings_); }

MemoryFigures CudaDevice::memory() const {
  const auto stats = c10::cuda::CUDACachingAllocator::getDeviceStats(place_.index());
  const auto all = static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE);
  // The difference of two peaks, not of present values: after an out-of-memory error the tensors are already freed.
  const std::int64_t kept = stats.reserved_bytes[all].peak - stats.allocated_bytes[all].peak;
  return {.tensors = static_cast<std::size_t>(stats.allocated_bytes[all].peak),
          .kept = static_cast<std::size_t>(std::max<std::int64_t>(kept, 0)),
          .total = at::cuda::getDeviceProperties(place_.index())->totalGlobalMem};
}

std::shared_ptr<std::byte[]> CudaDevice::host_memory(std::size_t bytes) {
  at::Tensor memory = at::empty({static_cast<std::int64_t>(bytes)}, pinned(at::kByte));
  std::byte* const first = mutable_host_bytes(memory).data();
  return {first, [memory](std::byte*) {}};
}

at::Tensor CudaDevice::host_tensor(at::IntArrayRef sizes, at::ScalarType type) {
  return at::empty(sizes, pinned(type));
}

// LibTorch keeps pinned blocks forever, rounded up to powers of two, so leaves are pinned but whole parameters are not.
at::Tensor CudaDevice::host_for(const at::Tensor& values) {
  const at::TensorOptions host = at::TensorOptions().dtype(values.scalar_type());
  return at::empty(values.sizes(), host.pinned_memory(values.nbytes() <= kPinned));
}

void CudaDevice::upload(const at::Tensor& host, const at::Tensor& values) {
  const c10::cuda::CUDAGuard here(place_);
  const at::NoGradGuard no_grad;
  // The driver copies unpinned memory before the call returns.
  values.copy_(host, /*non_blocking=*/true);
  wait_for_gpu();
}

at::Tensor CudaDevice::from_host(at::Tensor host) {
  if (!host.is_cpu()) return host;
  const c10::cuda::CUDAGuard here(place_);
  // LibTorch does not reuse a pinned block before copies from it are done.
  const at::Tensor source = host.is_pinned() ? host : host.contiguous().pin_memory();
  return source.to(place_, host.scalar_type(), /*non_blocking=*/true);
}

at::Tensor CudaDevice::to_host(const at::Tensor& values) {
  if (values.is_cpu()) return values.detach().contiguous();
  const c10::cuda::CUDAGuard here(place_);
  const at::Tensor from = values.detach().contiguous();
  at::Tensor host = at::empty(from.sizes(), pinned(from.scalar_type()));
  host.copy_(from, /*non_blocking=*/true);
  wait_for_gpu();
  return host;
}

std::vector<double> CudaDevice::read(std::span<const at::Tensor> scalars) {
  if (scalars.empty()) return {};
  std::vector<at::Tensor> rows;
  for (const at::Tensor& scalar : scalars) rows.push_back(scalar.reshape({1}));
  const at::Tensor host = to_host(at::cat(rows));
  const std::span<const double> values = host_values<double>(host);
  return {values.begin(), values.end()};
}

void CudaDevice::keep_pace(std::size_t launches) {
  constexpr std::size_t kAhead = 600;  // launches; the driver's queue of a stream holds about 1,000
  const c10::cuda::CUDAGuard here(place_);
  const c10::cuda::CUDAStream stream = c10::cuda::getCurrentCUDAStream();
  Queue& queue = queues_[stream.id()];
  Work& next = queue.work.emplace_back();
  next.begin.record(stream);
  next.launches = launches;
  queue.launches += launches;
  while (queue.launches > kAhead && queue.work.size() > 1) {
    wait_for_event(queue.work[1].begin);
    queue.launches -= queue.work.front().launches;
    queue.work.pop_front();
  }
}

std::unique_ptr<Lane> CudaDevice::make_lane() { return std::make_unique<CudaLane>(place_); }

std::shared_ptr<Fence> CudaDevice::fence() {
  const c10::cuda::CUDAGuard here(place_);
  auto fence = std::make_shared<EventFence>();
  fence->begun.record(c10::cuda::getCurrentCUDAStream());
  return fence;
}

void CudaDevice::copy_out(const at::Tensor& values, std::span<std::byte> to, const Fence* fence) {
  if (to.empty()) return;
  const c10::cuda::CUDAGuard here(place_);
  if (fence != nullptr) const_cast<EventFence*>(static_cast<const EventFence*>(fence))->begun.block(copies_);
  const auto* from = reinterpret_cast<const std::byte*>(address_of(values));
  // A copy to unpinned memory would block the host in the driver, where it cannot notice a dead peer.
  const bool direct = is_pinned(to.data());
  thread_local at::Tensor leaf;
  if (!direct && !leaf.defined()) leaf = at::empty({static_cast<std::int64_t>(kPinned)}, pinned(at::kByte));
  for (std::size_t done = 0; done < to.size();) {
    const std::size_t part = direct ? to.size() : std::min(to.size() - done, kPinned);
    std::byte* const place = direct ? to.data() : mutable_host_bytes(leaf).data();
    C10_CUDA_CHECK(cudaMemcpyAsync(place, from + done, part, cudaMemcpyDeviceToHost, copies_.stream()));
    at::cuda::CUDAEvent over;
    over.record(copies_);
    wait_for_event(over, kSaversSpin);
    if (!direct) std::memcpy(to.data() + done, place, part);
    done += part;
  }
}

}  // namespace titan::train
