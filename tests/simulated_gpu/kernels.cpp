// A module in the place of libtitan_cuda.so (TITAN_CUDA_MODULE) on the simulated GPU: it opens the real one beside the
// program, and lets the CPU's kernels compute where LibTorch would launch CUDA's, in the order of the current stream.
// What they read or write too early, for a wait that is missing, is wrong in the result.
#include <dlfcn.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/NativeFunctions.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/library.h>

#include "libtrain/engine/device/rms_norm.h"
#include "libtrain/engine/parallel/device_module.h"
#include "libtrain/job/host/gpu_checks.h"
#include "tests/fake_device/change_tensors.h"
#include "tests/fake_device/host_alias.h"
#include "tests/simulated_gpu/machine.h"

namespace titan::gpu {
namespace {

test::HostAliases gpu_aliases() {
  return test::HostAliases({c10::DispatchKey::CUDA, c10::cuda::CUDACachingAllocator::get(),
                            [](const void* address) { return static_cast<std::byte*>(const_cast<void*>(address)); }});
}

// The stream has come to this kernel.
void catch_up() { C10_CUDA_CHECK(cudaStreamSynchronize(c10::cuda::getCurrentCUDAStream())); }

std::span<c10::IValue> arguments(const c10::OperatorHandle& op, torch::jit::Stack& stack) {
  return {stack.end() - static_cast<std::ptrdiff_t>(op.schema().arguments().size()), stack.end()};
}
std::span<c10::IValue> results(const c10::OperatorHandle& op, torch::jit::Stack& stack) {
  return {stack.end() - static_cast<std::ptrdiff_t>(op.schema().returns().size()), stack.end()};
}

void call_on_cpu(const c10::OperatorHandle& op, torch::jit::Stack& stack) {
  op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), &stack);
}

/// A kernel on the current stream, which comes to it later.
void launch(std::function<void()> kernel) {
  Machine::get().give(c10::cuda::getCurrentCUDAStream().stream(), [kernel = std::move(kernel)] {
    try {
      kernel();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "simulated GPU: a kernel failed: %s\n", error.what());
      std::abort();
    }
    return true;
  });
}

/// A call whose results depend on values of the GPU in more than their own values.
void call_now(const c10::OperatorHandle& op, torch::jit::Stack& stack) {
  catch_up();
  test::HostAliases aliases = gpu_aliases();
  for (c10::IValue& value : arguments(op, stack))
    test::change_tensors(value, [&](const at::Tensor& tensor) { return aliases.of(tensor); });
  call_on_cpu(op, stack);
  aliases.take_over_sizes();
  for (c10::IValue& value : results(op, stack))
    test::change_tensors(value, [&](const at::Tensor& tensor) { return aliases.back(tensor); });
}

at::Tensor zeros_of(const at::Tensor& alias) {
  at::Tensor zeros = at::empty_strided(alias.sizes(), alias.strides(), alias.options()).zero_();
  zeros._set_conj(alias.is_conj());
  zeros._set_neg(alias.is_neg());
  return zeros;
}

/// A call that the host does not wait for. What it returns has its shape at once, from the same call with zeros.
class LateCall {
 public:
  LateCall(const c10::OperatorHandle& op, torch::jit::Stack given) : op_(op), on_aliases_(std::move(given)) {
    test::HostAliases aliases = gpu_aliases();
    for (c10::IValue& value : arguments(op_, on_aliases_))
      test::change_tensors(value, [&](const at::Tensor& tensor) {
        if (!tensor.defined()) return tensor;
        originals_.push_back(tensor);
        return tensor.is_cpu() ? tensor.clone() : aliases.of(tensor);
      });
  }

  /// False where values decide about more than values.
  bool find_results() {
    returned_ = on_aliases_;
    std::vector<at::Tensor> zeros;
    for (c10::IValue& value : arguments(op_, returned_))
      test::change_tensors(value, [&](const at::Tensor& alias) {
        return alias.defined() ? zeros.emplace_back(zeros_of(alias)) : alias;
      });
    try {
      call_on_cpu(op_, returned_);
    } catch (const std::exception&) {
      return false;
    }
    bool known = true;
    for (std::size_t i = 0; i < zeros.size(); ++i) known = known && zeros[i].sizes() == originals_[i].sizes();
    for (c10::IValue& value : results(op_, returned_)) {
      known = known && (value.isTensor() || value.isTensorList());
      test::change_tensors(value, [&](const at::Tensor& result) {
        if (!result.defined()) return result;
        for (std::size_t i = 0; i < zeros.size(); ++i) {
          if (result.unsafeGetTensorImpl() == zeros[i].unsafeGetTensorImpl()) return originals_[i];
          known = known && !result.is_alias_of(zeros[i]);
        }
        const at::Tensor made = at::empty_strided(result.sizes(), result.strides(), result.options().device(at::kCUDA));
        made_.push_back(gpu_aliases().of(made));
        return made;
      });
    }
    return known;
  }

