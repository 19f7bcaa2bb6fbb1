#include "ckpt/save/publish.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ckpt/base/files.h"
#include "ckpt/read/reader.h"
#include "ckpt/read/snapshot.h"
#include "ckpt/read/verifier.h"
#include "tests/support/checkpoints.h"
#include "tests/support/failing_fs.h"
#include "tests/support/files.h"
#include "tests/support/meddling_fs.h"
#include "tests/support/mem_fs.h"

namespace titan::ckpt::publish_test {
namespace {

using namespace titan::ckpt::testing;  // NOLINT: the file is about these

Snapshot at_step(std::uint64_t step) { return make_snapshot({{"a", {300}}, {"b", {10, 5}}}, {1, 2, 1}, 100, step); }

bool is_whole(Fs& fs, const std::string& path) {
  const auto report = verify_checkpoint(fs, path);
  return report.ok() && report->damage.empty();
}

class FailingSave : public ::testing::TestWithParam<Repeat> {};

TEST_P(FailingSave, AnyFailedCallLeavesThePreviousStepsAndNothingHalfMade) {
  std::uint64_t k = 1, published_in_spite = 0;
  bool fired = true;
  for (; fired; ++k) {
    SCOPED_TRACE("call " + std::to_string(k));
    MemFs memory;
    ASSERT_TRUE(save(memory, "/run", at_step(10)).ok());
    FailingFs failing(memory);
    failing.arm({std::nullopt, "", k, GetParam(), ENOSPC});
    const auto published = save(failing, "/run", at_step(20));
    fired = failing.fired();
    EXPECT_FALSE(failing.synced_after_failure());
    EXPECT_TRUE(is_whole(memory, "/run/step-00000010"));
    std::size_t leftovers = 0;
    const auto entries = memory.list("/run");
    for (const DirEntry& entry : *entries)
      leftovers += entry.name.find(".tmp-") != std::string::npos || entry.name.starts_with(".trash-");
    EXPECT_LE(leftovers, 1u);
    const bool visible = memory.stat("/run/step-00000020").ok();
    if (published.ok()) {
      EXPECT_TRUE(is_whole(memory, "/run/step-00000020"));
      EXPECT_TRUE(!fired || !published->warnings.empty()) << "a failed call was swallowed";
      continue;
    }
    EXPECT_EQ(published.status().code, Code::kFailed) << published.status().to_string();
    EXPECT_THAT(published.status().message, ::testing::HasSubstr("/run")) << "the message names the path";
    // Only the last sync of the parent may fail after the rename; then the step is there, and whole.
    published_in_spite += visible;
    EXPECT_TRUE(!visible || is_whole(memory, "/run/step-00000020"));
  }
  EXPECT_GT(k, 60u) << "a save makes more calls than that";
  EXPECT_EQ(published_in_spite, 1u);
}

INSTANTIATE_TEST_SUITE_P(Publish, FailingSave, ::testing::Values(Repeat::kOnce, Repeat::kSticky),
                         [](const auto& info) { return info.param == Repeat::kOnce ? "Once" : "Sticky"; });

TEST(Publish, AFullDiskIsFoundBeforeAnythingIsWritten) {
  MemFs small(1 << 16);
  const auto published = save(small, "/run", at_step(10));
  EXPECT_EQ(published.status().code, Code::kFailed);
  EXPECT_THAT(published.status().message, ::testing::HasSubstr("not enough space"));
  EXPECT_FALSE(published.status().hint.empty());
}

TEST(Publish, AFullDiskNamesTheDamagedStepsThatHoldSpace) {
  MemFs small(1 << 16);
  ASSERT_TRUE(testing::put_text(small, "/run/.damaged-step-00000005-ab/x", "1").ok());
  EXPECT_THAT(save(small, "/run", at_step(10)).status().hint,
              ::testing::AllOf(::testing::HasSubstr(".damaged-step-00000005-ab"),
                               ::testing::HasSubstr("prune /run --damaged")));
}

// The order of calls is the protocol; crash exploration will replay it.
TEST(Publish, SyncsEveryFileBeforeTheManifestAndEveryFolderBeforeTheRename) {
  MemFs memory;
  FailingFs recording(memory);
  ASSERT_TRUE(save(recording, "/run", at_step(10)).ok());
  const std::vector<Call> calls = recording.calls();
  const auto position = [&](Op op, const std::string& suffix) {
    for (std::size_t i = 0; i < calls.size(); ++i) {
      if (calls[i].op == op && calls[i].path.ends_with(suffix)) return i;
    }
    ADD_FAILURE() << op_name(op) << " of ..." << suffix << " never happened";
    return calls.size();
  };
  const std::string tmp = "/run/step-00000010.tmp-0123456789ab";
  const std::size_t rename = position(Op::kRenameNoReplace, tmp), manifest = position(Op::kCreate, "manifest.json.tmp");
  for (const char* file : {"model/shard-00000.h5", "model/shard-00001.h5", "optimizer/shard-00000.h5",
                           "optimizer/shard-00001.h5", "lr_scheduler.json", "dataloader.json", "train_state.json"}) {
    EXPECT_LT(position(Op::kDatasync, file), position(Op::kClose, file)) << file;
    EXPECT_LT(position(Op::kClose, file), manifest) << file;
  }
  EXPECT_LT(position(Op::kSyncDir, tmp + "/model"), manifest);
  EXPECT_LT(position(Op::kSyncDir, tmp + "/optimizer"), manifest);
  EXPECT_LT(position(Op::kDatasync, "manifest.json.tmp"), position(Op::kRename, "manifest.json.tmp"));
  EXPECT_LT(position(Op::kRename, "manifest.json.tmp"), position(Op::kSyncDir, tmp));
  EXPECT_LT(position(Op::kSyncDir, tmp), rename);
  const auto parent_sync =
      std::find(calls.begin() + static_cast<std::ptrdiff_t>(rename), calls.end(), Call{Op::kSyncDir, "/run"});
  EXPECT_LT(parent_sync - calls.begin(), static_cast<std::ptrdiff_t>(position(Op::kCreate, "latest.tmp")));
}

// Whoever published the equal step may have died before its sync: its name is durable before our copy goes.
TEST(Publish, AnEqualStepThatIsThereIsSyncedBeforeTheNewOneIsDropped) {
  MemFs memory;
  ASSERT_TRUE(save(memory, "/run", at_step(10)).ok());
  FailingFs recording(memory);
  const auto dropped = save(recording, "/run", at_step(10));
  ASSERT_TRUE(dropped.ok() && dropped->already_there);
  const std::vector<Call> calls = recording.calls();
  const std::string tmp = "/run/step-00000010.tmp-";
  const auto of_tmp = [&](Op op) {
    return [&tmp, op](const Call& call) { return call.op == op && call.path.starts_with(tmp); };
  };
  const auto whole_tmp = std::find_if(calls.begin(), calls.end(), of_tmp(Op::kRename));
  ASSERT_NE(whole_tmp, calls.end());
  const auto removed = std::find_if(whole_tmp, calls.end(), of_tmp(Op::kRemoveFile));
  ASSERT_NE(removed, calls.end());
  EXPECT_NE(std::find(whole_tmp, removed, Call{Op::kSyncDir, "/run"}), removed);
}

TEST(Publish, WritingTwiceGivesTheSameBytes) {
  MemFs first, second;
  ASSERT_TRUE(save(first, "/run", at_step(10)).ok());
  ASSERT_TRUE(save(second, "/run", at_step(10)).ok());
  const auto files = tree(first, "/run");
  EXPECT_EQ(files, tree(second, "/run"));
  for (const std::string& file : files) {
    if (file.ends_with('/')) continue;
    const bool equal = get_text(first, "/run/" + file) == get_text(second, "/run/" + file);
    EXPECT_TRUE(equal) << file;
  }
}

TEST(Publish, ShardsDoNotKnowTheirStep) {
  MemFs fs;
  ASSERT_TRUE(save(fs, "/run", at_step(10)).ok());
  ASSERT_TRUE(save(fs, "/run", at_step(20)).ok());
  for (const char* shard : {"model/shard-00000.h5", "optimizer/shard-00001.h5"}) {
    const bool equal = get_text(fs, std::string("/run/step-00000010/") + shard) ==
                       get_text(fs, std::string("/run/step-00000020/") + shard);
    EXPECT_TRUE(equal) << shard;
  }
}

TEST(Publish, ACallThatWasDoneAndReportedAsFailedCountsAsDone) {
  const Fault lost[] = {{.op = Op::kMakeDir, .path_part = ".tmp-", .error = EEXIST, .done = true},
                        {.op = Op::kMakeDir, .path_part = "/optimizer", .error = EEXIST, .done = true},
                        {.op = Op::kRename, .path_part = "manifest.json.tmp", .error = ENOENT, .done = true},
                        {.op = Op::kRenameNoReplace, .path_part = ".tmp-", .error = ENOENT, .done = true}};
  for (const Fault& fault : lost) {
    MemFs memory;
    FailingFs failing(memory);
    failing.arm(fault);
    const auto published = save(failing, "/run", at_step(10));
    EXPECT_TRUE(failing.fired());
    ASSERT_TRUE(published.ok()) << fault.path_part << ": " << published.status().to_string();
    EXPECT_THAT(published->warnings, ::testing::IsEmpty());
    const auto calls = failing.calls();
    EXPECT_EQ(std::ranges::count(calls, Call{Op::kSyncDir, "/run"}) > 0, true) << "made durable all the same";
    const auto report = verify_checkpoint(memory, published->path);
    ASSERT_TRUE(report.ok());
    EXPECT_THAT(report->damage, ::testing::IsEmpty());
  }
}

// The temporary is gone, and a copy of it lies there: nobody has seen these bytes.
TEST(Publish, ARenameThatFailedIsNotDoneByAnotherFolderOfThatName) {
  MemFs memory;
  MeddlingFs fs(memory);
  fs.before_calls([&](const char* call, const std::string& path) {
    if (std::string(call) != "rename" || path != "/run/step-00000010") return;
    ASSERT_TRUE(copy_tree(memory, "/run/step-00000010.tmp-0123456789ab", memory, path));
    ASSERT_TRUE(remove_tree(memory, "/run/step-00000010.tmp-0123456789ab").ok());
  });
  EXPECT_FALSE(save(fs, "/run", at_step(10)).ok());
}

TEST(Publish, AFolderOfAnotherSaveIsNotTakenForOnesOwn) {
  MemFs fs;
  ASSERT_TRUE(put_text(fs, "/run/step-00000010.tmp-0123456789ab/model/shard-00000.h5", "another's").ok());
  EXPECT_EQ(save(fs, "/run", at_step(10)).status().code, Code::kFailed);
  EXPECT_EQ(get_text(fs, "/run/step-00000010.tmp-0123456789ab/model/shard-00000.h5"), "another's");
}

TEST(Publish, AManifestThatReadersWouldRefuseIsNotWritten) {
  MemFs fs;
  const auto published = save(fs, "/run", at_step(10));
  ASSERT_TRUE(published.ok());
  const auto reader = CheckpointReader::open(fs, published->path);
  ASSERT_TRUE(reader.ok());
  const std::uint64_t size = get_text(fs, published->path + "/manifest.json").size();
  ASSERT_TRUE(fs.rename(published->path + "/manifest.json", published->path + "/before").ok());
  const Status refused = write_manifest(fs, published->path, reader->manifest(), size - 1);
  EXPECT_EQ(refused.code, Code::kFailed);
  EXPECT_THAT(refused.message, ::testing::HasSubstr(std::to_string(size) + " bytes"));
  EXPECT_FALSE(fs.stat(published->path + "/manifest.json").ok());
  EXPECT_FALSE(fs.stat(published->path + "/manifest.json.tmp").ok());
  EXPECT_TRUE(write_manifest(fs, published->path, reader->manifest(), size).ok());
}

TEST(Publish, LatestIsTheNewestThatIsWhole) {
  MemFs fs;
  for (const std::uint64_t step : {10, 30, 20}) ASSERT_TRUE(save(fs, "/run", at_step(step)).ok());
  EXPECT_EQ(get_text(fs, "/run/latest"), "step-00000030\n") << "a copy of step 20 came late";
  ASSERT_TRUE(fs.remove_file("/run/step-00000030/dataloader.json").ok());
  ASSERT_TRUE(save(fs, "/run", at_step(25)).ok());
  EXPECT_EQ(get_text(fs, "/run/latest"), "step-00000025\n") << "step 30 is damaged";
}

TEST(Publish, AFailedLatestIsAWarning) {
  MemFs memory;
  FailingFs failing(memory);
  failing.arm({Op::kRename, "latest", 1, Repeat::kOnce, EIO});
  const auto published = save(failing, "/run", at_step(10));
  ASSERT_TRUE(published.ok()) << published.status().to_string();
  EXPECT_EQ(published->warnings.size(), 1u);
  EXPECT_FALSE(memory.stat("/run/latest.tmp").ok());
}

}  // namespace
}  // namespace titan::ckpt::publish_test
