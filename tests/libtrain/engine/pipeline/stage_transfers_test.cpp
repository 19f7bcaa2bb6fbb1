#include "libtrain/engine/pipeline/stage_transfers.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "libtrain/engine/parallel/links/tags.h"
#include "tests/libtrain/support/thread_world.h"

namespace titan::train::stage_transfers_test {
namespace {

using titan::test::run_ranks;

constexpr std::uint32_t kStages = 3;  // of which rank 0 has two

StageTransfers::Form form_of(std::uint32_t micro_batches) { return {{4, micro_batches, 1, {}}, {2}, at::kFloat}; }

StageTransfers transfers_of(const World& world) { return {world, {0, 0, 1}, form_of(2)}; }

/// Known by stage, micro-batch and direction.
at::Tensor tensor_for(const TransferPlace& place) {
  return at::full({2}, 100.0 * place.stage + 10.0 * place.micro_batch + (place.backward ? 1 : 0), at::kFloat);
}

TEST(StageTransfers, BringsEachTensorToItsPlaceOnOneRankAndOnTwo) {
  run_ranks({2, 1}, [&](World& world) {
    StageTransfers transfers = transfers_of(world);
    const bool first = world.stage == 0;
    for (std::uint32_t m = 0; m < 2; ++m) {
      // The input of the last stage goes to rank 1, its gradient comes back; both are those of one stage and batch.
      const TransferPlace input{2, m, false}, gradient{1, m, true};
      const TransferPlace &to = first ? input : gradient, &here = first ? gradient : input;
      EXPECT_FALSE(transfers.is_here(to.stage) || !transfers.is_here(here.stage));
      transfers.post_receive(here);
      EXPECT_TRUE(transfers.is_posted(here));
      transfers.hand_over(to, tensor_for(to));
      transfers.send(to);
      EXPECT_TRUE(at::equal(transfers.take(here), tensor_for(here)));
      EXPECT_FALSE(transfers.is_posted(here));
      if (first) transfers.settle(input);
    }
    transfers.keep_newest(!first, 0);
    if (!first) return;
    for (const TransferPlace& place : {TransferPlace{1, 0, false}, TransferPlace{0, 0, true}}) {
      transfers.hand_over(place, tensor_for(place));
      EXPECT_FALSE(transfers.is_posted(place)) << "nobody waits for it";
      EXPECT_TRUE(at::equal(transfers.take(place), tensor_for(place)));
    }
  });
}

TEST(StageTransfers, RefusesWhatATableMustNotAsk) {
  World world;
  StageTransfers transfers = transfers_of(world);
  EXPECT_THROW(transfers.take({1, 0, false}), std::logic_error) << "never received";
  EXPECT_THROW(transfers.send({2, 0, false}), std::logic_error) << "never computed";
  transfers.hand_over({1, 0, false}, tensor_for({1, 0, false}));
  (void)transfers.take({1, 0, false});
  EXPECT_THROW(transfers.take({1, 0, false}), std::logic_error) << "taken before";
}

TEST(StageTransfers, RefusesMoreTransfersThanTags) {
  const World world;
  const std::uint32_t most = kFirstExchangeTag / 2 / kStages;
  EXPECT_NO_THROW(StageTransfers(world, {0, 0, 1}, form_of(most)));
  EXPECT_THROW(StageTransfers(world, {0, 0, 1}, form_of(most + 1)), std::length_error);
}

/// Receives nothing.
class Broken final : public Fabric {
 public:
  struct Lost final : Transfer {
    void wait() override { throw CommError(ckpt::failed("the peer is gone")); }
  };
  int rank() const override { return 0; }
  int size() const override { return 2; }
  std::unique_ptr<Transfer> send(const at::Tensor&, int, std::uint64_t) override { return nullptr; }
  std::unique_ptr<Transfer> recv(at::Tensor&, int, std::uint64_t) override { return std::make_unique<Lost>(); }
  void all_to_all(at::Tensor&, const std::vector<std::int64_t>&, const at::Tensor&,
                  const std::vector<std::int64_t>&) override {}
};

TEST(StageTransfers, NamesWhatDoesNotCome) {
  World world;
  world.pp = std::make_unique<Broken>();
  StageTransfers transfers = transfers_of(world);
  transfers.post_receive({1, 1, true});
  try {
    (void)transfers.take({1, 1, true});
    FAIL() << "nobody sent it";
  } catch (const CommError& error) {
    ASSERT_EQ(error.status.causes.size(), 1u);
    EXPECT_EQ(error.status.causes.front(),
              "stage 1 waited for the gradient of micro-batch 5 from stage 2 on pipeline rank 1");
  }
}

}  // namespace
}  // namespace titan::train::stage_transfers_test
