#include "ckpt/read/virtual_model.h"

#include <gtest/gtest.h>

#include "ckpt/base/files.h"
#include "ckpt/format/checkpoint_id.h"
#include "ckpt/read/reader.h"
#include "ckpt/read/verifier.h"
#include "tests/support/checkpoints.h"
#include "tests/support/failing_fs.h"
#include "tests/support/files.h"
#include "tests/support/mem_fs.h"

namespace titan::ckpt::virtual_model_test {
namespace {

const FileEntry* derived_member(const Manifest& manifest) {
  for (const FileEntry& file : manifest.files)
    if (file.role == FileRole::kDerived) return &file;
  return nullptr;
}

class VirtualModel : public ::testing::TestWithParam<Mesh> {
 protected:
  void SetUp() override {
    snapshot_ = testing::make_snapshot(testing::small_model(), GetParam(), 100);
    const auto published = testing::save(fs_, "/run", snapshot_);
    ASSERT_TRUE(published.ok()) << published.status().to_string();
    path_ = published->path;
    auto reader = CheckpointReader::open(fs_, path_);
    ASSERT_TRUE(reader.ok()) << reader.status().to_string();
    manifest_ = reader->manifest();
  }
  testing::MemFs fs_;
  Snapshot snapshot_;
  std::string path_;
  Manifest manifest_;
};

TEST_P(VirtualModel, ThePlanAndTheManifestGiveTheSameDatasets) {
  const auto from_manifest = virtual_tensors(manifest_);
  ASSERT_TRUE(from_manifest.ok());
  EXPECT_EQ(virtual_tensors(snapshot_), *from_manifest);
}

TEST_P(VirtualModel, IsAMemberThatVerifyChecks) {
  const FileEntry* member = derived_member(manifest_);
  ASSERT_NE(member, nullptr);
  EXPECT_EQ(member->path, kVirtualModel);
  EXPECT_EQ(&manifest_.files.back(), member) << "the other members keep the places that they had before";
  auto report = verify_checkpoint(fs_, path_);
  ASSERT_TRUE(report.ok());
  EXPECT_TRUE(report->damage.empty());
  std::string text = testing::get_text(fs_, path_ + "/" + kVirtualModel);
  text[text.size() / 2] ^= 1;
  ASSERT_TRUE(fs_.remove_file(path_ + "/" + kVirtualModel).ok());
  ASSERT_TRUE(testing::put_text(fs_, path_ + "/" + kVirtualModel, text).ok());
  report = verify_checkpoint(fs_, path_);
  ASSERT_TRUE(report.ok());
  ASSERT_EQ(report->damage.size(), 1u);
  EXPECT_EQ(report->damage[0].unit, "derived");
}

TEST_P(VirtualModel, CanBeRebuiltFromTheManifestByteForByte) {
  ASSERT_TRUE(make_dirs(fs_, "/copy/model").ok());
  const auto entry = write_virtual_model(fs_, "/copy", manifest_);
  ASSERT_TRUE(entry.ok()) << entry.status().to_string();
  EXPECT_EQ(*entry, *derived_member(manifest_));
  EXPECT_EQ(testing::get_text(fs_, "/copy/model/model.h5"), testing::get_text(fs_, path_ + "/model/model.h5"));
}

TEST_P(VirtualModel, IsNotInTheId) {
  Manifest without = manifest_;
  without.files.pop_back();
  EXPECT_EQ(checkpoint_id(without, snapshot_.lr, snapshot_.data, snapshot_.train.tokens), manifest_.id);
}

INSTANTIATE_TEST_SUITE_P(Layouts, VirtualModel,
                         ::testing::Values(Mesh{1, 1, 1}, Mesh{2, 2, 1}, Mesh{1, 5, 1}, Mesh{3, 7, 1}),
                         [](const auto& info) {
                           return std::to_string(info.param.pp) + "x" + std::to_string(info.param.dp);
                         });

TEST(VirtualModelFile, NeedsTheModelAndShardsBesideIt) {
  testing::MemFs fs;
  Manifest manifest;
  EXPECT_EQ(write_virtual_model(fs, "/x", manifest).status().code, Code::kInvalid);
  manifest.components.push_back({kModel, {}, 0, 0, 1});
  manifest.files.push_back({"elsewhere/shard-00000.h5"});
  ParameterRecord record;
  record.meta = {"w", {2}};
  record.model = StoredTensor{DType::kF32, 2, {}, {{0, 0, 1, 0, 0, Codec::kRaw}}};
  manifest.parameters.push_back(record);
  const auto refused = write_virtual_model(fs, "/x", manifest);
  EXPECT_EQ(refused.status().code, Code::kInvalid);
  EXPECT_NE(refused.status().message.find("elsewhere/shard-00000.h5"), std::string::npos);
}

TEST(VirtualModelFile, ARankThatOwnsNothingButIsTheFirstStillSyncsTheFolder) {
  testing::MemFs memory;
  testing::FailingFs fs(memory);
  const Snapshot snapshot = testing::make_snapshot({{"empty", {0, 4}}}, {1, 1, 1}, 100);
  const auto published = testing::save(fs, "/run", snapshot);
  ASSERT_TRUE(published.ok()) << published.status().to_string();
  EXPECT_EQ(published->warnings, std::vector<std::string>{});
  bool synced = false;
  for (const testing::Call& call : fs.calls())
    synced |= call.op == testing::Op::kSyncDir && call.path.ends_with("/model");
  EXPECT_TRUE(synced);
  EXPECT_TRUE(memory.stat("/run/step-00000040/model/model.h5").ok());
}

TEST(VirtualModelFile, AFailureToWriteItFailsTheSave) {
  testing::MemFs memory;
  testing::FailingFs fs(memory);
  fs.arm({testing::Op::kDatasync, kVirtualModel});
  const auto published = testing::save(fs, "/run", testing::make_snapshot(testing::small_model(), {1, 2, 1}, 100));
  ASSERT_FALSE(published.ok());
  EXPECT_TRUE(fs.fired());
  EXPECT_NE(published.status().to_string().find("model.h5"), std::string::npos);
}

}  // namespace
}  // namespace titan::ckpt::virtual_model_test
