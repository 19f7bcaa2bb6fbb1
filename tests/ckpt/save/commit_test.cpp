#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "ckpt/base/files.h"
#include "ckpt/read/reader.h"
#include "ckpt/read/snapshot.h"
#include "ckpt/read/step_proof.h"
#include "ckpt/run/run_check.h"
#include "ckpt/save/commit.h"
#include "ckpt/save/receipt.h"
#include "ckpt/save/writer.h"
#include "tests/support/checkpoints.h"
#include "tests/support/failing_fs.h"
#include "tests/support/files.h"
#include "tests/support/meddling_fs.h"
#include "tests/support/mem_fs.h"

namespace titan::ckpt::commit_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using titan::ckpt::testing::MemFs;
using titan::ckpt::testing::PatternSource;

class Commit : public ::testing::Test {
 protected:
  // Runs the ranks of a save and returns their receipts.
  std::vector<RankReceipt> write(const std::string& save_id) {
    EXPECT_TRUE(make_dirs(fs_, "/run").ok());
    auto tmp = begin_save(fs_, "/run", snapshot_, save_id);
    EXPECT_TRUE(tmp.ok()) << tmp.status().to_string();
    tmp_ = *tmp;
    PatternSource source(snapshot_);
    std::vector<RankReceipt> receipts;
    for (std::uint32_t rank = 0; rank < snapshot_.mesh.world(); ++rank)
      receipts.push_back(write_rank(fs_, tmp_, snapshot_, rank, source).value());
    return receipts;
  }
  std::vector<std::string> names() {
    std::vector<std::string> names;
    const auto entries = fs_.list("/run");
    for (const DirEntry& entry : *entries) names.push_back(entry.name);
    return names;
  }
  void expect_refused(const std::vector<RankReceipt>& receipts, const std::string& message) {
    const auto published = commit_save(fs_, "/run", tmp_, snapshot_, receipts);
    ASSERT_FALSE(published.ok());
    EXPECT_EQ(published.status().code, Code::kFailed);
    EXPECT_THAT(published.status().message, HasSubstr(message));
    EXPECT_FALSE(fs_.stat("/run/step-00000040").ok());
  }

  MemFs fs_;
  Snapshot snapshot_ = testing::make_snapshot(testing::small_model(), {2, 2, 1}, 100);
  std::string tmp_;
};

TEST_F(Commit, NamesALeafThatNoRankWrote) {
  auto receipts = write("aaaaaaaaaaaa");
  receipts[1].items.pop_back();
  expect_refused(receipts, "was written by no rank");
  auto again = write("bbbbbbbbbbbb");
  again.erase(again.begin());
  expect_refused(again, "leaf 0 of tensor 'tok_embeddings.weight' was written by no rank");
}

TEST_F(Commit, NamesALeafThatTwoRanksWrote) {
  auto receipts = write("aaaaaaaaaaaa");
  receipts.push_back(receipts[0]);
  expect_refused(receipts, "leaf 0 of tensor 'tok_embeddings.weight' was written by two ranks");
}

TEST_F(Commit, RefusesReceiptsThatDoNotFitTheModel) {
  auto receipts = write("aaaaaaaaaaaa");
  auto changed = receipts;
  changed[0].items[0].ref.index = 1000;
  expect_refused(changed, "not there");
  changed = receipts;
  changed[0].items[0].piece.file = 9;
  expect_refused(changed, "not there");
  changed = receipts;
  changed[0].items[0].leaves.pop_back();
  expect_refused(changed, "digests");
  changed = receipts;
  changed[0].items[0].piece.leaf_count = ~std::uint64_t{0};
  expect_refused(changed, "leaves");
}

TEST_F(Commit, RefusesWhenAMemberIsNotThereAnyMore) {
  const auto receipts = write("aaaaaaaaaaaa");
  ASSERT_TRUE(fs_.remove_file(tmp_ + "/model/shard-00000.h5").ok());
  const auto published = commit_save(fs_, "/run", tmp_, snapshot_, receipts);
  EXPECT_FALSE(published.ok());
  EXPECT_FALSE(fs_.stat("/run/step-00000040").ok());
}

TEST_F(Commit, RefusesWhenAMemberHasAnotherSizeThanItsReceiptSays) {
  for (const std::uint64_t size : {std::uint64_t{0}, std::uint64_t{1} << 20}) {
    const auto receipts = write(std::string(12, 'a') + std::to_string(size));
    ASSERT_TRUE(fs_.resize(tmp_ + "/model/shard-00000.h5", size).ok());
    expect_refused(receipts, "model/shard-00000.h5 has " + std::to_string(size) + " bytes, expected ");
    EXPECT_FALSE(fs_.stat(tmp_ + "/manifest.json").ok()) << "no manifest over members that are not what it says";
  }
}

