#include "libtrain/job/start/start_message.h"

#include <gmock/gmock.h>

#include "ckpt/read/reader.h"
#include "tests/support/checkpoints.h"
#include "tests/support/failing_fs.h"
#include "tests/support/mem_fs.h"

namespace titan::train::start_message_test {
namespace {

using ckpt::testing::make_snapshot;
using ckpt::testing::MemFs;
using ckpt::testing::small_model;

constexpr const char* kDir = "/run/checkpoint";

/// What rank 0 says about a run of one step.
StartMessage word_of(MemFs& fs) {
  EXPECT_TRUE(ckpt::testing::save(fs, kDir, make_snapshot(small_model(), {1, 2, 1}, 64, 40)).ok());
  StartRequest request;
  request.checkpoint_dir = kDir;
  auto decision = decide_start(fs, request, {});
  EXPECT_TRUE(decision.ok()) << decision.status().to_string();
  auto texts = json_texts(ckpt::CheckpointReader::known(fs, decision->path, *decision->manifest));
  EXPECT_TRUE(texts.ok()) << texts.status().to_string();
  return {*decision, *texts, 7, "AuthenticAMD family 26"};
}

TEST(StartMessage, SaysToTheOthersWhatRankZeroDecidedAndRead) {
  MemFs fs;
  StartMessage word = word_of(fs);
  word.decision.origin = "0123";
  word.decision.manifest->minor = 1;
  const auto heard = decode_start(encode_start(word));
  ASSERT_TRUE(heard.ok()) << heard.status().to_string();
  EXPECT_EQ(heard->decision.mode, StartMode::kResume);
  EXPECT_EQ(heard->decision.path, word.decision.path);
  EXPECT_EQ(heard->decision.step, 40u);
  EXPECT_EQ(heard->decision.origin, "0123");
  EXPECT_TRUE(heard->decision.may_fall_back);
  EXPECT_EQ(heard->decision.manifest, word.decision.manifest);
  EXPECT_EQ(heard->json, word.json);
  EXPECT_EQ(heard->json.size(), 3u);
  EXPECT_EQ(heard->seed, 7u);
  EXPECT_EQ(heard->processor, "AuthenticAMD family 26");

  const auto fresh = decode_start(encode_start({}));
  ASSERT_TRUE(fresh.ok());
  EXPECT_EQ(fresh->decision.mode, StartMode::kFresh);
  EXPECT_EQ(fresh->decision.manifest, std::nullopt);
}

TEST(StartMessage, ARankThatHeardItReadsLeavesWithoutLookingForFiles) {
  MemFs memory;
  const StartMessage word = word_of(memory);
  auto heard = decode_start(encode_start(word));
  ASSERT_TRUE(heard.ok());
  ckpt::testing::FailingFs fs(memory);
  const auto reader = ckpt::CheckpointReader::known(fs, heard->decision.path, *heard->decision.manifest, heard->json);
  EXPECT_TRUE(reader.train_state().ok() && reader.lr_schedule().ok() && reader.data_position().ok());
  EXPECT_TRUE(fs.calls().empty());
  const auto there = ckpt::CheckpointReader::open(memory, heard->decision.path);
  std::vector<std::byte> got(61 * 40 * 4), want(got.size());
  ASSERT_TRUE(reader.read({0, ""}, {0, 39}, got).ok());
  ASSERT_TRUE(there->read({0, ""}, {0, 39}, want).ok());
  EXPECT_EQ(got, want);
  EXPECT_EQ(fs.count(ckpt::testing::Op::kStat), 0u);
}

TEST(StartMessage, DamageIsFoundByWhoReadsIt) {
  MemFs fs;
  const StartMessage word = word_of(fs);
  std::string bytes = encode_start(word);
  bytes[bytes.find("\"leaf_elements\"") + 20] ^= 1;
  EXPECT_EQ(decode_start(bytes).status().code, ckpt::Code::kFailed)
      << "the manifest holds its own digest; it is the message that is damaged, not the step";
  EXPECT_THROW((void)decode_start(encode_start(word).substr(0, 100)), std::runtime_error);
  StartMessage other = word;
  other.json["train_state"][10] ^= 1;
  const auto reader = ckpt::CheckpointReader::known(fs, word.decision.path, *word.decision.manifest, other.json);
  EXPECT_EQ(reader.train_state().status().code, ckpt::Code::kCorrupt);
  // A member that is gone or cut short, which rank 0 had not seen.
  ASSERT_TRUE(fs.resize(word.decision.path + "/model/shard-00000.h5", 5000).ok());
  const auto known = ckpt::CheckpointReader::known(fs, word.decision.path, *word.decision.manifest, word.json);
  std::vector<std::byte> out(61 * 40 * 4);
  EXPECT_EQ(known.read({0, ""}, {0, 39}, out).code, ckpt::Code::kCorrupt);
}

}  // namespace
}  // namespace titan::train::start_message_test
