// The element kernels beside the single operations that they stand for, both computed by the CPU; and whether NVRTC
// compiles them.
#include <dlfcn.h>

#include <cstdint>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "libtrain/engine/device/cpu/cpu_kernels.h"
#include "libtrain/engine/device/host_values.h"
#include "libtrain/engine/device/leaf_norm.h"
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
  EXPECT_LE((found != expected).sum().item<std::int64_t>(), found.numel() / 100);
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
void rope_is_that_of_single_operations(at::ScalarType type, int width, Kernel kernel) {
  CpuKernels single;
  constexpr std::int64_t kRows = 2, kTokens = 5, kHeads = 3, kDim = 8;
  for (const bool each_row : {false, true})
    for (const bool back : {false, true})
      for (const bool heads_first : {false, true}) {
        const at::Tensor x = heads_first ? numbers({kRows, kHeads, kTokens, kDim}, type, 4).transpose(1, 2)
                                         : numbers({kRows, kTokens, kHeads, kDim}, type, 4);
        const at::Tensor angles = each_row ? numbers({kRows, kTokens, 1, kDim / 2, 2}, at::kFloat, 5)
                                           : numbers({kTokens, 1, kDim / 2, 2}, at::kFloat, 5);
        const at::Tensor rotations = at::view_as_complex(angles), out = at::empty({kRows, kTokens, kHeads, kDim}, type);
        const auto count = static_cast<long long>(x.numel() / width);
        const auto* const from = reinterpret_cast<const T*>(address_of(x));
        element::for_each_thread(static_cast<unsigned>(count), 1, 1, [&] {
          kernel(from, at_of<float>(angles), at_of<T>(out), count, static_cast<int>(kDim / width), kHeads, kTokens,
                 x.stride(0), x.stride(1), x.stride(2), each_row, back ? -1.0f : 1.0f);
        });
        expect_near(out, single.rope(x, rotations, back));
      }
}