  torch::jit::Stack issue() {
    launch([op = op_, stack = std::move(on_aliases_), made = std::move(made_)]() mutable {
      std::vector<at::Tensor> given;
      for (c10::IValue& value : arguments(op, stack))
        test::change_tensors(
            value, [&](const at::Tensor& alias) { return alias.defined() ? given.emplace_back(alias) : alias; });
      call_on_cpu(op, stack);
      auto next = made.begin();
      for (c10::IValue& value : results(op, stack))
        test::change_tensors(value, [&](const at::Tensor& result) {
          const auto is_result = [&](const at::Tensor& alias) {
            return alias.unsafeGetTensorImpl() == result.unsafeGetTensorImpl();
          };
          if (result.defined() && std::ranges::none_of(given, is_result)) (next++)->copy_(result);
          return result;
        });
    });
    return std::move(returned_);
  }

 private:
  c10::OperatorHandle op_;
  torch::jit::Stack on_aliases_, returned_;
  std::vector<at::Tensor> originals_, made_;
};

void on_cpu(const c10::OperatorHandle& op, c10::DispatchKeySet, torch::jit::Stack* stack) {
  LateCall call(
      op, torch::jit::Stack(stack->end() - static_cast<std::ptrdiff_t>(op.schema().arguments().size()), stack->end()));
  if (!call.find_results()) return call_now(op, *stack);
  torch::jit::drop(*stack, op.schema().arguments().size());
  for (c10::IValue& value : call.issue()) stack->push_back(std::move(value));
}

// Between host and GPU this is LibTorch's own, by cudaMemcpyAsync; it comes here again for what a kernel does of it.
at::Tensor& copy(at::Tensor& to, const at::Tensor& from, bool non_blocking) {
  if (!to.is_cuda() || !from.is_cuda()) return at::native::copy_(to, from, non_blocking);
  test::HostAliases aliases = gpu_aliases();
  launch([to = aliases.of(to), from = aliases.of(from)]() mutable { to.copy_(from); });
  return to;
}

// Flash attention by the CPU's kernel of that kind, whose heads share nothing.
at::Tensor expanded(const at::Tensor& shared_BGTK, const at::Tensor& q_BHTK) {
  return shared_BGTK.repeat_interleave(q_BHTK.size(1) / shared_BGTK.size(1), 1);
}

using Forward = std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, c10::SymInt, c10::SymInt, at::Tensor,
                           at::Tensor, at::Tensor>;
