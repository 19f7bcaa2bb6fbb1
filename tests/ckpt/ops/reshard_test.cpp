#include "ckpt/ops/reshard.h"

#include <gtest/gtest.h>

#include <random>

#include "ckpt/base/files.h"
#include "ckpt/format/manifest_codec.h"
#include "ckpt/read/reader.h"
#include "ckpt/read/verifier.h"
#include "ckpt/run/run_check.h"
#include "ckpt/run/run_folder.h"
#include "tests/support/failing_fs.h"
#include "tests/support/files.h"
#include "tests/support/make_checkpoint.h"
#include "tests/support/mem_fs.h"

namespace titan::ckpt::reshard_test {
namespace {

using testing::FailingFs;
using testing::Fault;
using testing::MemFs;
using testing::Op;

constexpr const char* kSource = "/run/checkpoint/step-00000010";

ReshardOptions options(std::uint32_t dp, std::uint32_t pp, const std::string& dst = "/out") {
  ReshardOptions options;
  options.source = kSource;
  options.dst = dst;
  options.target = {dp, pp};
  options.writer = "titan-test";
  options.created = "2026-01-02T03:04:05Z";
  return options;
}

void make_source(Fs& fs) { ASSERT_TRUE(testing::make_checkpoint(fs, "/run/checkpoint", {.dp = 2, .pp = 2}).ok()); }

/// Every file below `path` with its content.
std::vector<std::string> contents(Fs& fs, const std::string& path) {
  std::vector<std::string> all;
  for (const std::string& name : testing::tree(fs, path))
    all.push_back(name + "\n" + (name.ends_with("/") ? "" : testing::get_text(fs, path + "/" + name)));
  return all;
}

void expect_whole(Fs& fs, const std::string& path, const Mesh& mesh) {
  const auto report = verify_checkpoint(fs, path);
  ASSERT_TRUE(report.ok()) << report.status().to_string();
  EXPECT_TRUE(report->damage.empty());
  const auto reader = CheckpointReader::open(fs, path);
  ASSERT_TRUE(reader.ok());
  EXPECT_EQ(reader->manifest().mesh, mesh);
  EXPECT_EQ(reader->manifest().id, CheckpointReader::open(fs, kSource)->manifest().id);
}

TEST(Reshard, NamesNothingThatLiesBehindALinkAndChecksWhatItCarries) {
  MemFs fs;
  make_source(fs);
  // A tokenizer that came with a converted model, and its manifest entry.
  const std::string text = "tokenizer", source = kSource;
  auto reader = CheckpointReader::open(fs, kSource);
  Manifest manifest = reader->manifest();
  FileEntry entry;
  entry.path = "hf/tokenizer.json";
  entry.role = FileRole::kDerived;
  entry.bytes = text.size();
  entry.whole = digest_of(std::string_view(text));
  manifest.files.push_back(entry);
  ASSERT_TRUE(testing::put_text(fs, source + "/hf/tokenizer.json", text).ok());
  ASSERT_TRUE(fs.remove_file(source + "/manifest.json").ok());
  ASSERT_TRUE(testing::put_text(fs, source + "/manifest.json", encode_manifest(manifest)).ok());
  ASSERT_TRUE(reshard_checkpoint(fs, options(4, 1)).ok());
  EXPECT_EQ(testing::get_text(fs, "/out/hf/tokenizer.json"), text);

  ASSERT_TRUE(fs.remove_file(source + "/hf/tokenizer.json").ok());
  ASSERT_TRUE(testing::put_text(fs, source + "/hf/tokenizer.json", "TOKENIZER").ok());
  const Status damaged = reshard_checkpoint(fs, options(4, 1, "/out2")).status();
  EXPECT_EQ(damaged.code, Code::kCorrupt) << damaged.to_string();
  EXPECT_FALSE(fs.stat("/out2").ok());

  ASSERT_TRUE(fs.remove_file(source + "/hf/tokenizer.json").ok());
  ASSERT_TRUE(fs.remove_dir(source + "/hf").ok());
  ASSERT_TRUE(testing::put_text(fs, "/outside/tokenizer.json", text).ok());
  ASSERT_TRUE(fs.symlink("/outside", source + "/hf").ok());
  const Status linked = reshard_checkpoint(fs, options(4, 1, "/out2")).status();
  EXPECT_EQ(linked.code, Code::kCorrupt) << linked.to_string();
  EXPECT_NE(linked.message.find("symbolic link"), std::string::npos);
  EXPECT_FALSE(fs.stat("/out2").ok());
}

TEST(Reshard, MembersAreReadOnlyAndCanBeDeleted) {
  MemFs fs;
  make_source(fs);
  ASSERT_TRUE(reshard_checkpoint(fs, options(4, 1)).ok());
  for (const std::string& root : {std::string(kSource), std::string("/out")}) {
    for (const std::string& name : testing::tree(fs, root))
      EXPECT_EQ(fs.stat(root + "/" + name)->writable, name.ends_with('/')) << root << "/" << name;
  }
  EXPECT_TRUE(remove_tree(fs, "/out").ok());
}

TEST(Reshard, MakesTheSameCheckpointOnAnotherMesh) {
  MemFs fs;
  make_source(fs);
  const auto before = contents(fs, "/run");
  const auto report = reshard_checkpoint(fs, options(4, 1));
  ASSERT_TRUE(report.ok()) << report.status().to_string();
  EXPECT_EQ(contents(fs, "/run"), before);
  expect_whole(fs, "/out", {1, 4, 1});
  EXPECT_EQ(report->moved.leaves, report->leaves);
  EXPECT_EQ(report->moved.raw_bytes, report->bytes);
  EXPECT_EQ(report->before.stages, "Et|tL");
  EXPECT_EQ(report->after.stages, "Et*2L");
  EXPECT_TRUE(report->hidden_from_resume);
  const Manifest made = CheckpointReader::open(fs, "/out")->manifest();
  const Manifest source = CheckpointReader::open(fs, kSource)->manifest();
  ASSERT_TRUE(made.derived_from.has_value());
  EXPECT_EQ(*made.derived_from, (DerivedFrom{source.id, 10, kSource}));
  EXPECT_EQ(made.writer, "titan-test");
  EXPECT_EQ(made.config, source.config);
  for (const char* member : {"lr_scheduler.json", "dataloader.json", "train_state.json"})
    EXPECT_EQ(testing::get_text(fs, std::string("/out/") + member),
              testing::get_text(fs, std::string(kSource) + "/" + member));
}

TEST(Reshard, IsTakenByAResumeWhereItIsNamedAsAStep) {
  MemFs fs;
  make_source(fs);
  ASSERT_TRUE(make_dirs(fs, "/new/checkpoint").ok());
  const auto report = reshard_checkpoint(fs, options(1, 1, "/new/checkpoint/step-00000010"));
  ASSERT_TRUE(report.ok()) << report.status().to_string();
  EXPECT_FALSE(report->hidden_from_resume);
  const auto scan = scan_run(fs, "/new/checkpoint");
  ASSERT_TRUE(scan.ok());
  const ResumeChoice choice = select_resume(*scan);
  ASSERT_NE(choice.entry, nullptr);
  EXPECT_EQ(choice.entry->path, "/new/checkpoint/step-00000010");
}

TEST(Reshard, ADryRunWritesNothing) {
  MemFs memory;
  make_source(memory);
  FailingFs fs(memory);
  ReshardOptions dry = options(4, 1);
  dry.dry_run = true;
  const auto report = reshard_checkpoint(fs, dry);
  ASSERT_TRUE(report.ok()) << report.status().to_string();
  for (const Op op :
       {Op::kCreate, Op::kPwrite, Op::kMakeDir, Op::kRename, Op::kRenameNoReplace, Op::kRemoveFile, Op::kLock})
    EXPECT_EQ(fs.count(op), 0u);
  const auto done = reshard_checkpoint(fs, options(4, 1));
  ASSERT_TRUE(done.ok());
  EXPECT_EQ(report->files.size(), done->files.size());
  EXPECT_EQ(report->bytes, done->bytes);
  EXPECT_EQ(report->ranges, done->ranges);
  EXPECT_EQ(report->memory, done->memory);
  dry.dst = "/out";  // it is there now
  EXPECT_EQ(reshard_checkpoint(fs, dry).status().code, Code::kInvalid);
}

TEST(Reshard, RefusesADestinationThatCannotBe) {
  MemFs fs;
  make_source(fs);
  ASSERT_TRUE(testing::put_text(fs, "/thesis/notes.txt", "years of work").ok());
  ASSERT_TRUE(reshard_checkpoint(fs, options(1, 1)).ok());
  for (const char* dst : {"/out", kSource, "/run/checkpoint/step-00000010/model/new", "/thesis", "/no/such/folder"}) {
    const auto report = reshard_checkpoint(fs, options(4, 1, dst));
    ASSERT_FALSE(report.ok()) << dst;
    EXPECT_EQ(report.status().code, Code::kInvalid) << dst << ": " << report.status().to_string();
  }
  ReshardOptions force = options(4, 1);
  force.force = true;
  ASSERT_TRUE(reshard_checkpoint(fs, force).ok());
  expect_whole(fs, "/out", {1, 4, 1});
  force.dst = "/thesis";
  EXPECT_EQ(reshard_checkpoint(fs, force).status().code, Code::kInvalid);
  EXPECT_EQ(testing::get_text(fs, "/thesis/notes.txt"), "years of work");
}

TEST(Reshard, ACorruptLeafInTheMiddleIsNamedAndNothingIsLeft) {
  MemFs fs;
  make_source(fs);
  const Manifest manifest = CheckpointReader::open(fs, kSource)->manifest();
  const Piece& piece = manifest.parameters[5].slots[0].tensor.pieces[0];
  const std::byte wrong[] = {std::byte{0x5A}, std::byte{0xA5}};
  ASSERT_TRUE(fs.overwrite(std::string(kSource) + "/" + manifest.files[piece.file].path, piece.offset + 9, wrong).ok());
  const auto before = testing::tree(fs, "/");
  const auto report = reshard_checkpoint(fs, options(3, 1));
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.status().code, Code::kCorrupt);
  EXPECT_NE(report.status().to_string().find("leaf " + std::to_string(piece.first_leaf) + " of tensor '" +
                                             manifest.parameters[5].meta.name + ".exp_avg'"),
            std::string::npos)
      << report.status().to_string();
  EXPECT_EQ(testing::tree(fs, "/"), before);
}

TEST(Reshard, ADiskWithoutSpaceIsSaidBeforeTheFirstByte) {
  MemFs fs(2 << 20);
  make_source(fs);
  const auto before = testing::tree(fs, "/");
  const auto report = reshard_checkpoint(fs, options(64, 1));
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.status().code, Code::kFailed);
  EXPECT_NE(report.status().message.find("disk full"), std::string::npos) << report.status().to_string();
  EXPECT_EQ(testing::tree(fs, "/"), before);
}