TEST(ElementKernels, TurnsAreThoseOfSingleOperations) {
  rope_is_that_of_single_operations<element::bf16>(at::kBFloat16, 4, element::rope_bf16_4);
  rope_is_that_of_single_operations<element::bf16>(at::kBFloat16, 2, element::rope_bf16_2);
  rope_is_that_of_single_operations<float>(at::kFloat, 4, element::rope_float_4);
  rope_is_that_of_single_operations<float>(at::kFloat, 2, element::rope_float_2);
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

/// Rows of a norm, with the kernels of one type and width.
template <typename T, auto kNorm, auto kGradients>
struct NormRows {
  at::ScalarType type;
  std::int64_t length, rows = 5;
  unsigned threads = 32;
  at::Tensor x = numbers({rows, length}, type, 1), weight = numbers({length}, type, 3);

  T* of(const at::Tensor& values) const { return values.defined() ? at_of<T>(values) : nullptr; }

  NormedSum norm(const at::Tensor& other) const {
    NormedSum found{other.defined() ? at::empty_like(x) : x, {at::empty_like(x), at::empty({rows, 1}, at::kFloat)}};
    element::for_each_block(static_cast<unsigned>(rows), threads, [&] {
      kNorm(of(x), of(other), of(weight), of(found.sum), of(found.normed.values), at_of<float>(found.normed.scale),
            static_cast<int>(length), 1e-5f);
    });
    return found;
  }
  at::Tensor gradients(const at::Tensor& grad, const at::Tensor& along, const at::Tensor& scale) const {
    at::Tensor found = at::empty_like(x);
    element::for_each_block(static_cast<unsigned>(rows), threads, [&] {
      kGradients(of(grad), of(along), of(x), of(weight), at_of<float>(scale), of(found), static_cast<int>(length));
    });
    return found;
  }
};
template <int kWidth>
using Narrow =
    std::conditional_t<kWidth == 4, NormRows<element::bf16, element::norm_bf16_4, element::norm_gradients_bf16_4>,
                       NormRows<element::bf16, element::norm_bf16_1, element::norm_gradients_bf16_1>>;
template <int kWidth>
using Wide = std::conditional_t<kWidth == 4, NormRows<float, element::norm_float_4, element::norm_gradients_float_4>,
                                NormRows<float, element::norm_float_1, element::norm_gradients_float_1>>;

template <typename Rows>
void norms_are_those_of_single_operations(const Rows& rows) {
  CpuKernels single;
  const NormedSum found = rows.norm({});
  const Normed expected = single.rms_norm(rows.x, rows.weight, 1e-5);
  expect_near(found.normed.values, expected.values);
  expect_near(found.normed.scale, expected.scale);
  const at::Tensor grad = numbers({rows.rows, rows.length}, rows.type, 4);
  const at::Tensor of_x = single.norm_gradients(grad, {}, rows.x, rows.weight, expected.scale).x;
  const at::Tensor gradients = rows.gradients(grad, {}, expected.scale);
  EXPECT_TRUE(at::allclose(gradients.to(at::kDouble), of_x.to(at::kDouble), rows.type == at::kFloat ? 1e-5 : 0.008,
                           rows.type == at::kFloat ? 1e-5 : 1e-3));
}

TEST(ElementKernels, NormsAreThoseOfSingleOperations) {
  norms_are_those_of_single_operations(Narrow<4>{.type = at::kBFloat16, .length = 64});
  norms_are_those_of_single_operations(Narrow<1>{.type = at::kBFloat16, .length = 1});
  norms_are_those_of_single_operations(Wide<4>{.type = at::kFloat, .length = 2304, .threads = 256});
  norms_are_those_of_single_operations(Wide<1>{.type = at::kFloat, .length = 1027, .threads = 256});
}

/// Together with the sum before it, and the gradient after it, a norm has the bits that it has alone.
template <typename Rows>
void sums_and_norms_have_the_bits_of_two_steps(const Rows& rows) {
  const at::Tensor other = numbers({rows.rows, rows.length}, rows.type, 2);
  const NormedSum together = rows.norm(other);
  Rows sum = rows;
  sum.x = rows.x + other;
  const NormedSum alone = sum.norm({});
  EXPECT_TRUE(at::equal(together.sum, sum.x));
  EXPECT_TRUE(at::equal(together.normed.values, alone.normed.values));
  EXPECT_TRUE(at::equal(together.normed.scale, alone.normed.scale));
  const at::Tensor grad = numbers({rows.rows, rows.length}, rows.type, 4);
  EXPECT_TRUE(at::equal(rows.gradients(grad, other, alone.normed.scale),
                        rows.gradients(grad, {}, alone.normed.scale).add_(other)));
}

TEST(ElementKernels, SumsAndNormsHaveTheBitsOfTwoSteps) {
  sums_and_norms_have_the_bits_of_two_steps(Narrow<4>{.type = at::kBFloat16, .length = 1280, .threads = 256});
  sums_and_norms_have_the_bits_of_two_steps(Narrow<1>{.type = at::kBFloat16, .length = 99});
  sums_and_norms_have_the_bits_of_two_steps(Wide<4>{.type = at::kFloat, .length = 768});
  sums_and_norms_have_the_bits_of_two_steps(Wide<1>{.type = at::kFloat, .length = 1027, .threads = 256});
}

/// A tensor that begins where no four elements lie as one value has the bits of one that does.
TEST(ElementKernels, NormsAddInOneOrderHoweverElementsMove) {
  const Wide<4> four{.type = at::kFloat, .length = 1280, .threads = 256};
  const Wide<1> one{.type = at::kFloat, .length = 1280, .threads = 256};
  const at::Tensor grad = numbers({four.rows, four.length}, at::kFloat, 4);
  const NormedSum first = four.norm({}), second = one.norm({});
  EXPECT_TRUE(at::equal(first.normed.values, second.normed.values));
  EXPECT_TRUE(at::equal(four.gradients(grad, {}, first.normed.scale), one.gradients(grad, {}, second.normed.scale)));
}

/// Where a rank owns other leaves of a tensor, or other tensors, each has its bits all the same.
TEST(ElementKernels, LeavesHaveTheirSquaresWhereverTheyLie) {
  constexpr int kLength = 1101;
  const at::Tensor values = numbers({3 * kLength + 700}, at::kFloat, 7), before = numbers({5}, at::kFloat, 8);
  const at::Tensor sums = at::empty({6}, at::kDouble), alone = at::empty({1}, at::kDouble);
  const element::LeafRuns all{{at_of<float>(before), at_of<float>(values)}, {5, values.numel()}, {3, kLength}, {0, 2}};
  element::for_each_block(6, 256, [&] { element::leaf_squares(all, 2, at_of<double>(sums)); });
  for (int leaf = 0; leaf < 4; ++leaf) {
    const std::int64_t length = leaf == 3 ? 700 : kLength;
    const at::Tensor own = values.narrow(0, leaf * kLength, length).clone();
    const element::LeafRuns one{{at_of<float>(own)}, {length}, {kLength}, {0}};
    element::for_each_block(1, 256, [&] { element::leaf_squares(one, 1, at_of<double>(alone)); });
    EXPECT_TRUE(at::equal(sums.narrow(0, 2 + leaf, 1), alone)) << leaf;
    EXPECT_NEAR(*at_of<double>(alone) / leaf_sum_of_squares(at_of<float>(own), length), 1, 1e-14) << leaf;
  }
  const float* const few = at_of<float>(before);
  EXPECT_NEAR(at_of<double>(sums)[1], few[3] * few[3] + few[4] * few[4], 1e-5);
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
