#include "libtrain/job/start/token_scan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recipe/keys/config.h"
#include "tests/support/scratch_dir.h"

namespace titan::train::token_scan_test {
namespace {

using testing::HasSubstr;

/// 1,000 u16 ids below 100, but one of 300 at `bad`.
std::string tokens(std::size_t bad) {
  std::string bytes;
  for (std::size_t i = 0; i < 1000; ++i) {
    const std::size_t id = i == bad ? 300 : i % 100;
    bytes += static_cast<char>(id & 0xFF);
    bytes += static_cast<char>(id >> 8);
  }
  return bytes;
}

recipe::Config config_for(const std::string& path) {
  recipe::Config config;
  config.training.dataset = "tokens";
  config.training.dataset_path = path;
  config.training.seq_len = 10;
  config.training.shuffle = false;
  return config;
}

/// Scans the steps 1..last of 4 samples.
TokenScan scan(const recipe::Config& config, std::uint64_t last, bool seed_known = true,
               std::uint64_t most = kScannedTokens) {
  const auto data = Dataset::open(config, 7, 100);
  EXPECT_TRUE(data.ok()) << data.status().to_string();
  return scan_tokens(**data, config, 4, 1, last, seed_known, most);
}

TEST(TokenScan, FindsWhatTheRunWouldMeetAndAtWhichStep) {
  const ScratchDir dir;
  const recipe::Config config = config_for(dir.write("t.bin", tokens(85)));  // in sample 8: the first of step 3
  EXPECT_TRUE(scan(config, 2).refused.ok()) << "a run of two steps never reads it";
  const TokenScan found = scan(config, 3);
  EXPECT_EQ(found.refused.code, ckpt::Code::kInvalid);
  EXPECT_THAT(found.refused.message,
              HasSubstr("token 85: id 300 is outside the vocabulary of 100; step 3 would meet it"));
  EXPECT_FALSE(found.refused.hint.empty());
  EXPECT_EQ(scan(config, 2).checked, 8u);
  EXPECT_EQ(scan(config, 2).to_read, 8u);
}

TEST(TokenScan, StopsAtItsBoundAndAfterOneEpoch) {
  const ScratchDir dir;
  const recipe::Config bad = config_for(dir.write("t.bin", tokens(85)));
  EXPECT_TRUE(scan(bad, 1000, true, 30).refused.ok());
  EXPECT_EQ(scan(bad, 1000, true, 30).checked, 3u);
  const TokenScan whole = scan(config_for(dir.write("good.bin", tokens(5000))), 1'000'000'000);
  EXPECT_EQ(whole.checked, whole.to_read);
  EXPECT_EQ(whole.to_read, 198u)
      << "the first epoch of 99 samples, and one more for where a resume begins in mid-epoch";
}

TEST(TokenScan, OfSamplesThatAreDrawnAtTheStartItIsSureOnlyOfWholeEpochs) {
  const ScratchDir dir;
  recipe::Config config = config_for(dir.write("t.bin", tokens(85)));
  config.training.shuffle = true;
  const TokenScan part = scan(config, 2, false);
  EXPECT_TRUE(part.refused.ok());
  EXPECT_THAT(part.warning, HasSubstr("this run reads 8 of 99"));
  EXPECT_EQ(scan(config, 25, false).refused.code, ckpt::Code::kInvalid);
}

TEST(TokenScan, WhatMostSamplesHaveNoDrawingMisses) {
  const ScratchDir dir;
  std::string ids;
  for (std::size_t i = 0; i < 1000; ++i) ids += {static_cast<char>(i % 120), 0};
  recipe::Config config = config_for(dir.write("t.bin", ids));
  config.training.shuffle = true;
  const TokenScan found = scan(config, 20, false);
  EXPECT_EQ(found.refused.code, ckpt::Code::kInvalid) << found.warning;
  EXPECT_THAT(found.refused.message, HasSubstr("samples have such ids"));
  EXPECT_THAT(found.refused.message, HasSubstr("this run reads 80 of 99"));
  EXPECT_TRUE(scan(config, 2, false).refused.ok()) << "one of 8 samples may miss them";
}

TEST(TokenScan, LooksAtValidationDataAsWell) {
  const ScratchDir dir;
  recipe::Config config = config_for(dir.write("t.bin", tokens(5000)));
  config.validation.enable = true;
  config.validation.dataset_path = dir.write("v.bin", tokens(25));
  config.validation.freq = 5;
  const TokenScan found = scan(config, 20);
  EXPECT_THAT(found.refused.message, HasSubstr("v.bin"));
  EXPECT_THAT(found.refused.message, HasSubstr("the validation after step 5 would meet it"));
  EXPECT_THAT(scan(config, 3).refused.message, HasSubstr("after step 3")) << "the last step is validated, too";
  config.validation.steps = 1;
  config.validation.local_batch_size = 2;
  EXPECT_TRUE(scan(config, 20).refused.ok()) << "two samples are read";
  // Whichever comes first is what the run ends with.
  config = config_for(dir.write("t.bin", tokens(85)));
  config.validation.enable = true;
  config.validation.dataset_path = dir / "v.bin";
  config.validation.freq = 5;
  EXPECT_THAT(scan(config, 20).refused.message, HasSubstr("step 3 would meet it"));
  config.validation.freq = 2;
  EXPECT_THAT(scan(config, 20).refused.message, HasSubstr("after step 2 would"));
}

TEST(TokenScan, TextAndRunsWithoutStepsNeedNone) {
  const ScratchDir dir;
  recipe::Config config = config_for(dir.write("t.bin", tokens(85)));
  EXPECT_EQ(scan(config, 0).checked, 0u);
  config.training.dataset = "text";
  config.training.dataset_path = dir.write("t.txt", std::string(1000, 'a'));
  const auto data = Dataset::open(config, 7, 256);
  ASSERT_TRUE(data.ok());
  EXPECT_EQ(scan_tokens(**data, config, 4, 1, 10, true).checked, 0u);
}

}  // namespace
}  // namespace titan::train::token_scan_test
