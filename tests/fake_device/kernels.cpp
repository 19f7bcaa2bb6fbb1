#include "tests/fake_device/kernels.h"

#include <ATen/ATen.h>
#include <ATen/EmptyTensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <ATen/native/transformers/attention.h>
#include <ATen/native/transformers/sdp_utils_cpp.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <torch/library.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "tests/fake_device/change_tensors.h"
#include "tests/fake_device/device_memory.h"
#include "tests/fake_device/fake_alias.h"

namespace titan::test {
namespace {

constexpr c10::DeviceType kType = c10::DeviceType::PrivateUse1;

/// One device, one stream, on which nothing is ever under way.
struct Guard final : c10::impl::DeviceGuardImplInterface {
  static c10::Device here() { return {kType, 0}; }
  static c10::Stream stream() { return c10::Stream(c10::Stream::DEFAULT, here()); }

  c10::DeviceType type() const override { return kType; }
  c10::Device exchangeDevice(c10::Device) const override { return here(); }
  c10::Device getDevice() const override { return here(); }
  void setDevice(c10::Device) const override {}
  void uncheckedSetDevice(c10::Device) const noexcept override {}
  c10::Stream getStream(c10::Device) const noexcept override { return stream(); }
  c10::Stream getDefaultStream(c10::Device) const override { return stream(); }
  c10::Stream exchangeStream(c10::Stream) const override { return stream(); }
  c10::DeviceIndex deviceCount() const noexcept override { return 1; }
  bool queryStream(const c10::Stream&) const override { return true; }
  void synchronizeStream(const c10::Stream&) const override {}
  void record(void**, const c10::Stream&, const c10::DeviceIndex, const c10::EventFlag) const override {}
  void block(void*, const c10::Stream&) const override {}
};

struct Hooks final : at::PrivateUse1HooksInterface {
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return true; }
  bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }
};

bool is_number(const c10::IValue& value) { return !value.isTensor() && !value.isList() && !value.isNone(); }

/// What only the CPU has would stop a run on any other device.
void refuse_what_only_the_cpu_has(const std::string& name) {
  for (const char* const of_cpu : {"mkldnn::", "mkldnn_prepacked::", "mkl::", "quantized::"})
    TORCH_CHECK(!name.starts_with(of_cpu), name, " has no kernel on a device that is not the CPU");
}

void on_cpu(const c10::OperatorHandle& op, c10::DispatchKeySet, torch::jit::Stack* stack) {
  refuse_what_only_the_cpu_has(op.schema().name());
  HostAliases aliases = fake_aliases();
  for (std::size_t i = stack->size() - op.schema().arguments().size(); i < stack->size(); ++i)
    change_tensors((*stack)[i], [&](const at::Tensor& tensor) { return aliases.of(tensor); });
  op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), stack);
  aliases.take_over_sizes();
  for (std::size_t i = stack->size() - op.schema().returns().size(); i < stack->size(); ++i) {
    if (is_number((*stack)[i])) ++kernel_host_reads();
    change_tensors((*stack)[i], [&](const at::Tensor& tensor) { return aliases.back(tensor); });
  }
}

at::Tensor empty(c10::SymIntArrayRef size, std::optional<at::ScalarType> type, std::optional<at::Layout>,
                 std::optional<at::Device>, std::optional<bool>, std::optional<at::MemoryFormat> format) {
  return at::detail::empty_generic(C10_AS_INTARRAYREF_SLOW(size), &DeviceMemory::get(),
                                   c10::DispatchKeySet(c10::DispatchKey::PrivateUse1), type.value_or(at::kFloat),
                                   format);
}

at::Tensor empty_strided(c10::SymIntArrayRef size, c10::SymIntArrayRef stride, std::optional<at::ScalarType> type,
                         std::optional<at::Layout>, std::optional<at::Device>, std::optional<bool>) {
  return at::detail::empty_strided_generic(C10_AS_INTARRAYREF_SLOW(size), C10_AS_INTARRAYREF_SLOW(stride),
                                           &DeviceMemory::get(), c10::DispatchKeySet(c10::DispatchKey::PrivateUse1),
                                           type.value_or(at::kFloat));
}

at::Tensor copy_from(const at::Tensor& from, const at::Tensor& to, bool) {
  if (!to.is_privateuseone()) ++kernel_host_reads();
  HostAliases aliases = fake_aliases();
  const auto on_host = [&](const at::Tensor& tensor) {
    return tensor.is_privateuseone() ? aliases.of(tensor) : tensor;
  };
  on_host(to).copy_(on_host(from));
  return to;
}

at::Tensor copy_from_and_resize(const at::Tensor& from, const at::Tensor& to) {
  if (to.sizes() != from.sizes()) to.resize_(from.sizes());
  return copy_from(from, to, false);
}

// As on the CPU.
std::int64_t attention_kernel(const at::Tensor&, const at::Tensor&, const at::Tensor&, const std::optional<at::Tensor>&,
                              double, bool, std::optional<double>, bool) {
  return static_cast<std::int64_t>(sdp::SDPBackend::flash_attention);
}

}  // namespace

std::atomic<std::uint64_t>& kernel_host_reads() {
  static std::atomic<std::uint64_t> reads{0};
  return reads;
}

void register_kernels() {
  static const bool done = [] {
    c10::register_privateuse1_backend("fake");
    c10::impl::DeviceGuardImplRegistrar(kType, new Guard);
    at::RegisterPrivateUse1HooksInterface(new Hooks);
    c10::SetAllocator(kType, &DeviceMemory::get());
    at::native::_fused_sdp_choice_stub.set_privateuse1_dispatch_ptr(&attention_kernel);
    static torch::Library all(torch::Library::IMPL, "_", c10::DispatchKey::PrivateUse1, __FILE__, __LINE__);
    all.fallback(torch::CppFunction::makeFromBoxedFunction<&on_cpu>());
    static torch::Library aten(torch::Library::IMPL, "aten", c10::DispatchKey::PrivateUse1, __FILE__, __LINE__);
    aten.impl("empty.memory_format", TORCH_FN(empty));
    aten.impl("empty_strided", TORCH_FN(empty_strided));
    aten.impl("_copy_from", TORCH_FN(copy_from));
    aten.impl("_copy_from_and_resize", TORCH_FN(copy_from_and_resize));
    // Devices that LibTorch does not know would compute this from other operations.
    aten.impl("silu_backward", torch::CppFunction::makeFromBoxedFunction<&on_cpu>());
    // The aliases keep these bits. Their own kernels would resolve them by a copy, and so on.
    for (const c10::DispatchKey bit : {c10::DispatchKey::Conjugate, c10::DispatchKey::Negative}) {
      static std::vector<std::unique_ptr<torch::Library>> libraries;
      libraries.push_back(std::make_unique<torch::Library>(torch::Library::IMPL, "aten", bit, __FILE__, __LINE__));
      libraries.back()->impl("_copy_from", torch::CppFunction::makeFallthrough());
    }
    return true;
  }();
  (void)done;
}

}  // namespace titan::test
