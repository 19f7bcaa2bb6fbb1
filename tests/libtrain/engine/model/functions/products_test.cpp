#include "libtrain/engine/model/functions/products.h"

#include <ATen/record_function.h>

#include <chrono>
#include <csignal>
#include <functional>
#include <iostream>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "libtrain/job/launch/signals.h"
#include "tests/libtrain/support/same_gradients.h"
#include "tests/support/child_process.h"

namespace titan::train::products_test {
namespace {

using namespace titan::test;

/// The same numbers at another place in memory: `offset` floats after a 64-byte border.
at::Tensor moved(const at::Tensor& x, std::int64_t offset) {
  const at::Tensor room = at::empty({x.numel() + offset}, x.options());
  return room.narrow(0, offset, x.numel()).view(x.sizes()).copy_(x);
}

TEST(Products, OneDnnAgreesWithMkl) {
  use_one_thread();
  const at::Tensor x = random_tensor(19 * 40, 1).view({19, 40}), weight = random_tensor(77 * 40, 2).view({77, 40}),
                   grad = random_tensor(19 * 77, 3).view({19, 77}), bias = random_tensor(77, 4);
  for (const at::Tensor& b : {at::Tensor(), bias})
    EXPECT_TRUE(at::allclose(output_product(Gemm::kOneDnn, x, weight, b), output_product(Gemm::kMkl, x, weight, b),
                             1e-4, 1e-4));
  EXPECT_TRUE(
      at::allclose(input_product(Gemm::kOneDnn, grad, weight), input_product(Gemm::kMkl, grad, weight), 1e-4, 1e-4));
  EXPECT_TRUE(at::allclose(weight_product(Gemm::kOneDnn, grad, x), weight_product(Gemm::kMkl, grad, x), 1e-4, 1e-4));
}

TEST(Products, BitsDoNotDependOnThePlaceInMemoryOrOnOneOrTwoThreads) {
  struct Shape {
    std::int64_t rows, in, out;
  };
  for (const Gemm gemm : {Gemm::kMkl, Gemm::kOneDnn}) {
    for (const auto [rows, in, out] : {Shape{38, 40, 77}, {256, 128, 352}, {512, 96, 83}}) {
      const at::Tensor x = random_tensor(rows * in, 1).view({rows, in}),
                       weight = random_tensor(out * in, 2).view({out, in}),
                       grad = random_tensor(rows * out, 3).view({rows, out});
      at::Tensor y, dx, dw;
      for (const int threads : {1, 2}) {
        if (threads == 2 && gemm == Gemm::kMkl) continue;  // whose bits may depend on the threads
        setup_determinism(threads);
        // oneDNN's kernels for AVX2 share out sums among the threads; their number is in the class of a machine.
        if (threads == 1 || !__builtin_cpu_supports("avx512f")) {
          y = output_product(gemm, x, weight);
          dx = input_product(gemm, grad, weight);
          dw = weight_product(gemm, grad, x);
        }
        for (const std::int64_t offset : {0, 1, 3, 4, 8, 12}) {
          const std::string where =
              std::to_string(rows) + " rows, offset " + std::to_string(offset) + ", threads " + std::to_string(threads);
          const at::Tensor mx = moved(x, offset), mw = moved(weight, offset), mg = moved(grad, offset);
          EXPECT_TRUE(equal_bits(output_product(gemm, mx, mw), y)) << where;
          EXPECT_TRUE(equal_bits(input_product(gemm, mg, mw), dx)) << where;
          EXPECT_TRUE(equal_bits(weight_product(gemm, mg, mx), dw)) << where;
        }
      }
    }
  }
  use_one_thread();
}

/// The operators that `work` calls on this thread.
std::set<std::string> operators_of(const std::function<void()>& work) {
  static thread_local std::set<std::string> names;
  names.clear();
  const auto note = [](const at::RecordFunction& function) -> std::unique_ptr<at::ObserverContext> {
    names.insert(function.name());
    return nullptr;
  };
  const auto handle = at::addThreadLocalCallback(at::RecordFunctionCallback(note));
  work();
  at::removeCallback(handle);
  return names;
}

// For small products both libraries may give the same bits: which one was asked shows in the operators.
TEST(Products, AskTheLibraryThatWasChosen) {
  use_one_thread();
  const std::string onednn = "mkldnn::_linear_pointwise";
  for (const at::ScalarType type : kTypes) {
    for (const Gemm gemm : {Gemm::kMkl, Gemm::kOneDnn}) {
      const at::Tensor x = leaf({19, 40}, type, 1).detach(), weight = leaf({77, 40}, type, 2).detach(),
                       grad = leaf({19, 77}, type, 3).detach();
      const bool expected = gemm == Gemm::kOneDnn && type == at::kFloat;
      EXPECT_EQ(operators_of([&] { output_product(gemm, x, weight); }).contains(onednn), expected);
      EXPECT_EQ(operators_of([&] { input_product(gemm, grad, weight); }).contains(onednn), expected);
      EXPECT_EQ(operators_of([&] { weight_product(gemm, grad, x); }).contains(onednn), expected);
    }
  }
}

/// Multiplies while stop signals come. Blocks that lie before holes of the heap, where oneDNN's workspace goes, and the
/// product have to keep their values.
int multiply_among_signals() {
  install_stop_handlers();
  handle_stops_in_own_thread();
  use_one_thread();
  const at::Tensor x = random_tensor(32 * 384, 1).view({32, 384}), weight = random_tensor(64 * 384, 2).view({64, 384});
  const at::Tensor expected = output_product(Gemm::kOneDnn, x, weight);
  std::cout << "multiplies." << std::endl;
  bool same = true;
  std::vector<std::string> blocks, rest;
  for (std::size_t i = 0; i < 64; ++i) {
    blocks.emplace_back(4096 + 64 * i, 'x');
    auto hole = std::make_unique<char[]>(100'000);
    rest.emplace_back(4096, 'y');
    hole.reset();
    for (int repeat = 0; repeat < 100 || !stop_requested(); ++repeat)
      same = equal_bits(output_product(Gemm::kOneDnn, x, weight), expected) && same;
    rest.emplace_back(100'000, 'z');
  }
  for (const std::string& block : blocks) same = same && block == std::string(block.size(), 'x');
  return !stop_requested() ? 2 : same ? 0 : 1;
}

const TestRole multiplier("multiplier", multiply_among_signals);

TEST(Products, SignalsDoNotWriteOverTheHeap) {
  ChildProcess process(this_program(), {}, {{"TITAN_TEST_ROLE", "multiplier"}});
  ASSERT_TRUE(process.wait_for_output("multiplies."));
  while (!process.wait(std::chrono::milliseconds(0))) process.signal(SIGTERM);
  EXPECT_EQ(process.wait(), 0) << process.output();
}

TEST(Products, Bfloat16HasOneWayOnly) {
  use_one_thread();
  const at::Tensor x = leaf({19, 40}, at::kBFloat16, 1).detach(), weight = leaf({77, 40}, at::kBFloat16, 2).detach();
  EXPECT_TRUE(equal_bits(output_product(Gemm::kOneDnn, x, weight), output_product(Gemm::kMkl, x, weight)));
}

}  // namespace
}  // namespace titan::train::products_test