// A resume from what JSON cannot hold would be another run.
TEST_F(Commit, RefusesWhatWouldNotReadBackAsItself) {
  const auto receipts = write("aaaaaaaaaaaa");
  const Snapshot good = snapshot_;
  snapshot_.lr.phases.front().start = std::numeric_limits<double>::quiet_NaN();
  expect_refused(receipts, "lr_scheduler.json would");
  snapshot_ = good;
  snapshot_.train.wall_time_s = std::numeric_limits<double>::infinity();
  expect_refused(receipts, "train_state.json would");
  snapshot_ = good;
  snapshot_.data.files.push_back({"\xff.txt", 1, {}});
  expect_refused(receipts, "dataloader.json would");
  EXPECT_THAT(names(), ElementsAre("step-00000040.tmp-aaaaaaaaaaaa"));
}

TEST_F(Commit, DropsTheNewOneWhenAnEqualValidStepExists) {
  const Digest id = testing::save(fs_, "/run", snapshot_)->id;
  const std::string manifest = testing::get_text(fs_, "/run/step-00000040/manifest.json");
  snapshot_.created = "2027-01-01T00:00:00Z";
  const auto again = testing::save(fs_, "/run", snapshot_);
  ASSERT_TRUE(again.ok()) << again.status().to_string();
  EXPECT_TRUE(again->already_there);
  EXPECT_EQ(again->id, id);
  EXPECT_THAT(names(), ElementsAre("latest", "step-00000040"));
  EXPECT_EQ(testing::get_text(fs_, "/run/step-00000040/manifest.json"), manifest);
}

TEST_F(Commit, MovesAnotherCheckpointAsideAndSaysWhichIsWhich) {
  const Digest there = testing::save(fs_, "/run", snapshot_)->id;
  ASSERT_TRUE(testing::put_text(fs_, "/run/step-00000040/.keep", "").ok());
  PatternSource source(snapshot_, 1);
  const auto other = testing::save(fs_, "/run", snapshot_, source, "eeeeeeeeeeee");
  ASSERT_TRUE(other.ok()) << other.status().to_string();
  EXPECT_FALSE(other->already_there);
  EXPECT_THAT(other->damaged_aside, IsEmpty()) << "what nobody found damaged no prune may delete";
  EXPECT_THAT(other->warnings, ElementsAre(AllOf(HasSubstr("expected id " + other->id.hex()),
                                                 HasSubstr("found " + there.hex()), HasSubstr(".foreign-step"))));
  EXPECT_THAT(names(), ElementsAre(".foreign-step-00000040-eeeeeeeeeeee", "latest", "step-00000040"));
  EXPECT_EQ(prove_step(fs_, "/run/.foreign-step-00000040-eeeeeeeeeeee").value(), there);
  EXPECT_TRUE(fs_.stat("/run/.foreign-step-00000040-eeeeeeeeeeee/.keep").ok());
  EXPECT_EQ(prove_step(fs_, "/run/step-00000040").value(), other->id);
}

// Its name, manifest and id are equal, and one bit of a weight is not.
TEST_F(Commit, ARottenCopyOfTheStepIsNotTakenForIt) {
  for (const char* member : {"model/shard-00001.h5", "optimizer/shard-00003.h5", "model/model.h5"}) {
    const auto first = testing::save(fs_, "/run", snapshot_);
    ASSERT_TRUE(first.ok());
    std::byte byte{};
    const std::string path = first->path + "/" + member;
    ASSERT_TRUE(fs_.open_read(path).value()->pread(4100, {&byte, 1}).ok());
    byte ^= std::byte{1};
    ASSERT_TRUE(fs_.overwrite(path, 4100, {&byte, 1}).ok());
    ASSERT_TRUE(look_at_step(fs_, first->path).ok()) << "a start takes it";
    PatternSource source(snapshot_);
    const auto again = testing::save(fs_, "/run", snapshot_, source, "ffffffffffff");
    ASSERT_TRUE(again.ok()) << again.status().to_string();
    EXPECT_FALSE(again->already_there) << member;
    EXPECT_EQ(again->damaged_aside, "/run/.damaged-step-00000040-ffffffffffff");
    EXPECT_THAT(again->warnings, ElementsAre(HasSubstr(member)));
    EXPECT_EQ(prove_step(fs_, again->path).value(), first->id);
    ASSERT_TRUE(remove_tree(fs_, "/run").ok());
  }
}

