#include "libtrain/engine/cuda/self_test.h"

#include <stdexcept>

#include <ATen/ATen.h>
#include <c10/cuda/CUDAGuard.h>
#include <torch/csrc/distributed/c10d/HashStore.hpp>

#include "libtrain/engine/cuda/gpu_switches.h"
#include "libtrain/engine/cuda/gpu_wait.h"
#include "libtrain/engine/cuda/nccl_group.h"

namespace titan::train {

namespace {

/// What each bf16 step computes with: LibTorch refuses some of it where the switches are wrong.
void try_products(int device) {
  const at::TensorOptions bf16 =
      at::TensorOptions().device(at::kCUDA, static_cast<c10::DeviceIndex>(device)).dtype(at::kBFloat16);
  const at::Tensor x = at::ones({64, 64}, bf16);
  if (!at::equal(at::mm(x, x), at::full({64, 64}, 64, bf16))) throw std::runtime_error("a bf16 product is wrong");
  const auto leaf = [&](std::int64_t heads) { return at::ones({1, heads, 64, 64}, bf16).requires_grad_(true); };
  const at::Tensor q = leaf(4), k = leaf(2), v = leaf(2);
  at::scaled_dot_product_attention(q, k, v, {}, 0.0, /*is_causal=*/true, std::nullopt, /*enable_gqa=*/true)
      .sum()
      .backward();
  wait_for_gpu();
}

}  // namespace

std::string try_gpu(int device) {
  NcclGroupOptions options;
  options.name = "group of this rank alone";
  options.device = device;
  const auto group = NcclGroup::create(c10::make_intrusive<c10d::HashStore>(), options);
  const c10::cuda::CUDAGuard guard(static_cast<c10::DeviceIndex>(device));
  const DeviceSettings settings{.index = device};
  set_gpu_switches(settings);
  const at::Tensor in = at::arange(1024, at::TensorOptions().device(at::kCUDA).dtype(at::kFloat));
  at::Tensor out = at::empty_like(in);
  const auto transfer = group->start_all_to_all(out, {1024}, in, {1024});
  transfer->wait();
  wait_for_gpu();
  if (!at::equal(in, out)) throw CommError("an all-to-all of one rank changed what it carried");
  group->close();
  try_products(device);
  std::string rows;
  for (const auto& [name, value] : gpu_rows(settings)) rows += name + " " + value + "\n";
  return rows;
}

}  // namespace titan::train
