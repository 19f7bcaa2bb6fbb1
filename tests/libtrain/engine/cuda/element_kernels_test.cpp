// The element kernels beside the single operations that they stand for, both computed by the CPU; and whether NVRTC
// compiles them.
#include <dlfcn.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "libtrain/engine/device/cpu_kernels.h"
#include "libtrain/engine/device/host_values.h"
#include "tests/libtrain/support/tensors.h"
#include "tests/support/element_kernels.h"
#ifdef TITAN_NVRTC
#include <nvrtc.h>

#include "libtrain/engine/cuda/element_kernels_text.h"
#endif

namespace titan::train::element_kernels_test {
namespace {

namespace element = titan::test::element;

constexpr std::int64_t kElements = 40 * 64;

at::Tensor numbers(std::vector<std::int64_t> sizes, at::ScalarType type, int seed) {
  at::Tensor values = at::empty(sizes, at::kFloat);
  std::mt19937 random(static_cast<unsigned>(seed));
  std::normal_distribution<float> normal(0, 2);
  for (float& value : mutable_host_values<float>(values)) value = normal(random);
  return values.to(type);
}

template <typename T>
T* at_of(const at::Tensor& values) {
  return reinterpret_cast<T*>(mutable_host_bytes(values).data());
}

/// Of another exp, or of products that are added unrounded: one rounding apart, and seldom.
void expect_near(const at::Tensor& found, const at::Tensor& expected) {
  ASSERT_EQ(found.scalar_type(), expected.scalar_type());
  const double step = found.scalar_type() == at::kFloat ? 1e-6 : 0.008;
  EXPECT_TRUE(at::allclose(found.to(at::kDouble), expected.to(at::kDouble), step, 1e-7));
  if (found.scalar_type() == at::kFloat) return;
  EXPECT_LT((found != expected).sum().item<std::int64_t>(), found.numel() / 100);
}

template <typename T, typename Kernel>
void swiglu_is_that_of_single_operations(at::ScalarType type, std::int64_t width, Kernel forward) {
  CpuKernels single;
  const at::Tensor gate = numbers({kElements}, type, 1), up = numbers({kElements}, type, 2);
  const at::Tensor out = at::empty_like(gate);
  const auto count = static_cast<long long>(kElements / width);
  element::for_each_thread(static_cast<unsigned>(count), 1, 1,
                           [&] { forward(at_of<T>(gate), at_of<T>(up), at_of<T>(out), count); });
  expect_near(out, single.swiglu(gate, up));
}

TEST(ElementKernels, SwiGluIsThatOfSingleOperations) {
  using element::bf16;
  swiglu_is_that_of_single_operations<bf16>(at::kBFloat16, 4, element::swiglu_bf16_4);
  swiglu_is_that_of_single_operations<bf16>(at::kBFloat16, 1, element::swiglu_bf16_1);
  swiglu_is_that_of_single_operations<float>(at::kFloat, 4, element::swiglu_float_4);
}

template <typename T, typename Kernel>
void gradients_are_those_of_single_operations(at::ScalarType type, Kernel kernel) {
  CpuKernels single;
  const at::Tensor gate = numbers({kElements}, type, 1), up = numbers({kElements}, type, 2);
  const at::Tensor inner = numbers({kElements}, type, 3);
  const SwiGluGradients of{at::empty_like(gate), at::empty_like(gate), at::empty_like(gate)};
  const long long count = kElements / 4;
  element::for_each_thread(static_cast<unsigned>(count), 1, 1, [&] {
    kernel(at_of<T>(gate), at_of<T>(up), at_of<T>(inner), at_of<T>(of.gate), at_of<T>(of.up), at_of<T>(of.product),
           count);
  });
  const SwiGluGradients expected = single.swiglu_gradients(gate, up, inner.clone());
  expect_near(of.gate, expected.gate);
  expect_near(of.up, expected.up);
  expect_near(of.product, expected.product);
}

TEST(ElementKernels, GradientsOfSwiGluAreThoseOfSingleOperations) {
  gradients_are_those_of_single_operations<element::bf16>(at::kBFloat16, element::swiglu_gradients_bf16_4);
  gradients_are_those_of_single_operations<float>(at::kFloat, element::swiglu_gradients_float_4);
}

template <typename T, typename Kernel>
void turns_are_those_of_single_operations(at::ScalarType type, int width, Kernel kernel) {
  CpuKernels single;
  constexpr std::int64_t kRows = 2, kTokens = 5, kHeads = 3, kDim = 8;
  for (const bool each_row : {false, true})
    for (const bool back : {false, true})
      for (const bool heads_first : {false, true}) {
        const at::Tensor x = heads_first ? numbers({kRows, kHeads, kTokens, kDim}, type, 4).transpose(1, 2)
                                         : numbers({kRows, kTokens, kHeads, kDim}, type, 4);
        const at::Tensor angles = each_row ? numbers({kRows, kTokens, 1, kDim / 2, 2}, at::kFloat, 5)
                                           : numbers({kTokens, 1, kDim / 2, 2}, at::kFloat, 5);
        const at::Tensor turns = at::view_as_complex(angles), out = at::empty({kRows, kTokens, kHeads, kDim}, type);
        const auto count = static_cast<long long>(x.numel() / width);
        const auto* const from = reinterpret_cast<const T*>(address_of(x));
        element::for_each_thread(static_cast<unsigned>(count), 1, 1, [&] {
          kernel(from, at_of<float>(angles), at_of<T>(out), count, static_cast<int>(kDim / width), kHeads, kTokens,
                 x.stride(0), x.stride(1), x.stride(2), each_row, back ? -1.0f : 1.0f);
        });
        expect_near(out, single.turn(x, turns, back));
      }
}

TEST(ElementKernels, TurnsAreThoseOfSingleOperations) {
  turns_are_those_of_single_operations<element::bf16>(at::kBFloat16, 4, element::turn_bf16_4);
  turns_are_those_of_single_operations<element::bf16>(at::kBFloat16, 2, element::turn_bf16_2);
  turns_are_those_of_single_operations<float>(at::kFloat, 4, element::turn_float_4);
  turns_are_those_of_single_operations<float>(at::kFloat, 2, element::turn_float_2);
}

TEST(ElementKernels, GradientsOfLogitsAreThoseOfSingleOperations) {
  CpuKernels single;
  constexpr std::int64_t kRows = 6, kVocabulary = 300;
  const at::Tensor logs = at::log_softmax(numbers({kRows, kVocabulary}, at::kFloat, 6), 1);
  at::Tensor targets = at::arange(kRows, at::kLong) * 59;
  targets[2] = kNoTarget;
  const at::Tensor narrow = at::empty({kRows, kVocabulary}, at::kBFloat16), wide = at::empty_like(logs);
  element::for_each_thread(kRows, 2, 50, [&] {
    element::logit_gradients_bf16_4(at_of<float>(logs), at_of<long long>(targets), at_of<element::bf16>(narrow),
                                    kVocabulary / 4, 0.125f);
  });
  element::for_each_thread(kRows, 3, 100, [&] {
    element::logit_gradients_float_1(at_of<float>(logs), at_of<long long>(targets), at_of<float>(wide), kVocabulary,
                                     0.125f);
  });
  expect_near(narrow, single.logit_gradients(logs.clone(), targets, 0.125, at::kBFloat16));
  expect_near(wide, single.logit_gradients(logs.clone(), targets, 0.125, at::kFloat));
  EXPECT_EQ(wide[2].abs().max().item<float>(), 0);
}

template <typename T, typename Kernel>
void rows_are_added_as_by_single_operations(at::ScalarType type, std::size_t count, Kernel kernel) {
  CpuKernels single;
  std::vector<at::Tensor> rows;
  element::Rows<T> places{};
  for (std::size_t i = 0; i < count; ++i) {
    rows.push_back(numbers({kElements}, type, static_cast<int>(i)));
    places.at[i] = at_of<T>(rows.back());
  }
  const at::Tensor sum = at::empty({kElements}, at::kFloat);
  element::for_each_thread(kElements / 4, 1, 1, [&] { kernel(places, at_of<float>(sum), kElements / 4); });
  EXPECT_TRUE(at::equal(sum, single.add_rows(rows))) << count;
}

TEST(ElementKernels, RowsAreAddedAsBySingleOperations) {
  using element::bf16;
  rows_are_added_as_by_single_operations<bf16>(at::kBFloat16, 2, element::add_2_rows_bf16_4);
  rows_are_added_as_by_single_operations<bf16>(at::kBFloat16, 4, element::add_4_rows_bf16_4);
  rows_are_added_as_by_single_operations<bf16>(at::kBFloat16, 8, element::add_8_rows_bf16_4);
  rows_are_added_as_by_single_operations<float>(at::kFloat, 4, element::add_4_rows_float_4);
  rows_are_added_as_by_single_operations<float>(at::kFloat, 8, element::add_8_rows_float_4);
}

TEST(ElementKernels, RoundToBfloat16AsLibTorchDoes) {
  for (const float x : {1.0f, 1.00390625f, 1.01171875f, -0.0f, 3.4e38f, 1e-40f, -1.5f}) {
    const at::Tensor expected = at::scalar_tensor(x, at::kFloat).to(at::kBFloat16);
    EXPECT_EQ(element::rounded<element::bf16>(x), *at_of<std::uint16_t>(expected)) << x;
  }
  EXPECT_EQ(element::rounded<element::bf16>(std::nanf("")), 0x7fff);
}

TEST(ElementKernels, NvrtcCompilesThemForEachArchitecture) {
#ifndef TITAN_NVRTC
  GTEST_SKIP() << "built without CUDA's headers";
#else
  void* const library = ::dlopen(TITAN_NVRTC, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << ::dlerror();
  const auto create = reinterpret_cast<decltype(&nvrtcCreateProgram)>(::dlsym(library, "nvrtcCreateProgram"));
  const auto compile = reinterpret_cast<decltype(&nvrtcCompileProgram)>(::dlsym(library, "nvrtcCompileProgram"));
  const auto log_size = reinterpret_cast<decltype(&nvrtcGetProgramLogSize)>(::dlsym(library, "nvrtcGetProgramLogSize"));
  const auto log = reinterpret_cast<decltype(&nvrtcGetProgramLog)>(::dlsym(library, "nvrtcGetProgramLog"));
  for (const char* const architecture : {"sm_80", "sm_90", "sm_120", "compute_90"}) {
    const std::string option = std::string("--gpu-architecture=") + architecture;
    const char* const options[] = {option.c_str(), "--std=c++17"};
    nvrtcProgram program = nullptr;
    ASSERT_EQ(create(&program, kElementKernels, "element_kernels.cu", 0, nullptr, nullptr), NVRTC_SUCCESS);
    const nvrtcResult result = compile(program, 2, options);
    std::size_t size = 0;
    log_size(program, &size);
    std::string said(size, ' ');
    log(program, said.data());
    EXPECT_EQ(result, NVRTC_SUCCESS) << architecture << ": " << said;
    EXPECT_LE(size, 1u) << said;  // no warning
  }
#endif
}

}  // namespace
}  // namespace titan::train::element_kernels_test