Forward flash(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, double dropout, bool causal, bool,
              std::optional<double> scale) {
  test::HostAliases aliases = gpu_aliases();
  const at::Tensor out = at::empty_like(q);
  const at::Tensor sums = at::empty({q.size(0), q.size(1), q.size(2)}, q.options().dtype(at::kFloat));
  launch([dropout, causal, scale, query = aliases.of(q), key = aliases.of(k), value = aliases.of(v),
          to = aliases.of(out), to_sums = aliases.of(sums)] {
    const auto [values, logs] = at::_scaled_dot_product_flash_attention_for_cpu(
        query, expanded(key, query), expanded(value, query), dropout, causal, {}, scale);
    to.copy_(values);
    to_sums.copy_(logs);
  });
  const at::Tensor none = at::empty({0}, q.options());
  return {out, sums, {}, {}, q.size(2), k.size(2), at::empty({2}, q.options().dtype(at::kLong)), none, none};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> flash_backward(
    const at::Tensor& grad, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const at::Tensor& out,
    const at::Tensor& sums, const at::Tensor&, const at::Tensor&, c10::SymInt, c10::SymInt, double dropout, bool causal,
    const at::Tensor&, const at::Tensor&, std::optional<double> scale) {
  test::HostAliases aliases = gpu_aliases();
  const at::Tensor dq = at::empty_like(q), dk = at::empty_like(k), dv = at::empty_like(v);
  launch([dropout, causal, scale, from = aliases.of(grad), query = aliases.of(q), key = aliases.of(k),
          value = aliases.of(v), values = aliases.of(out), logs = aliases.of(sums), to_query = aliases.of(dq),
          to_key = aliases.of(dk), to_value = aliases.of(dv)] {
    const auto [of_query, of_key, of_value] = at::_scaled_dot_product_flash_attention_for_cpu_backward(
        from, query, expanded(key, query), expanded(value, query), values, logs, dropout, causal, {}, scale);
    const auto shared = [&](const at::Tensor& of_heads) {
      return of_heads.unflatten(1, {key.size(1), of_heads.size(1) / key.size(1)}).sum(2);
    };
    to_query.copy_(of_query);
    to_key.copy_(shared(of_key));
    to_value.copy_(shared(of_value));
  });
  return {dq, dk, dv};
}

/// Of the weight alone: the rest of a norm is an element kernel.
std::tuple<at::Tensor, at::Tensor> norm_backward(const at::Tensor& grad, const at::Tensor& x, at::IntArrayRef,
                                                 const at::Tensor& scale, const std::optional<at::Tensor>& weight,
                                                 std::array<bool, 2>) {
  test::HostAliases aliases = gpu_aliases();
  at::Tensor of_weight = at::empty_like(*weight);
  launch([from = aliases.of(grad), values = aliases.of(x), by = aliases.of(*weight), scales = aliases.of(scale),
          to = aliases.of(of_weight)] { to.copy_(train::single_norm_gradients(from, {}, values, by, scales).weight); });
  return {at::Tensor(), std::move(of_weight)};
}

bool starts_with_one_of(const std::string& name, std::initializer_list<const char*> beginnings) {
  for (const char* const beginning : beginnings)
    if (name.starts_with(beginning)) return true;
  return false;
}

bool computes(const c10::OperatorHandle& op) {
  const std::string& name = op.schema().name();
  if (!name.starts_with("aten::") || !op.hasKernelForDispatchKey(c10::DispatchKey::CUDA) ||
      !op.hasComputedKernelForDispatchKey(c10::DispatchKey::CPU))
    return false;
  // Memory and where it lies: LibTorch's own on every device.
  if (starts_with_one_of(name, {"aten::empty", "aten::set_", "aten::resize_", "aten::_local_scalar_dense",
                                "aten::record_stream", "aten::_pin_memory", "aten::is_pinned"}))
    return false;
  for (const c10::Argument& result : op.schema().returns())
    if (result.alias_info() != nullptr && !result.alias_info()->isWrite()) return false;  // a view
  return true;
}

void take_kernels_of_the_cpu() {
  // LibTorch warns of what is done here on purpose.
  struct Silent : c10::WarningHandler {
    void process(const c10::Warning&) override {}
  } silent;
  const c10::WarningUtils::WarningHandlerGuard quiet(&silent);
  static torch::Library aten(torch::Library::IMPL, "aten", c10::DispatchKey::CUDA, __FILE__, __LINE__);
  c10::Dispatcher& dispatcher = c10::Dispatcher::singleton();
  for (const c10::OperatorName& name : dispatcher.getAllOpNames()) {
    const std::optional<c10::OperatorHandle> op = dispatcher.findSchema(name);
    if (!op || !computes(*op)) continue;
    const std::string full = name.overload_name.empty() ? name.name : name.name + "." + name.overload_name;
    aten.impl(full.c_str(), torch::CppFunction::makeFromBoxedFunction<&on_cpu>());
  }
  aten.impl("copy_", TORCH_FN(copy));
  aten.impl("_fused_rms_norm_backward", TORCH_FN(norm_backward));
  aten.impl("_scaled_dot_product_flash_attention", TORCH_FN(flash));
  aten.impl("_scaled_dot_product_flash_attention_backward", TORCH_FN(flash_backward));
}

void* real() {
  static void* const opened = [] {
    void* const handle = ::dlopen(std::getenv("TITAN_SIMULATED_GPU_MODULE"), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) std::fprintf(stderr, "simulated GPU: %s\n", ::dlerror());
    return handle;
  }();
  if (opened == nullptr) std::abort();
  return opened;
}

template <typename Door>
Door door(const char* name) {
  return reinterpret_cast<Door>(::dlsym(real(), name));
}

}  // namespace
}  // namespace titan::gpu

#define TITAN_DOOR extern "C" __attribute__((visibility("default")))

TITAN_DOOR const char* titan_cuda_torch_version() {
  return titan::gpu::door<const char* (*)()>("titan_cuda_torch_version")();
}

TITAN_DOOR const char* titan_cuda_interface() { return titan::gpu::door<const char* (*)()>("titan_cuda_interface")(); }

TITAN_DOOR void titan_cuda_probe(titan::train::GpuFacts* facts) {
  titan::gpu::door<void (*)(titan::train::GpuFacts*)>("titan_cuda_probe")(facts);
}

TITAN_DOOR titan::train::DeviceModule* titan_cuda_module() {
  titan::gpu::take_kernels_of_the_cpu();
  return titan::gpu::door<titan::train::DeviceModule* (*)()>("titan_cuda_module")();
}