TEST(Reshard, StopsCleanlyWhenInterrupted) {
  MemFs fs;
  make_source(fs);
  const auto before = testing::tree(fs, "/");
  CancelSource stop;
  ReshardOptions stopped = options(4, 1);
  stopped.memory = 200 << 10;  // several reads
  stopped.cancel = CancelToken(stop);
  stopped.progress = [&](std::uint64_t, std::uint64_t) { stop.request(StopReason::kInterrupt); };
  const auto report = reshard_checkpoint(fs, stopped);
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.status().code, Code::kInterrupted);
  EXPECT_EQ(testing::tree(fs, "/"), before);
}

TEST(Reshard, EveryFailingCallLeavesTheSourceAndNothingElse) {
  MemFs memory;
  make_source(memory);
  const auto source = contents(memory, "/run");
  const auto before = testing::tree(memory, "/");
  std::uint64_t failed = 0;
  for (std::uint64_t k = 1;; ++k) {
    FailingFs fs(memory);
    fs.arm({.op = std::nullopt, .path_part = "/out", .k = k, .error = ENOSPC});
    const auto report = reshard_checkpoint(fs, options(2, 1));
    const bool fired = fs.fired();
    fs.disarm();
    EXPECT_EQ(contents(memory, "/run"), source) << k;
    EXPECT_FALSE(fs.synced_after_failure()) << k;
    if (report.ok()) {
      expect_whole(memory, "/out", {1, 2, 1});
    } else {
      ++failed;
      EXPECT_TRUE(fired) << report.status().to_string();
      // A failure after the rename may leave the complete checkpoint; a failing clean-up may leave its temporary.
      if (memory.stat("/out").ok()) expect_whole(memory, "/out", {1, 2, 1});
    }
    ASSERT_TRUE(remove_tree(memory, "/out").ok());
    // What is left is cleared by the next one.
    const auto again = reshard_checkpoint(memory, options(2, 1));
    ASSERT_TRUE(again.ok()) << k << ": " << again.status().to_string();
    ASSERT_TRUE(remove_tree(memory, "/out").ok());
    EXPECT_EQ(testing::tree(memory, "/"), before) << k;
    if (!fired) break;
    ASSERT_LT(k, 2000u);
  }
  EXPECT_GT(failed, 30u);
}