// One bit of a member that rank 0 writes in one piece goes wrong between its digest and the disk.
TEST_F(Commit, MembersAndTheManifestAreReadBackBeforeTheStepIsThere) {
  snapshot_.model_files = std::make_shared<const std::vector<ModelFile>>(
      std::vector<ModelFile>{{"hf/tokenizer.json", std::vector<std::byte>(9), digest_of(std::vector<std::byte>(9))}});
  struct Case {
    const char* member;
    bool derived;
  };
  for (const Case& c :
       {Case{"train_state.json", false}, Case{"dataloader.json", false}, Case{"lr_scheduler.json", false},
        Case{"manifest.json", false}, Case{"model/model.h5", true}, Case{"hf/tokenizer.json", true}}) {
    for (const ReadBack how : {ReadBack::kOff, ReadBack::kSampled, ReadBack::kAll}) {
      snapshot_.read_back = how;
      MemFs disk;
      testing::MeddlingFs fs(disk, {c.member, 1, 77});
      const auto published = testing::save(fs, "/run", snapshot_);
      EXPECT_TRUE(fs.flipped()) << c.member;
      const bool read = how == ReadBack::kAll || (how == ReadBack::kSampled && !c.derived);
      EXPECT_EQ(published.ok(), !read) << c.member;
      EXPECT_EQ(disk.stat("/run/step-00000040").ok(), !read) << c.member;
      if (!read) continue;
      EXPECT_THAT(published.status().message,
                  AllOf(HasSubstr(c.member), HasSubstr("reads back from the store with other bytes")));
      EXPECT_TRUE(published.status().store_refused());
    }
  }
}

TEST_F(Commit, SaysWhetherEveryByteWasReadFromTheStore) {
  for (const ReadBack how : {ReadBack::kOff, ReadBack::kSampled, ReadBack::kAll}) {
    snapshot_.read_back = how;
    MemFs fs;
    EXPECT_EQ(testing::save(fs, "/run", snapshot_)->read_whole, how == ReadBack::kAll);
    EXPECT_TRUE(testing::save(fs, "/run", snapshot_)->read_whole) << "the step that is there was read";
  }
}

TEST_F(Commit, MovesAnInvalidStepAsideFirst) {
  ASSERT_TRUE(testing::save(fs_, "/run", snapshot_).ok());
  ASSERT_TRUE(fs_.resize("/run/step-00000040/model/shard-00000.h5", 10).ok());
  PatternSource source(snapshot_);
  const auto again = testing::save(fs_, "/run", snapshot_, source, "cccccccccccc");
  ASSERT_TRUE(again.ok()) << again.status().to_string();
  EXPECT_FALSE(again->already_there);
  EXPECT_EQ(again->damaged_aside, "/run/.damaged-step-00000040-cccccccccccc");
  EXPECT_THAT(names(), ElementsAre(".damaged-step-00000040-cccccccccccc", "latest", "step-00000040"));
  EXPECT_TRUE(CheckpointReader::open(fs_, "/run/step-00000040").ok());
}

TEST_F(Commit, APinMovesAlongWithADamagedStep) {
  ASSERT_TRUE(testing::save(fs_, "/run", snapshot_).ok());
  ASSERT_TRUE(testing::put_text(fs_, "/run/step-00000040/.keep", "").ok());
  ASSERT_TRUE(fs_.resize("/run/step-00000040/model/shard-00000.h5", 10).ok());
  PatternSource source(snapshot_);
  ASSERT_TRUE(testing::save(fs_, "/run", snapshot_, source, "cccccccccccc").ok());
  EXPECT_TRUE(fs_.stat("/run/.damaged-step-00000040-cccccccccccc/.keep").ok());
}

// A flipped byte of a leaf leaves manifest and sizes as they were: only whoever loaded the step knows.
TEST_F(Commit, MovesAStepAsideThatLoadingFoundDamaged) {
  ASSERT_TRUE(testing::save(fs_, "/run", snapshot_).ok());
  ASSERT_TRUE(testing::put_text(fs_, "/run/step-00000040/.keep", "").ok());
  const auto receipts = write("dddddddddddd");
  const auto published = commit_save(fs_, "/run", tmp_, snapshot_, receipts, {.known_damaged = true});
  ASSERT_TRUE(published.ok()) << published.status().to_string();
  EXPECT_FALSE(published->already_there);
  EXPECT_THAT(names(), ElementsAre(".damaged-step-00000040-dddddddddddd", "latest", "step-00000040"));
  EXPECT_TRUE(fs_.stat("/run/.damaged-step-00000040-dddddddddddd/.keep").ok());
}

