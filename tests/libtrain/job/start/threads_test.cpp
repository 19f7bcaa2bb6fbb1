#include "libtrain/job/start/threads.h"

#include <gtest/gtest.h>

#include "ckpt/read/reader.h"
#include "ckpt/save/publish.h"
#include "libtrain/job/start/prepare.h"
#include "recipe/keys/loader.h"
#include "tests/support/checkpoints.h"
#include "tests/support/failing_fs.h"
#include "tests/support/mem_fs.h"

namespace titan::train::threads_test {
namespace {

using ckpt::testing::MemFs;

ckpt::Settings says(const std::string& value) { return {{"isa", "avx2"}, {"threads_per_rank", value}}; }

TEST(Threads, WhatACheckpointSaysIsANumberOrNothing) {
  EXPECT_EQ(stored_threads(says("3")), 3);
  EXPECT_EQ(stored_threads({{"isa", "avx2"}}), std::nullopt);
  for (const char* nonsense : {"", "many", "3x", "0", "-1", "99999999999999999999", "4097"})
    EXPECT_EQ(stored_threads(says(nonsense)), std::nullopt) << nonsense;
}

TEST(Threads, TheConfigurationComesFirstThenTheCheckpointThenTheCores) {
  recipe::Config config;
  const int cores = allowed_cores();
  EXPECT_EQ(threads_per_rank(config, std::nullopt, 1, {cores}), cores);
  EXPECT_EQ(threads_per_rank(config, std::nullopt, 1000, {cores}), 1);
  EXPECT_EQ(threads_per_rank(config, std::nullopt, 2, {8}), 4);
  EXPECT_EQ(threads_per_rank(config, std::nullopt, 2, {8, true}), 8);  // bound one by one: each has its own
  EXPECT_EQ(threads_per_rank(config, 3, 1000, {cores}), 3);
  ckpt::TrainState state;
  state.environment = says("3");
  EXPECT_EQ(threads_per_rank(config, &state, 1000, {cores}), 3);
  EXPECT_EQ(threads_per_rank(config, nullptr, 1000, {cores}), 1);
  config.job.threads_per_rank = 2;
  EXPECT_EQ(threads_per_rank(config, 3, 1000, {cores}), 2);
}

TEST(Threads, AVariableThatIsNotUsedIsNamedWithWhatIsUsed) {
  recipe::Config config;
  EXPECT_EQ(unused_thread_variable(std::nullopt, config, false, 2), "");
  EXPECT_EQ(unused_thread_variable("2", config, false, 2), "");
  EXPECT_EQ(unused_thread_variable("8", config, false, 2),
            "OMP_NUM_THREADS=8 is not used: a rank computes with 2 threads (its part of the cores); "
            "job.threads_per_rank sets another number");
  EXPECT_NE(unused_thread_variable("8,4", config, true, 1).find("1 thread (the checkpoint that it continues from)"),
            std::string::npos);
  config.job.threads_per_rank = 3;
  EXPECT_NE(unused_thread_variable("", config, true, 3).find("3 threads (job.threads_per_rank)"), std::string::npos);
}

TEST(Threads, ALookAtTheCheckpointAsksForNoMemberFile) {
  MemFs memory;
  for (const std::uint64_t step : {10, 20}) {
    ckpt::Snapshot snapshot = ckpt::testing::make_snapshot(ckpt::testing::small_model(), {1, 2, 1}, 64, step);
    snapshot.train.environment = says(std::to_string(step));
    ASSERT_TRUE(ckpt::testing::save(memory, "/run/checkpoint", snapshot, step).ok());
  }
  recipe::LoadedConfig loaded;
  recipe::Config& config = loaded.config;
  config.job.dump_folder = "/run";
  ckpt::testing::FailingFs fs(memory);
  EXPECT_EQ(choose_threads(fs, {.loaded = loaded}, 1000), 20);
  EXPECT_EQ(fs.count(ckpt::testing::Op::kStat), 0u);
  for (const ckpt::testing::Call& call : fs.calls())
    EXPECT_EQ(call.path.find("shard-"), std::string::npos) << call.path;
  EXPECT_EQ(choose_threads(fs, {.loaded = loaded, .resume = "never"}, 1000), 1);
  EXPECT_EQ(choose_threads(fs, {.loaded = loaded, .resume = "/run/checkpoint/step-00000020"}, 1000), 20);
  // With weights to begin from, a step of the run is still what it goes on with.
  config.checkpoint.initial_load_path = "/gone";
  EXPECT_EQ(choose_threads(fs, {.loaded = loaded}, 1000), 20);
  config.job.threads_per_rank = 5;
  fs.clear_calls();
  EXPECT_EQ(choose_threads(fs, {.loaded = loaded}, 1000), 5);
  EXPECT_TRUE(fs.calls().empty());
}

TEST(Threads, AStepWithoutADataPositionIsFoundWhereTheStartMayTakeIt) {
  MemFs memory;
  ckpt::Snapshot snapshot = ckpt::testing::make_snapshot(ckpt::testing::small_model(), {1, 2, 1}, 64, 10);
  snapshot.train.environment = says("7");
  ASSERT_TRUE(ckpt::testing::save(memory, "/run/checkpoint", snapshot, 10).ok());
  const std::string step = "/run/checkpoint/step-00000010";
  ckpt::Manifest manifest = *ckpt::read_manifest(memory, step);
  // As an import leaves it: valid, without the component dataloader.
  std::erase_if(manifest.components, [](const ckpt::ComponentEntry& c) { return c.name == "dataloader"; });
  std::erase_if(manifest.files, [](const ckpt::FileEntry& file) { return file.path == "dataloader.json"; });
  ASSERT_TRUE(memory.remove_file(step + "/dataloader.json").ok());
  ASSERT_TRUE(memory.remove_file(step + "/manifest.json").ok());
  ASSERT_TRUE(ckpt::write_manifest(memory, step, manifest).ok());
  recipe::LoadedConfig loaded;
  loaded.config.job.dump_folder = "/run";
  EXPECT_EQ(choose_threads(memory, {.loaded = loaded}, 1000), 1);
  EXPECT_EQ(choose_threads(memory, {.loaded = loaded, .allow = {"training.dataset"}}, 1000), 7);
}

}  // namespace
}  // namespace titan::train::threads_test
