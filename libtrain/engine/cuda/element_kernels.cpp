#include "libtrain/engine/cuda/element_kernels.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <ATen/ATen.h>
#include <c10/cuda/CUDAGuard.h>

#include "ckpt/base/integers.h"
#include "libtrain/engine/cuda/runtime_kernel.h"
#include "libtrain/engine/device/host_values.h"

namespace titan::train {
namespace {

constexpr std::int64_t kWidth = 4;  // elements that one instruction loads
constexpr unsigned kBlockThreads = 256;

bool switched_off() {
  static const bool off = std::getenv("TITAN_SINGLE_OPERATIONS") != nullptr;
  return off;
}

bool fits(const at::Tensor& values) {
  return !switched_off() && values.numel() > 0 &&
         (values.scalar_type() == at::kBFloat16 || values.scalar_type() == at::kFloat);
}
template <typename... Others>
bool fit_together(const at::Tensor& first, const Others&... others) {
  return fits(first) && first.is_contiguous() &&
         ((others.is_contiguous() && others.scalar_type() == first.scalar_type() && others.sizes() == first.sizes()) &&
          ...);
}

void* place(const at::Tensor& values) { return reinterpret_cast<void*>(address_of(values)); }

/// Whether kWidth elements can be loaded as one value from the tensor's address.
bool aligned(const at::Tensor& values) {
  return address_of(values) % (kWidth * c10::elementSize(values.scalar_type())) == 0;
}

/// Number of elements that one instruction can load (kWidth or 1) from each of `tensors`, whose rows have `length`
/// elements.
template <typename... Tensors>
std::int64_t width_of(std::int64_t length, const Tensors&... tensors) {
  return length % kWidth == 0 && (aligned(tensors) && ...) ? kWidth : 1;
}

std::string kernel_of(const char* name, at::ScalarType type, std::int64_t width) {
  return std::string(name) + (type == at::kFloat ? "_float_" : "_bf16_") + std::to_string(width);
}

unsigned blocks_of(std::int64_t threads) { return static_cast<unsigned>(ckpt::ceil_div(threads, kBlockThreads)); }

template <typename... Arguments>
void launch_blocks(const std::string& name, const at::Tensor& on, dim3 blocks, unsigned threads,
                   Arguments... arguments) {
  const c10::cuda::CUDAGuard here(on.device());
  void* pointers[] = {&arguments...};
  launch_kernel(name, blocks, threads, pointers);
}
template <typename... Arguments>
void launch(const std::string& name, const at::Tensor& on, dim3 blocks, Arguments... arguments) {
  launch_blocks(name, on, blocks, kBlockThreads, arguments...);
}

/// The rows of a norm, one GPU block each. The number of threads, and so the bits, depend only on the row length.
struct NormRows {
  std::int64_t length, count;

