#include "libtrain/engine/pipeline/send_queue.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "tests/libtrain/support/thread_world.h"

namespace titan::train::send_queue_test {
namespace {

/// Sends nothing; notes which sends were waited for.
class Notes final : public Fabric {
 public:
  struct Wait final : Transfer {
    Wait(std::vector<std::uint64_t>& waited, std::uint64_t tag) : waited(waited), tag(tag) {}
    void wait() override { waited.push_back(tag); }
    std::vector<std::uint64_t>& waited;
    std::uint64_t tag;
  };
  int rank() const override { return 0; }
  int size() const override { return 2; }
  std::unique_ptr<Transfer> send(const at::Tensor& tensor, int, std::uint64_t tag) override {
    EXPECT_TRUE(tensor.is_contiguous() && !tensor.requires_grad());
    return std::make_unique<Wait>(waited, tag);
  }
  std::unique_ptr<Transfer> recv(at::Tensor&, int, std::uint64_t) override { return nullptr; }
  void all_to_all(at::Tensor&, const std::vector<std::int64_t>&, const at::Tensor&,
                  const std::vector<std::int64_t>&) override {}
  std::vector<std::uint64_t> waited;
};

TEST(SendQueue, FreesWhatWasAnswered) {
  Notes notes;
  SendQueue sends;
  at::Tensor tensor = at::ones({8}, at::TensorOptions().requires_grad(true));
  const c10::Storage storage = tensor.storage();
  sends.send(notes, tensor, 1, 5);
  sends.send(notes, at::ones({2, 3}).t(), 1, 7);
  tensor.reset();
  EXPECT_EQ(storage.use_count(), 2u) << "kept for the transfer";
  sends.settle(5);
  EXPECT_EQ(storage.use_count(), 1u);
  EXPECT_EQ(notes.waited, std::vector<std::uint64_t>{5});
  EXPECT_EQ(sends.size(), 1u);
  EXPECT_THROW(sends.settle(5), std::logic_error);
}

TEST(SendQueue, WaitsForTheOldestFirst) {
  Notes notes;
  SendQueue sends;
  for (std::uint64_t tag = 0; tag < 5; ++tag) sends.send(notes, at::ones({1}), 1, tag);
  sends.keep_newest(2);
  EXPECT_EQ(notes.waited, (std::vector<std::uint64_t>{0, 1, 2}));
  sends.keep_newest(2);
  EXPECT_EQ(sends.size(), 2u);
  sends.keep_newest(0);
  EXPECT_EQ(notes.waited, (std::vector<std::uint64_t>{0, 1, 2, 3, 4}));
}

}  // namespace
}  // namespace titan::train::send_queue_test