TEST(Reshard, KilledAtSeededPointsLeavesTheSourceAndARerunCleansUp) {
  MemFs memory;
  make_source(memory);
  const auto source = contents(memory, "/run");
  const auto before = testing::tree(memory, "/");
  FailingFs counter(memory);
  ASSERT_TRUE(reshard_checkpoint(counter, options(3, 2)).ok());
  const std::uint64_t calls = counter.calls().size();
  ASSERT_TRUE(remove_tree(memory, "/out").ok());
  std::mt19937_64 random(20260102);
  for (int point = 0; point < 20; ++point) {
    const std::uint64_t k = 1 + random() % calls;
    SCOPED_TRACE("call " + std::to_string(k) + " of " + std::to_string(calls));
    {
      // From its k-th call on a process does nothing any more: no clean-up either.
      FailingFs fs(memory);
      fs.arm({.k = k, .repeat = testing::Repeat::kSticky});
      (void)reshard_checkpoint(fs, options(3, 2));
    }
    EXPECT_EQ(contents(memory, "/run"), source);
    if (memory.stat("/out").ok()) expect_whole(memory, "/out", {2, 3, 1});
    ReshardOptions again = options(3, 2);
    again.force = true;
    const auto report = reshard_checkpoint(memory, again);
    ASSERT_TRUE(report.ok()) << report.status().to_string();
    expect_whole(memory, "/out", {2, 3, 1});
    ASSERT_TRUE(remove_tree(memory, "/out").ok());
    EXPECT_EQ(testing::tree(memory, "/"), before);
  }
}

}  // namespace
}  // namespace titan::ckpt::reshard_test
