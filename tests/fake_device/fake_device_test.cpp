#include "tests/fake_device/fake_device.h"

#include <exception>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "libtrain/engine/device/host_values.h"
#include "tests/fake_device/device_memory.h"
#include "tests/fake_device/fake_alias.h"
#include "tests/libtrain/support/tensors.h"

namespace titan::test::fake_device_test {
namespace {

FakeDevice& fake() {
  use_one_thread();
  static FakeDevice device;
  return device;
}

at::Tensor on_device(const at::Tensor& host) { return fake().from_host(host); }
void expect_same(const at::Tensor& of_device, const at::Tensor& host) {
  ASSERT_TRUE(of_device.is_privateuseone());
  EXPECT_TRUE(same_bits(floats(fake().to_host(of_device)), floats(host)));
}

TEST(FakeDevice, ComputesWithTheBitsOfTheCpu) {
  const at::Tensor a = random_tensor(35 * 21, 1).view({35, 21}), b = random_tensor(35 * 21, 2).view({35, 21});
  const at::Tensor x = on_device(a), y = on_device(b);
  expect_same(at::mm(x, y.t()), at::mm(a, b.t()));
  expect_same(at::log_softmax(x.to(at::kBFloat16), 1), at::log_softmax(a.to(at::kBFloat16), 1));
  expect_same(at::cat({x, y.narrow(0, 3, 2)}), at::cat({a, b.narrow(0, 3, 2)}));
  expect_same(x.narrow(1, 2, 4).mul(2), a.narrow(1, 2, 4).mul(2));
}

TEST(FakeDevice, KnowsViews) {
  const at::Tensor values = on_device(at::zeros({4, 6}));
  values.view({24}).narrow(0, 6, 6).fill_(1);
  values.select(0, 3).add_(2);
  values.t().slice(0, 0, 1).mul_(3);
  const at::Tensor expected = at::zeros({4, 6});
  expected.select(0, 1).fill_(1);
  expected.select(0, 3).add_(2);
  expected.t().slice(0, 0, 1).mul_(3);
  expect_same(values, expected);
}

TEST(FakeDevice, DerivesAsTheCpuDoes) {
  const auto gradient = [](at::Tensor q) {
    q = q.detach().requires_grad_();
    const at::Tensor out = fake().kernels().attention(q, q, q, true);
    out.mul(out).sum().backward();
    return q.grad();
  };
  const at::Tensor q = random_tensor(2 * 4 * 9 * 8, 3).view({2, 4, 9, 8});
  expect_same(gradient(on_device(q)), gradient(q));
}

TEST(FakeDevice, WritesTheListsOfAnOptimizer) {
  const auto stepped = [](const at::Tensor& p, const at::Tensor& g, const at::Tensor& count) {
    const at::Tensor m = at::zeros_like(p), v = at::zeros_like(p);
    at::_fused_adamw_({p}, {g}, {m}, {v}, {}, {count}, 0.1, 0.9, 0.99, 0.1, 1e-8, false, false);
    return p + m + v;
  };
  const at::Tensor p = random_tensor(37, 4), g = random_tensor(37, 5), count = at::scalar_tensor(1.0, at::kFloat);
  const at::Tensor result = stepped(on_device(p), on_device(g), on_device(count));
  expect_same(result, stepped(p, g, count));
}

TEST(FakeDevice, RefusesTensorsOfTheHostAmongItsOwn) {
  EXPECT_THROW(on_device(at::ones({3})).add_(at::ones({3})), std::exception);
  expect_same(on_device(at::ones({3})).add_(2), at::full({3}, 3.0f));
}

TEST(FakeDeviceDeathTest, EndsWhoeverTouchesItsMemory) {
  const at::Tensor values = on_device(at::ones({3}));
  EXPECT_EXIT(*static_cast<float*>(values.mutable_data_ptr()) = 1, testing::KilledBySignal(SIGSEGV), "");
  EXPECT_EXIT((void)(*static_cast<const volatile float*>(values.const_data_ptr())), testing::KilledBySignal(SIGSEGV),
              "");
  EXPECT_THROW(train::host_values<float>(values), std::logic_error);
}

TEST(FakeDevice, CountsWhatItHolds) {
  DeviceMemory& memory = DeviceMemory::get();
  fake();
  const std::size_t before = memory.bytes().current;
  {
    const at::Tensor values = at::empty({100}, fake().options(at::kFloat)), view = values.narrow(0, 1, 2);
    EXPECT_EQ(memory.bytes().current, before + 400);
    EXPECT_TRUE(at::isnan(fake().to_host(values)).all().item<bool>()) << "nobody has written it";
    memory.reset_peak();
    { const at::Tensor twice = values + values; }
    EXPECT_EQ(memory.bytes().peak, before + 800);
  }
  EXPECT_EQ(memory.bytes().current, before);
}

TEST(FakeDevice, CountsWhatTheHostReads) {
  const at::Tensor values = on_device(at::ones({3}));
  fake().reset();
  (void)(values + values);
  EXPECT_EQ(fake().counts().host_reads, 0u);
  (void)values.sum().item<float>();
  EXPECT_EQ(fake().counts().host_reads, 1u);
  (void)at::equal(values, values);
  EXPECT_EQ(fake().counts().host_reads, 2u);
  (void)values.cpu();
  EXPECT_EQ(fake().counts().host_reads, 3u);
  const std::vector<at::Tensor> sums{fake().kernels().loss_sum(values), fake().kernels().loss_sum(values)};
  EXPECT_EQ(fake().read(sums), (std::vector<double>{3, 3}));
  EXPECT_EQ(fake().counts().host_reads, 4u) << "all at once";
}

}  // namespace
}  // namespace titan::test::fake_device_test