  explicit NormRows(const at::Tensor& x) : length(x.size(-1)), count(x.numel() / x.size(-1)) {}
  unsigned blocks() const { return static_cast<unsigned>(count); }
  unsigned threads() const { return length < 1024 ? 32 : kBlockThreads; }
};

bool norm_fits(const at::Tensor& x, const at::Tensor& weight) {
  return x.numel() > 0 && x.numel() / x.size(-1) <= std::numeric_limits<int>::max() &&
         (x.scalar_type() == at::kBFloat16 || x.scalar_type() == at::kFloat) &&
         weight.scalar_type() == x.scalar_type() && weight.is_contiguous() && weight.numel() == x.size(-1);
}

/// The norm of x if `y` is null; otherwise the norm of x + y, and x + y is written to `sum`.
Normed norm_of_rows(const at::Tensor& x, const at::Tensor* y, const at::Tensor* sum, const at::Tensor& weight,
                    double eps) {
  const NormRows rows(x);
  std::vector<std::int64_t> shape = x.sizes().vec();
  shape.back() = 1;
  Normed normed{at::empty_like(x), at::empty(shape, x.options().dtype(at::kFloat))};
  std::int64_t width = width_of(rows.length, x, weight, normed.values);
  if (y != nullptr) width = std::min(width, width_of(rows.length, *y, *sum));
  launch_blocks(kernel_of("norm", x.scalar_type(), width), x, rows.blocks(), rows.threads(), place(x),
                y == nullptr ? nullptr : place(*y), place(weight), y == nullptr ? nullptr : place(*sum),
                place(normed.values), place(normed.scale), static_cast<int>(rows.length), static_cast<float>(eps));
  return normed;
}

}  // namespace

Normed ElementKernels::rms_norm(const at::Tensor& x, const at::Tensor& weight, double eps) {
  if (!norm_fits(x, weight)) return Kernels::rms_norm(x, weight, eps);
  return norm_of_rows(x.contiguous(), nullptr, nullptr, weight, eps);
}

NormedSum ElementKernels::sum_norm(const at::Tensor& x, const at::Tensor& y, const at::Tensor& weight, double eps) {
  if (!fit_together(x, y) || !norm_fits(x, weight)) return Kernels::sum_norm(x, y, weight, eps);
  at::Tensor sum = at::empty_like(x);
  Normed normed = norm_of_rows(x, &y, &sum, weight, eps);
  return {std::move(sum), std::move(normed)};
}

// LibTorch computes the weight's gradient, a sum over all rows.
NormGradients ElementKernels::norm_gradients(const at::Tensor& grad, const at::Tensor& along, const at::Tensor& x,
                                             const at::Tensor& weight, const at::Tensor& scale) {
  if (!norm_fits(x, weight)) return Kernels::norm_gradients(grad, along, x, weight, scale);
  const at::Tensor from = x.contiguous(), given = grad.contiguous();
  const bool together = along.defined() && fit_together(from, along);
  NormGradients of{at::empty_like(from), {}};
  const NormRows rows(from);
  std::int64_t width = width_of(rows.length, from, given, weight, of.x);
  if (together) width = std::min(width, width_of(rows.length, along));
  launch_blocks(kernel_of("norm_gradients", from.scalar_type(), width), from, rows.blocks(), rows.threads(),
                place(given), together ? place(along) : nullptr, place(from), place(weight), place(scale), place(of.x),
                static_cast<int>(rows.length));
  if (along.defined() && !together) of.x.add_(along);
  of.weight = std::get<1>(at::_fused_rms_norm_backward(given, from, weight.sizes(), scale, weight, {false, true}));
  return of;
}

at::Tensor ElementKernels::swiglu(const at::Tensor& gate, const at::Tensor& up) {
  if (!fit_together(gate, up)) return Kernels::swiglu(gate, up);
  at::Tensor out = at::empty_like(gate);
  const std::int64_t width = width_of(gate.numel(), gate, up);
  const long long count = gate.numel() / width;
  launch(kernel_of("swiglu", gate.scalar_type(), width), gate, blocks_of(count), place(gate), place(up), place(out),
         count);
  return out;
}

SwiGluGradients ElementKernels::swiglu_gradients(const at::Tensor& gate, const at::Tensor& up, at::Tensor inner) {
  if (!fit_together(gate, up, inner)) return Kernels::swiglu_gradients(gate, up, std::move(inner));
  SwiGluGradients of{at::empty_like(gate), at::empty_like(gate), at::empty_like(gate)};
  const std::int64_t width = width_of(gate.numel(), gate, up, inner);
  const long long count = gate.numel() / width;
  launch(kernel_of("swiglu_gradients", gate.scalar_type(), width), gate, blocks_of(count), place(gate), place(up),
         place(inner), place(of.gate), place(of.up), place(of.product), count);
  return of;
}

at::Tensor ElementKernels::rope(const at::Tensor& x_BTHK, const at::Tensor& rotations, bool back) {
  const bool each_row = rotations.dim() == 4;
  if (!fits(x_BTHK) || x_BTHK.stride(3) != 1 || !rotations.is_contiguous() || rotations.is_conj() ||
      rotations.scalar_type() != at::kComplexFloat)
    return Kernels::rope(x_BTHK, rotations, back);
  at::Tensor out = at::empty(x_BTHK.sizes(), x_BTHK.options());
  bool wide = x_BTHK.size(3) % kWidth == 0 && aligned(x_BTHK);
  bool pairs = address_of(x_BTHK) % (2 * c10::elementSize(x_BTHK.scalar_type())) == 0;
  for (int dim = 0; dim < 3; ++dim) {
    wide = wide && x_BTHK.stride(dim) % kWidth == 0;
    pairs = pairs && x_BTHK.stride(dim) % 2 == 0;
  }
  if (!pairs) return Kernels::rope(x_BTHK, rotations, back);
  const std::int64_t width = wide ? kWidth : 2;
  const long long count = x_BTHK.numel() / width;
  launch(kernel_of("rope", x_BTHK.scalar_type(), width), x_BTHK, blocks_of(count), place(x_BTHK), place(rotations),
         place(out), count, static_cast<int>(x_BTHK.size(3) / width), static_cast<int>(x_BTHK.size(2)),
         static_cast<int>(x_BTHK.size(1)), static_cast<long long>(x_BTHK.stride(0)),
         static_cast<long long>(x_BTHK.stride(1)), static_cast<long long>(x_BTHK.stride(2)), static_cast<int>(each_row),
         back ? -1.0f : 1.0f);
  return out;
}

at::Tensor ElementKernels::logit_gradients(at::Tensor log_probabilities, const at::Tensor& targets, double scale,
                                           at::ScalarType type) {
  const std::int64_t rows = log_probabilities.size(0), vocabulary = log_probabilities.size(1);
  const bool known = type == at::kBFloat16 || type == at::kFloat;
  if (!fits(log_probabilities) || !known || log_probabilities.scalar_type() != at::kFloat ||
      !log_probabilities.is_contiguous() || !targets.is_contiguous() || rows > std::numeric_limits<int>::max())
    return Kernels::logit_gradients(std::move(log_probabilities), targets, scale, type);
  at::Tensor out =
      type == at::kFloat ? log_probabilities : at::empty(log_probabilities.sizes(), targets.options().dtype(type));
  const std::int64_t width = width_of(vocabulary, log_probabilities);
  const auto pieces = static_cast<int>(vocabulary / width);
  launch(kernel_of("logit_gradients", type, width), out, dim3(static_cast<unsigned>(rows), blocks_of(pieces)),
         place(log_probabilities), place(targets), place(out), pieces, static_cast<float>(scale));
  return out;
}

void leaf_squares(std::span<const LeafRun> runs, const at::Tensor& sums) {
  constexpr std::size_t kRuns = 64;  // per launch
  std::int64_t done = 0;
  for (std::size_t begin = 0; begin < runs.size(); begin += kRuns) {
    struct {
      void* values[kRuns];
      long long counts[kRuns];
      int lengths[kRuns], firsts[kRuns];
    } given{};
    const std::size_t count = std::min(kRuns, runs.size() - begin);
    std::int64_t blocks = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const LeafRun& run = runs[begin + i];
      given.values[i] = place(run.values);
      given.counts[i] = run.values.numel();
      given.lengths[i] = static_cast<int>(run.length);
      given.firsts[i] = static_cast<int>(blocks);
      blocks += ckpt::ceil_div(run.values.numel(), run.length);
    }
    launch_blocks("leaf_squares", sums, static_cast<unsigned>(blocks), kBlockThreads, given, static_cast<int>(count),
                  place(sums.narrow(0, done, blocks)));
    done += blocks;
  }
}

at::Tensor ElementKernels::add_rows(std::span<const at::Tensor> rows) {
  std::int64_t width = kWidth;
  struct {
    void* at[8];
  } places{};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!fit_together(rows[0], rows[i])) return Kernels::add_rows(rows);
    width = std::min(width, width_of(rows[i].numel(), rows[i]));
    places.at[i] = place(rows[i]);
  }
  at::Tensor out = at::empty(rows[0].sizes(), rows[0].options().dtype(at::kFloat));
  const long long count = rows[0].numel() / width;
  const std::string name = "add_" + std::to_string(rows.size()) + "_rows";
  launch(kernel_of(name.c_str(), rows[0].scalar_type(), width), rows[0], blocks_of(count), places, place(out), count);
  return out;
}

}  // namespace titan::train