// Its id is equal, and no start takes it: dropping the new one would lose the step.
TEST_F(Commit, AStepWithADamagedJsonMemberIsNoEqualOne) {
  for (const char* member : {"lr_scheduler.json", "dataloader.json", "train_state.json"}) {
    ASSERT_TRUE(testing::save(fs_, "/run", snapshot_).ok());
    const std::string path = std::string("/run/step-00000040/") + member;
    std::string text = testing::get_text(fs_, path);
    text[text.size() / 2] ^= 1;
    ASSERT_TRUE(fs_.remove_file(path).ok());
    ASSERT_TRUE(testing::put_text(fs_, path, text).ok());
    PatternSource source(snapshot_);
    const auto again = testing::save(fs_, "/run", snapshot_, source, "t2");
    ASSERT_TRUE(again.ok()) << again.status().to_string();
    EXPECT_FALSE(again->already_there) << member;
    EXPECT_EQ(again->damaged_aside, "/run/.damaged-step-00000040-t2");
    EXPECT_TRUE(look_at_step(fs_, "/run/step-00000040").ok());
    ASSERT_TRUE(remove_tree(fs_, "/run").ok());
    ASSERT_TRUE(fs_.make_dir("/run").ok());
  }
}

TEST_F(Commit, PublishesNothingOnceTheRunIsSomebodyElses) {
  const auto receipts = write("aaaaaaaaaaaa");
  const auto published =
      commit_save(fs_, "/run", tmp_, snapshot_, receipts, {.still_ours = [] { return locked("taken over"); }});
  EXPECT_EQ(published.status().code, Code::kLocked);
  EXPECT_FALSE(fs_.stat("/run/step-00000040").ok());
}

// Reading the step that is in the way takes long.
TEST_F(Commit, MovesNothingAsideOnceTheRunIsSomebodyElses) {
  ASSERT_TRUE(testing::save(fs_, "/run", snapshot_).ok());
  const auto receipts = write("eeeeeeeeeeee");
  const auto published = commit_save(fs_, "/run", tmp_, snapshot_, receipts,
                                     {.known_damaged = true, .still_ours = [] { return locked("taken over"); }});
  EXPECT_EQ(published.status().code, Code::kLocked);
  EXPECT_TRUE(fs_.stat("/run/step-00000040").ok());
}

TEST_F(Commit, AFailedReadIsNoProofOfDamage) {
  ASSERT_TRUE(testing::save(fs_, "/run", snapshot_).ok());
  const auto receipts = write("bbbbbbbbbbbb");
  testing::FailingFs failing(fs_);
  failing.arm(
      {.op = testing::Op::kPread, .path_part = "step-00000040/manifest.json", .status = corrupt("read once, wrongly")});
  const auto published = commit_save(failing, "/run", tmp_, snapshot_, receipts);
  ASSERT_TRUE(published.ok()) << published.status().to_string();
  EXPECT_TRUE(published->already_there);
}

TEST_F(Commit, NeverMovesAStepOfANewerFormatAside) {
  ASSERT_TRUE(testing::save(fs_, "/run", snapshot_).ok());
  const std::string text = testing::get_text(fs_, "/run/step-00000040/manifest.json");
  const std::byte seven{'7'};
  ASSERT_TRUE(fs_.overwrite("/run/step-00000040/manifest.json", text.find("\"major\":1") + 8, {&seven, 1}).ok());
  EXPECT_EQ(testing::save(fs_, "/run", snapshot_).status().code, Code::kIncompatible);
  EXPECT_THAT(names(), ElementsAre("latest", "step-00000040"));
}

TEST_F(Commit, WarnsOfALimitOfTheFormatThatIsNear) {
  EXPECT_THAT(testing::save(fs_, "/run", snapshot_)->warnings, ElementsAre());
  snapshot_.train.step = 41;
  snapshot_.train.origin = std::string(9 << 20, 'x');
  const auto published = testing::save(fs_, "/run", snapshot_);
  ASSERT_TRUE(published.ok()) << published.status().to_string();
  EXPECT_THAT(published->warnings, ElementsAre(HasSubstr("train_state.json takes 9.0 MiB of at most 16.0 MiB")));
}

TEST_F(Commit, RecordsWhatTheSnapshotSays) {
  snapshot_.slots.clear();
  const auto published = testing::save(fs_, "/run", snapshot_);
  ASSERT_TRUE(published.ok()) << published.status().to_string();
  auto reader = CheckpointReader::open(fs_, published->path);
  const Manifest& manifest = reader->manifest();
  EXPECT_EQ(manifest.component(kOptimizer), nullptr);
  EXPECT_EQ(manifest.mesh, snapshot_.mesh);
  EXPECT_EQ(manifest.stage_cuts, snapshot_.stage_cuts);
  EXPECT_EQ(manifest.writer, snapshot_.writer);
  EXPECT_EQ(manifest.created, snapshot_.created);
  for (std::size_t i = 0; i < snapshot_.parameters.size(); ++i)
    EXPECT_EQ(manifest.parameters[i].meta, snapshot_.parameters[i]);
}

}  // namespace
}  // namespace titan::ckpt::commit_test
