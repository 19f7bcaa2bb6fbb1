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
#include "libtrain/engine/cuda/flash_attention.h"
#include "libtrain/engine/cuda/gpu_switches.h"
#include "libtrain/engine/cuda/gpu_wait.h"
#include "libtrain/engine/cuda/kernel_trace.h"
#include "libtrain/engine/device/host_values.h"
#include "libtrain/engine/device/leaf_norm.h"

namespace titan::train {
namespace {

struct EventFence : Fence {
  at::cuda::CUDAEvent begun;
};

constexpr std::size_t kPinned = 4 << 20;  // bytes at once: a leaf, which has 1 MiB

constexpr std::chrono::microseconds kSaversSpin{50};  // what a leaf takes, about

/// Of the process, outside of LibTorch's pool: in that copies would lie behind NCCL's transfers.
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

/// Adds halves until one element is left: additions of elements alone, whose order depends on their number and on
/// nothing that a kernel chooses.
at::Tensor sum_of(at::Tensor values) {
  while (values.numel() > 1) {
    const std::int64_t all = values.numel(), half = (all + 1) / 2;
    at::Tensor sums = values.narrow(0, 0, half).clone();
    sums.narrow(0, 0, all - half).add_(values.narrow(0, half, all - half));
    values = std::move(sums);
  }
  return values;
}

/// Sum of |x / 2^exponent|^power in fp64.
at::Tensor power_sum(const at::Tensor& values, int power, int exponent) {
  return sum_of(values.to(at::kDouble).mul_(std::ldexp(1.0, -exponent)).abs_().pow_(power));
}

}  // namespace

CudaDevice::CudaDevice(DeviceSettings settings)
    : settings_(std::move(settings)),
      place_(at::kCUDA, static_cast<at::DeviceIndex>(settings_.index)),
      copies_(make_stream(place_.index())) {
  set_gpu_switches(settings_);
  c10::cuda::set_device(place_.index());
  at::empty({1}, options(at::kFloat));  // what CUDA cannot do at all it says here
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
  // Both at their highest: when memory runs out, tensors are gone before anybody asks.
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

// LibTorch keeps pinned blocks for good, rounded up to powers of two: leaves are pinned, whole parameters are not.
at::Tensor CudaDevice::host_for(const at::Tensor& values) {
  const at::TensorOptions host = at::TensorOptions().dtype(values.scalar_type());
  return at::empty(values.sizes(), host.pinned_memory(values.nbytes() <= kPinned));
}

void CudaDevice::upload(const at::Tensor& host, const at::Tensor& values) {
  const c10::cuda::CUDAGuard here(place_);
  const at::NoGradGuard no_grad;
  // The driver takes what is not pinned before it returns.
  values.copy_(host, /*non_blocking=*/true);
  wait_for_gpu();
}

at::Tensor CudaDevice::from_host(at::Tensor host) {
  if (!host.is_cpu()) return host;
  const c10::cuda::CUDAGuard here(place_);
  // A pinned block is not given to anybody else before the copy is done.
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
  constexpr std::size_t kAhead = 600;  // a stream takes some 1,000
  const c10::cuda::CUDAGuard here(place_);
  const c10::cuda::CUDAStream stream = c10::cuda::getCurrentCUDAStream();
  Queue& queue = queues_[stream.id()];
  Piece& next = queue.pieces.emplace_back();
  next.begin.record(stream);
  next.launches = launches;
  queue.launches += launches;
  while (queue.launches > kAhead && queue.pieces.size() > 1) {
    wait_for_event(queue.pieces[1].begin);
    queue.launches -= queue.pieces.front().launches;
    queue.pieces.pop_front();
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
  // A copy to other memory would hold up the host in the driver, where it does not look after its peers.
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

// Which kernel that is, the switches say: each but one is off, so that SDPA computes with it or throws.
at::Tensor CudaDevice::attention(const at::Tensor& q_BHTK, const at::Tensor& k_BGTK, const at::Tensor& v_BGTK,
                                 bool causal) {
  const std::int64_t heads = q_BHTK.size(1) / k_BGTK.size(1);
  // The kernel wants whole vectors of a head; of others, which nobody trains, LibTorch makes such.
  const bool whole = causal && q_BHTK.scalar_type() == at::kBFloat16 && q_BHTK.size(3) % 8 == 0;
  if (settings_.attention == "flash" && settings_.deterministic && whole)
    return flash_attention(q_BHTK, k_BGTK, v_BGTK, at::cuda::getDeviceProperties(place_.index())->multiProcessorCount);
  // Flash reads shared heads as they are.
  const bool expand = heads != 1 && settings_.attention != "flash";
  const at::Tensor k = expand ? k_BGTK.repeat_interleave(heads, 1) : k_BGTK;
  const at::Tensor v = expand ? v_BGTK.repeat_interleave(heads, 1) : v_BGTK;
  return at::scaled_dot_product_attention(q_BHTK, k, v, /*attn_mask=*/{}, /*dropout_p=*/0.0, causal,
                                          /*scale=*/std::nullopt, /*enable_gqa=*/heads != 1 && !expand);
}

// One kernel forward and two backward in place of a dozen each, which would read and write fp32 copies of x.
Normed CudaDevice::rms_norm(const at::Tensor& x, const at::Tensor& weight, double eps) {
  auto [values, scale] = at::_fused_rms_norm(x, weight.sizes(), weight, eps);
  return {std::move(values), std::move(scale)};
}

NormGradients CudaDevice::norm_gradients(const at::Tensor& grad, const at::Tensor& along, const at::Tensor& x,
                                         const at::Tensor& weight, const at::Tensor& scale) {
  auto [of_x, of_weight] = at::_fused_rms_norm_backward(grad, x, weight.sizes(), scale, weight, {true, true});
  if (along.defined()) of_x.add_(along);
  return {std::move(of_x), std::move(of_weight)};
}

at::Tensor CudaDevice::exact_losses(const at::Tensor& logits_BTV, const at::Tensor& targets_BT) {
  constexpr std::int64_t kRows = 1024;  // whose logits are there in fp64 at once
  const at::NoGradGuard no_grad;
  const at::Tensor logits = logits_BTV.reshape({-1, logits_BTV.size(-1)}), targets = targets_BT.reshape({-1, 1});
  std::vector<at::Tensor> losses;
  for (std::int64_t row = 0; row < logits.size(0); row += kRows) {
    const at::Tensor exact = logits.slice(0, row, row + kRows).to(at::kDouble);
    losses.push_back(
        (exact.logsumexp(1, /*keepdim=*/true) - exact.gather(1, targets.slice(0, row, row + kRows))).view(-1));
  }
  return losses.empty() ? at::empty({0}, options(at::kDouble)) : at::cat(losses);
}

at::Tensor CudaDevice::loss_sum(const at::Tensor& losses) {
  const at::NoGradGuard no_grad;
  const at::Tensor values = losses.detach().reshape({-1}).to(at::kDouble);
  return values.numel() == 0 ? at::zeros({}, options(at::kDouble)) : sum_of(values).squeeze(0);
}

void CudaDevice::leaf_norms(std::span<const Leaf> leaves, int p) {
  trace_step_end();  // the norms are the last that every step asks for
  if (leaves.empty()) return;
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> views;
  for (const Leaf& leaf : leaves) views.push_back(leaf.values->view(-1).narrow(0, leaf.begin, leaf.length));
  const std::vector<at::Tensor> first =
      p == 2 ? at::_foreach_powsum(views, 2, at::kDouble) : at::_foreach_norm(at::TensorList(views), INFINITY);
  const at::Tensor entries = to_host(at::stack(first).to(at::kDouble));
  const std::span<const double> values = host_values<double>(entries);
  for (std::size_t i = 0; i < leaves.size(); ++i) leaves[i].entry[0] = values[i];
  if (p == 2 || p == 0) return;
  std::vector<at::Tensor> sums;
  for (std::size_t i = 0; i < leaves.size(); ++i) sums.push_back(power_sum(views[i], p, norm_exponent(values[i])));
  const std::vector<double> powers = read(sums);
  for (std::size_t i = 0; i < leaves.size(); ++i) leaves[i].entry[1] = powers[i];
}

}  // namespace titan::train
