#include "libtrain/job/run/near_tier.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ckpt/base/files.h"
#include "ckpt/base/mutex.h"
#include "ckpt/format/member_names.h"
#include "ckpt/read/step_proof.h"
#include "ckpt/run/near_folder.h"
#include "tests/support/checkpoints.h"
#include "tests/support/failing_fs.h"
#include "tests/support/files.h"
#include "tests/support/mem_fs.h"

namespace titan::train::near_tier_test {
namespace {

using namespace titan::ckpt::testing;  // NOLINT: the file is about these
using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr milliseconds kLong{60'000}, kNone{0};

struct Tiers {
  MemFs memory;
  FailingFs fs{memory};
  ckpt::Mutex mutex;
  std::vector<std::string> said TITAN_GUARDED_BY(mutex);

  Tiers() {
    EXPECT_TRUE(ckpt::make_dirs(memory, "/near").ok());
    EXPECT_TRUE(ckpt::make_dirs(memory, "/run").ok());
  }
  ckpt::Digest save(std::uint64_t step) {
    const auto published =
        ckpt::testing::save(memory, "/near", make_snapshot(small_model(), {1, 1, 1}, 64, step), step);
    EXPECT_TRUE(published.ok()) << published.status().to_string();
    return published->id;
  }
  NearTier::Options options() {
    NearTier::Options options;
    options.folder = "/near";
    options.checkpoint_dir = "/run";
    options.problem = [this](const std::string& line) {
      const ckpt::MutexLock lock(mutex);
      said.push_back(line);
    };
    options.first_pause = milliseconds{5};
    options.longest_pause = milliseconds{20};
    return options;
  }
  std::vector<std::string> lines() {
    const ckpt::MutexLock lock(mutex);
    return said;
  }
  std::vector<std::string> steps(const std::string& folder) {
    std::vector<std::string> names;
    for (const ckpt::DirEntry& entry : *memory.list(folder))
      if (entry.type == ckpt::FileType::kDirectory) names.push_back(entry.name);
    return names;
  }
};

std::vector<std::uint64_t> numbers(const std::vector<Drained>& drained) {
  std::vector<std::uint64_t> steps;
  for (const Drained& one : drained) steps.push_back(one.step);
  return steps;
}

TEST(NearTier, CopiesEachStepInOrderAndKeepsTheNewest) {
  Tiers tiers;
  const ckpt::Digest ten = tiers.save(10), twenty = tiers.save(20);
  NearTier near(tiers.fs, tiers.options());
  near.add(10);
  near.add(20);
  ASSERT_TRUE(near.wait(0, kLong, kNone).ok());
  const std::vector<Drained> drained = near.take();
  EXPECT_THAT(numbers(drained), ElementsAre(10, 20));
  EXPECT_EQ(drained[0].published.id, ten);
  EXPECT_EQ(*ckpt::prove_step(tiers.memory, "/run/step-00000020"), twenty);
  EXPECT_TRUE(near.take().empty());
  EXPECT_THAT(tiers.steps("/near"), ElementsAre("step-00000020"));
  EXPECT_TRUE(ckpt::was_durable(tiers.memory, "/near/step-00000020"));
  near.make_room();
  EXPECT_TRUE(tiers.steps("/near").empty());
  EXPECT_TRUE(tiers.lines().empty());
}

TEST(NearTier, AStoreThatFailsIsAskedAgainAndNothingIsDeletedMeanwhile) {
  Tiers tiers;
  tiers.save(10);
  tiers.save(20);
  tiers.fs.arm({Op::kCreate, "/run/", 1, Repeat::kSticky, EIO});
  NearTier near(tiers.fs, tiers.options());
  near.add(10);
  near.add(20);
  const ckpt::Status refused = near.wait(1, kLong, milliseconds{50});
  EXPECT_EQ(refused.error, EIO);
  EXPECT_EQ(near.refused().error, EIO);
  EXPECT_EQ(near.waiting(), 2u);
  near.make_room();
  EXPECT_THAT(tiers.steps("/near"), ElementsAre("step-00000010", "step-00000020"));
  tiers.fs.disarm();
  EXPECT_TRUE(near.wait(0, kLong, kLong).ok());
  EXPECT_TRUE(near.refused().ok());
  EXPECT_THAT(numbers(near.take()), ElementsAre(10, 20));
  const std::vector<std::string> lines = tiers.lines();
  ASSERT_EQ(lines.size(), 1u) << "an outage is told of once";
  EXPECT_THAT(lines[0], HasSubstr("step 10 is only in /near so far, and its copy is tried again later"));
}

TEST(NearTier, GivesUpOlderStepsForANewerOne) {
  Tiers tiers;
  for (const std::uint64_t step : {10, 20, 30}) tiers.save(step);
  tiers.fs.arm({Op::kMakeDir, "/run/", 1, Repeat::kSticky, EIO});
  NearTier::Options options = tiers.options();
  options.first_pause = options.longest_pause = kLong;
  NearTier near(tiers.fs, std::move(options));
  for (const std::uint64_t step : {10, 20, 30}) near.add(step);
  while (near.refused().ok()) std::this_thread::sleep_for(milliseconds{1});
  EXPECT_THAT(near.drop_older(), ElementsAre(10, 20));
  EXPECT_TRUE(near.drop_older().empty());
  EXPECT_THAT(tiers.steps("/near"), ElementsAre("step-00000030"));
  near.clear();
  EXPECT_THAT(tiers.steps("/near"), ElementsAre("step-00000030")) << "it is not durable";
  tiers.fs.disarm();
  ASSERT_TRUE(near.wait(0, kLong, kLong).ok());
  near.clear();
  EXPECT_FALSE(tiers.memory.stat("/near").ok());
}

TEST(NearTier, WhatTheNearFolderHasLostIsSaid) {
  Tiers tiers;
  tiers.save(10);
  tiers.save(20);
  tiers.save(30);
  const std::string manifest = "/near/step-00000020/manifest.json";
  const std::byte other{'#'};
  ASSERT_TRUE(tiers.memory.overwrite(manifest, 20, {&other, 1}).ok());
  ASSERT_TRUE(ckpt::remove_tree(tiers.memory, "/near/step-00000010").ok());
  NearTier near(tiers.fs, tiers.options());
  for (const std::uint64_t step : {10, 20, 30}) near.add(step);
  ASSERT_TRUE(near.wait(0, kLong, kLong).ok());
  EXPECT_THAT(numbers(near.take()), ElementsAre(30));
  EXPECT_THAT(tiers.steps("/run"), ElementsAre("step-00000030"));
  EXPECT_THAT(tiers.steps("/near"), ElementsAre("step-00000030")) << "what is damaged goes behind a durable step";
  std::vector<std::string> lost;
  for (const std::string& line : tiers.lines())
    if (line.find("is lost") != std::string::npos) lost.push_back(line);
  ASSERT_EQ(lost.size(), 2u);
  EXPECT_THAT(lost[0], HasSubstr("step 10 is lost"));
  EXPECT_THAT(lost[1], HasSubstr("step 20 is lost"));
}

TEST(NearTier, ARunFolderThatIsAwayLosesNothing) {
  Tiers tiers;
  tiers.save(10);
  ASSERT_TRUE(tiers.memory.remove_dir("/run").ok());
  NearTier near(tiers.fs, tiers.options());
  near.add(10);
  EXPECT_EQ(near.wait(0, kLong, milliseconds{30}).code, ckpt::Code::kNotFound);
  ASSERT_TRUE(tiers.memory.make_dir("/run").ok());
  EXPECT_TRUE(near.wait(0, kLong, kLong).ok());
}

TEST(NearTier, ALostLockEndsTheCopies) {
  Tiers tiers;
  tiers.save(10);
  NearTier::Options options = tiers.options();
  options.still_ours = [] { return ckpt::locked("another run has the folder"); };
  {
    NearTier near(tiers.fs, std::move(options));
    near.add(10);
    EXPECT_EQ(near.wait(0, kLong, milliseconds{30}).code, ckpt::Code::kLocked);
  }  // the next attempt, which may have begun, is over
  EXPECT_TRUE(tiers.steps("/run").empty());
}

TEST(NearTier, AWaitHasAnEnd) {
  Tiers tiers;
  tiers.save(10);
  tiers.fs.arm({Op::kCreate, "/run/", 1, Repeat::kSticky, EIO});
  NearTier near(tiers.fs, tiers.options());
  near.add(10);
  EXPECT_THAT(near.wait(0, milliseconds{20}, kLong).message, HasSubstr("step 10 is still being copied to /run"));
}

}  // namespace
}  // namespace titan::train::near_tier_test
