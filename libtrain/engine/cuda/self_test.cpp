#include "libtrain/engine/cuda/self_test.h"

#include <chrono>
#include <cmath>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include <ATen/ATen.h>
#include <c10/cuda/CUDAGuard.h>
#include <torch/csrc/distributed/c10d/HashStore.hpp>

#include "libtrain/engine/cuda/cuda_device.h"
#include "libtrain/engine/cuda/element_kernels.h"
#include "libtrain/engine/cuda/gpu_switches.h"
#include "libtrain/engine/cuda/gpu_wait.h"
#include "libtrain/engine/cuda/nccl_group.h"

namespace titan::train {

namespace {

/// Runs a product and attention in bf16: LibTorch refuses some of these operations if its switches are wrong.
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

void check_same(const at::Tensor& found, const at::Tensor& expected, const char* what) {
  if (!at::equal(found, expected))
    throw std::runtime_error(std::string("the element kernels give other bits than single operations: ") + what);
}

/// Checks that the fused sum and norm has the bits of a sum followed by a norm, forward and backward, and equals
/// LibTorch's result up to rounding.
void try_norm(Kernels& own, const at::Tensor& x, const at::Tensor& y, const at::Tensor& grad) {
  const at::Tensor weight = x.select(0, 1).contiguous();
  const NormedSum found = own.sum_norm(x, y, weight, 1e-5), expected = own.Kernels::sum_norm(x, y, weight, 1e-5);
  check_same(found.sum, expected.sum, "a sum and its norm");
  check_same(found.normed.values, expected.normed.values, "the norm of a sum");
  check_same(found.normed.scale, expected.normed.scale, "the scale of a norm");
  const auto gradients = [&](const at::Tensor& along) {
    return own.norm_gradients(grad, along, found.sum, weight, found.normed.scale);
  };
  check_same(gradients(y).x, gradients({}).x.add_(y), "the gradient of a norm and the sum with another");
  const Normed theirs = single_rms_norm(found.sum, weight, 1e-5);
  const at::Tensor of_x = single_norm_gradients(grad, y, found.sum, weight, theirs.scale).x;
  const double step = x.scalar_type() == at::kFloat ? 1e-4 : 0.1;
  if (!at::allclose(found.normed.values, theirs.values, step, step) || !at::allclose(gradients(y).x, of_x, step, step))
    throw std::runtime_error("the element kernel of a norm is further than roundings from LibTorch's operations");
}

/// Checks that the element kernels, as compiled for this GPU, have the bits of LibTorch's single operations.
void try_elements(CudaDevice& device) {
  Kernels& own = device.kernels();
  for (const at::ScalarType type : {at::kBFloat16, at::kFloat}) {
    const at::TensorOptions options = device.options(type);
    const auto numbers = [&](at::IntArrayRef sizes, double step) {
      return at::arange(c10::multiply_integers(sizes), device.options(at::kFloat))
          .mul_(step)
          .sin_()
          .mul_(4)
          .to(options)
          .view(sizes);
    };
    const at::Tensor gate = numbers({64, 256}, 0.37), up = numbers({64, 256}, 0.11), inner = numbers({64, 256}, 0.23);
    try_norm(own, gate, up, inner);
    try_norm(own, gate.view({8, -1}), up.view({8, -1}), inner.view({8, -1}));
    check_same(own.swiglu(gate, up), own.Kernels::swiglu(gate, up), "SwiGLU");
    const SwiGluGradients of = own.swiglu_gradients(gate, up, inner.clone()),
                          expected = own.Kernels::swiglu_gradients(gate, up, inner.clone());
    check_same(of.gate, expected.gate, "the gradient of SwiGLU's gate");
    check_same(of.up, expected.up, "the gradient of SwiGLU's input");
    check_same(of.product, expected.product, "SwiGLU in its backward");
    const at::Tensor heads = gate.view({2, 32, 4, 64}),
                     rotations = at::view_as_complex(numbers({32, 1, 32, 2}, 0.7).to(at::kFloat));
    for (const bool back : {false, true})
      check_same(own.rope(heads, rotations, back), own.Kernels::rope(heads, rotations, back), "RoPE");
    const at::Tensor logs = at::log_softmax(gate.to(at::kFloat), 1),
                     targets = at::arange(64, device.options(at::kLong));
    check_same(own.logit_gradients(logs.clone(), targets, 0.125, type),
               own.Kernels::logit_gradients(logs.clone(), targets, 0.125, type), "the gradient of logits");
    const std::vector<at::Tensor> rows = gate.view({8, -1}).unbind(0);
    check_same(own.add_rows(rows), own.Kernels::add_rows(rows), "sums of gradients");
  }
}

/// Checks that a leaf's sum of squares does not depend on other leaves, and that all together equal the fp64 sum.
void try_squares(CudaDevice& device) {
  const at::Tensor values = at::arange(2500, device.options(at::kFloat)).mul_(0.37).sin_();
  const at::Tensor sums = at::empty({3}, device.options(at::kDouble)), last = sums.narrow(0, 2, 1).clone();
  const std::vector<LeafRun> all = {{values, 1000}}, one = {{values.narrow(0, 2000, 500), 1000}};
  leaf_squares(all, sums);
  leaf_squares(one, last);
  check_same(sums.narrow(0, 2, 1), last, "squares of a leaf among others");
  const at::Tensor exact = values.to(at::kDouble).square();
  if (!at::allclose(sums.sum(), exact.sum(), 1e-12)) throw std::runtime_error("the sum of squares of a leaf is wrong");
}

/// Microseconds per call, averaged over several calls.
template <typename Call>
std::string spent_on(const Call& call) {
  constexpr int kCalls = 20;
  call();
  wait_for_gpu();
  const auto began = std::chrono::steady_clock::now();
  for (int i = 0; i < kCalls; ++i) call();
  wait_for_gpu();
  const std::chrono::duration<double, std::micro> spent = std::chrono::steady_clock::now() - began;
  return std::to_string(std::lround(spent.count() / kCalls));
}

/// Times of norms at the shape of Llama 3 8B with 8,192 tokens: Titan's kernels and LibTorch's.
std::string time_norms(CudaDevice& device) {
  constexpr double kEps = 1e-5;
  Kernels& own = device.kernels();
  const at::Tensor x = at::full({8192, 4096}, 0.5, device.options(at::kBFloat16)), y = x.clone(), weight = x[0].clone();
  const at::Tensor scale = own.rms_norm(x, weight, kEps).scale;
  const auto theirs_back = [&] {
    std::get<0>(at::_fused_rms_norm_backward(y, x, weight.sizes(), scale, weight, {true, true})).add_(y);
  };
  std::string rows;
  const auto row = [&](const char* name, const std::string& ours, const std::string& theirs) {
    rows += std::string(name) + " " + ours + " us, by LibTorch " + theirs + "\n";
  };
  row("norm", spent_on([&] { own.rms_norm(x, weight, kEps); }),
      spent_on([&] { at::_fused_rms_norm(x, weight.sizes(), weight, kEps); }));
  row("norm_of_sum", spent_on([&] { own.sum_norm(x, y, weight, kEps); }),
      spent_on([&] { at::_fused_rms_norm(x + y, weight.sizes(), weight, kEps); }));
  row("norm_gradients_and_sum", spent_on([&] { own.norm_gradients(y, y, x, weight, scale); }), spent_on(theirs_back));
  return rows;
}

}  // namespace

std::string try_gpu(int device) {
  NcclGroupOptions options;
  options.name = "group of this rank alone";
  options.device = device;
  const auto group = NcclGroup::create(c10::make_intrusive<c10d::HashStore>(), options);
  const c10::cuda::CUDAGuard guard(static_cast<c10::DeviceIndex>(device));
  const DeviceSettings settings{.index = device};
  CudaDevice gpu(settings);
  const at::Tensor in = at::arange(1024, at::TensorOptions().device(at::kCUDA).dtype(at::kFloat));
  at::Tensor out = at::empty_like(in);
  const auto transfer = group->start_all_to_all(out, {1024}, in, {1024});
  transfer->wait();
  wait_for_gpu();
  if (!at::equal(in, out)) throw CommError("an all-to-all of one rank changed what it carried");
  group->close();
  try_products(device);
  try_squares(gpu);
  try_elements(gpu);
  std::string rows;
  for (const auto& [name, value] : gpu_rows(settings)) rows += name + " " + value + "\n";
  return rows + time_norms(gpu);
}

}  // namespace titan::train
