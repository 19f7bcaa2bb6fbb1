#include "ckpt/ops/cat.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstring>

#include "ckpt/base/files.h"
#include "ckpt/lock/run_lock.h"
#include "ckpt/read/reader.h"
#include "tests/support/failing_fs.h"
#include "tests/support/files.h"
#include "tests/support/make_checkpoint.h"
#include "tests/support/mem_fs.h"

namespace titan::ckpt::cat_test {
namespace {

using ::testing::ElementsAre;
using testing::get_text;
using ::testing::HasSubstr;
using testing::make_checkpoint;
using testing::MemFs;
using testing::Synthetic;

std::string expected_bytes(const Synthetic& options, std::uint32_t index, const std::string& slot) {
  const std::vector<std::byte> bytes =
      testing::synthetic_tensor(options, testing::synthetic_parameters(options), {index, slot});
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST(NpyHeader, FollowsTheSpecificationForEveryRank) {
  struct Case {
    std::vector<std::uint64_t> shape;
    const char* text;
  };
  for (const Case& c : {Case{{}, "'shape': (), }"}, Case{{7}, "'shape': (7,), }"}, Case{{3, 4}, "'shape': (3, 4), }"},
                        Case{{2, 3, 4}, "'shape': (2, 3, 4), }"}}) {
    const std::string header = npy_header(DType::kF32, c.shape);
    EXPECT_EQ(header.substr(0, 8), std::string("\x93NUMPY\x01\x00", 8));
    EXPECT_EQ(header.size() % 64, 0u);
    EXPECT_EQ(static_cast<unsigned char>(header[8]) + 256u * static_cast<unsigned char>(header[9]), header.size() - 10);
    EXPECT_EQ(header.back(), '\n');
    EXPECT_THAT(header, HasSubstr(c.text));
  }
  EXPECT_THAT(npy_header(DType::kI64, {1}), HasSubstr("'descr': '<i8'"));
  EXPECT_THAT(npy_header(DType::kU8, {1}), HasSubstr("'descr': '|u1'"));
}

TEST(CatTensor, WritesTheSameFileFromEveryLayoutAndLeafSize) {
  for (const Synthetic& options :
       {Synthetic{}, Synthetic{.dp = 3}, Synthetic{.dp = 2, .pp = 3}, Synthetic{.leaf_elements = 7}}) {
    MemFs fs;
    ASSERT_TRUE(make_checkpoint(fs, "/run/checkpoint", options).ok());
    const Result<CatReport> report = cat_tensor(fs, {"/run@10", "tok_embeddings.weight.exp_avg", "/x.npy"});
    ASSERT_TRUE(report.ok()) << report.status().to_string();
    const std::string file = get_text(fs, "/x.npy");
    EXPECT_EQ(report->out_bytes, file.size());
    EXPECT_EQ(file, npy_header(DType::kF32, {67, 16}) + expected_bytes(options, 0, kExpAvg));
    EXPECT_EQ(testing::tree(fs, "/").back(), "x.npy");
  }
}

TEST(CatTensor, WritesASliceFromEveryLayoutAndLeafSize) {
  for (const Synthetic& options : {Synthetic{}, Synthetic{.dp = 3}, Synthetic{.leaf_elements = 7}}) {
    MemFs fs;
    ASSERT_TRUE(make_checkpoint(fs, "/run/checkpoint", options).ok());
    const Result<CatReport> report = cat_tensor(fs, {"/run@10", "tok_embeddings.weight[2:5, -3:]", "/x.npy"});
    ASSERT_TRUE(report.ok()) << report.status().to_string();
    EXPECT_THAT(report->slice.shape(), ElementsAre(3, 3));
    EXPECT_EQ(report->elements, 9u);
    const std::string all = expected_bytes(options, 0, "");
    std::string part;
    for (const std::size_t row : {2, 3, 4}) part += all.substr((row * 16 + 13) * 4, 12);
    EXPECT_EQ(get_text(fs, "/x.npy"), npy_header(DType::kF32, {3, 3}) + part);
  }
}

TEST(CatTensor, MakesOneMissingFolder) {
  MemFs fs;
  ASSERT_TRUE(make_checkpoint(fs, "/run/checkpoint", {}).ok());
  EXPECT_EQ(cat_tensor(fs, {"/run@10", "norm.weight", "/run/checkpoint/step-00000010/new/x.npy"}).status().code,
            Code::kInvalid);
  const Result<CatReport> deep = cat_tensor(fs, {"/run@10", "norm.weight", "/a/b/x.npy"});
  EXPECT_EQ(deep.status().message, "/a/b/x.npy cannot be made: there is no folder /a/b");
  const Result<CatReport> report = cat_tensor(fs, {"/run@10", "norm.weight", "/new/x.npy"});
  ASSERT_TRUE(report.ok()) << report.status().to_string();
  EXPECT_TRUE(fs.stat("/new/x.npy").ok());
}

TEST(CatTensor, WritesNothingIntoACheckpoint) {
  MemFs fs;
  ASSERT_TRUE(make_checkpoint(fs, "/run/checkpoint", {}).ok());
  const std::vector<std::string> before = testing::tree(fs, "/");
  for (const char* out : {"/run/checkpoint/step-00000010/x.npy", "/run/checkpoint/step-00000010/model/x.npy",
                          "/run/checkpoint/step-00000010/manifest.json"}) {
    const Status status = cat_tensor(fs, {"/run@10", "norm.weight", out}).status();
    EXPECT_EQ(status.code, Code::kInvalid) << out;
    EXPECT_THAT(status.message, HasSubstr("inside the checkpoint /run/checkpoint/step-00000010"));
  }
  EXPECT_EQ(testing::tree(fs, "/"), before);
  EXPECT_TRUE(cat_tensor(fs, {"/run@10", "norm.weight", "/run/checkpoint/x.npy"}).ok());
}

// A tool that died had moved a checkpoint aside under the very name: it comes back first, and is not written over.
TEST(CatTensor, LooksAgainOnceWhatADeadToolMovedAsideIsBack) {
  MemFs fs;
  ASSERT_TRUE(make_checkpoint(fs, "/run/checkpoint", {}).ok());
  ASSERT_TRUE(make_checkpoint(fs, "/other", {}).ok());
  ASSERT_TRUE(fs.make_dir("/x.npy.tmp-rewrite").ok());
  ASSERT_TRUE(fs.rename("/other/step-00000010", "/x.npy.tmp-rewrite/old").ok());
  const Status status = cat_tensor(fs, {"/run@10", "norm.weight", "/x.npy"}).status();
  EXPECT_EQ(status.code, Code::kInvalid) << status.to_string();
  EXPECT_THAT(status.message, HasSubstr("/x.npy is a folder"));
  EXPECT_TRUE(CheckpointReader::open(fs, "/x.npy").ok());
}

TEST(CatTensor, TakesTheLockOfTheRunThatItWritesInto) {
  MemFs fs;
  ASSERT_TRUE(make_checkpoint(fs, "/run/checkpoint", {}).ok());
  ASSERT_TRUE(make_dirs(fs, "/run/exports/deep").ok());
  auto run = RunLock::take(fs, "/run", this_process());
  ASSERT_TRUE(run.ok());
  const std::vector<std::string> before = testing::tree(fs, "/");
  for (const char* out : {"/run/x.npy", "/run/checkpoint/x.npy", "/run/exports/deep/x.npy"}) {
    const Status status = cat_tensor(fs, {"/run@10", "norm.weight", out}).status();
    EXPECT_EQ(status.code, Code::kLocked) << out;
    EXPECT_THAT(status.message, HasSubstr("/run is locked by a live run or tool"));
  }
  EXPECT_EQ(testing::tree(fs, "/"), before);
  EXPECT_TRUE(cat_tensor(fs, {"/run@10", "norm.weight"}).ok()) << "reading needs no lock";
  EXPECT_TRUE(cat_tensor(fs, {"/run@10", "norm.weight", "/x.npy"}).ok());
  run->reset();
  EXPECT_TRUE(cat_tensor(fs, {"/run@10", "norm.weight", "/run/checkpoint/x.npy"}).ok());
  EXPECT_EQ(fs.stat("/run.lock").status().code, Code::kNotFound);
}

TEST(CatTensor, ReadsOnlyTheLeavesOfASlice) {
  MemFs fs;
  ASSERT_TRUE(make_checkpoint(fs, "/run/checkpoint", {.leaf_elements = 16}).ok());
  // Leaf i is row i; the first rows of the first tensor are spoiled.
  const Result<CheckpointReader> opened = CheckpointReader::open(fs, "/run/checkpoint/step-00000010");
  const CheckpointReader& reader = *opened;
  const Piece& piece = reader.manifest().parameters[0].model->pieces[0];
  ASSERT_TRUE(fs.overwrite("/run/checkpoint/step-00000010/" + reader.manifest().files[piece.file].path, piece.offset,
                           std::vector<std::byte>(100))
                  .ok());
  EXPECT_EQ(cat_tensor(fs, {"/run@10", "tok_embeddings.weight[1:4]", "/x.npy"}).status().code, Code::kCorrupt);
  EXPECT_TRUE(cat_tensor(fs, {"/run@10", "tok_embeddings.weight[2:4]", "/x.npy"}).ok());
  EXPECT_TRUE(cat_tensor(fs, {"/run@10", "tok_embeddings.weight[2:, 0]", "/y.npy"}).ok());
}

TEST(CatTensor, WritesEmptySlicesAndSingleElements) {
  MemFs fs;
  ASSERT_TRUE(make_checkpoint(fs, "/run/checkpoint", {}).ok());
  ASSERT_TRUE(cat_tensor(fs, {"/run@10", "norm.weight[5:5]", "/empty.npy"}).ok());
  EXPECT_EQ(get_text(fs, "/empty.npy"), npy_header(DType::kF32, {0}));
  const Result<CatReport> one = cat_tensor(fs, {"/run@10", "norm.weight[3]", "/one.npy"});
  ASSERT_TRUE(one.ok());
  EXPECT_EQ(one->first.size(), 1u);
  EXPECT_EQ(get_text(fs, "/one.npy").size(), npy_header(DType::kF32, {}).size() + 4);
}

TEST(CatTensor, WidensBfloat16Exactly) {
  MemFs fs;
  const Synthetic options{.dp = 2, .dtype = DType::kBF16};
  ASSERT_TRUE(make_checkpoint(fs, "/run/checkpoint", options).ok());
  const Result<CatReport> report = cat_tensor(fs, {"/run@10", "tok_embeddings.weight", "/x.npy"});
  ASSERT_TRUE(report.ok()) << report.status().to_string();
  EXPECT_EQ(report->tensor.dtype, DType::kBF16);
  EXPECT_EQ(report->out_dtype, DType::kF32);
  std::string wide;
  const std::string raw = expected_bytes(options, 0, "");
  for (std::size_t i = 0; i < raw.size(); i += 2) wide += std::string(2, '\0') + raw.substr(i, 2);
  EXPECT_EQ(get_text(fs, "/x.npy"), npy_header(DType::kF32, {67, 16}) + wide);
}

TEST(CatTensor, ShowsBothEndsAcrossLeaves) {
  MemFs fs;
  const Synthetic options{.leaf_elements = 3};
  ASSERT_TRUE(make_checkpoint(fs, "/run/checkpoint", options).ok());
  const Result<CatReport> all = cat_tensor(fs, {"/run@10", "norm.weight", "", 8});
  const Result<CatReport> ends = cat_tensor(fs, {"/run@10", "norm.weight", "", 5});
  ASSERT_TRUE(all.ok() && ends.ok());
  EXPECT_EQ(all->first.size(), 16u);
  EXPECT_TRUE(all->last.empty());
  EXPECT_EQ(ends->first, std::vector<std::string>(all->first.begin(), all->first.begin() + 5));
  EXPECT_EQ(ends->last, std::vector<std::string>(all->first.end() - 5, all->first.end()));
}

TEST(CatTensor, LeavesAnOldFileAndNoTemporaryWhenALeafIsDamaged) {
  MemFs fs;
  ASSERT_TRUE(make_checkpoint(fs, "/run/checkpoint", {}).ok());
  ASSERT_TRUE(testing::put_text(fs, "/x.npy", "old").ok());
  // Neither the first nor the last leaf: the preview succeeds, the file is half written when the damage is met.
  const InspectReport before = *inspect_checkpoint(fs, "/run@10");
  const Piece& piece = before.manifest.stored({0, ""})->pieces[0];
  ASSERT_EQ(piece.leaf_count, 5u);
  const std::string shard = before.path + "/" + before.manifest.files[piece.file].path;
  ASSERT_TRUE(fs.overwrite(shard, piece.offset + 2 * 256 * 4, std::vector<std::byte>(8)).ok());
  EXPECT_TRUE(cat_tensor(fs, {"/run@10", "tok_embeddings.weight", ""}).ok());
  const Status status = cat_tensor(fs, {"/run@10", "tok_embeddings.weight", "/x.npy"}).status();
  EXPECT_EQ(status.code, Code::kCorrupt) << status.to_string();
  EXPECT_EQ(get_text(fs, "/x.npy"), "old");
  for (const std::string& name : testing::tree(fs, "/")) EXPECT_THAT(name, ::testing::Not(HasSubstr("tmp")));
}

TEST(CatTensor, ATemporaryIsItsWritersUntilThatDies) {
  MemFs fs;
  ASSERT_TRUE(make_checkpoint(fs, "/run/checkpoint", {}).ok());
  ASSERT_TRUE(testing::put_text(fs, "/x.npy.tmp-rewrite/new", "half").ok());
  {
    const auto living = fs.lock("/x.npy.tmp-rewrite/lock");
    ASSERT_TRUE(living.ok());
    const Status status = cat_tensor(fs, {"/run@10", "norm.weight", "/x.npy"}).status();
    EXPECT_EQ(status.code, Code::kLocked) << status.to_string();
    EXPECT_THAT(status.message, HasSubstr("another process is writing /x.npy"));
    EXPECT_EQ(get_text(fs, "/x.npy.tmp-rewrite/new"), "half");
  }
  ASSERT_TRUE(cat_tensor(fs, {"/run@10", "norm.weight", "/x.npy"}).ok());
  EXPECT_EQ(fs.stat("/x.npy.tmp-rewrite").status().code, Code::kNotFound);
  // What a dead tool had moved aside goes back, and is no file to replace.
  ASSERT_TRUE(testing::put_text(fs, "/y.npy.tmp-rewrite/old/manifest.json", "a checkpoint").ok());
  EXPECT_EQ(cat_tensor(fs, {"/run@10", "norm.weight", "/y.npy"}).status().code, Code::kInvalid);
  EXPECT_EQ(get_text(fs, "/y.npy/manifest.json"), "a checkpoint");
  EXPECT_EQ(fs.stat("/y.npy.tmp-rewrite").status().code, Code::kNotFound);
}

TEST(CatTensor, MakesTheNameOfItsFileDurable) {
  MemFs memory;
  ASSERT_TRUE(make_checkpoint(memory, "/run/checkpoint", {}).ok());
  ASSERT_TRUE(memory.make_dir("/out").ok());
  testing::FailingFs fs(memory);
  ASSERT_TRUE(cat_tensor(fs, {"/run@10", "norm.weight", "/out/x.npy"}).ok());
  const std::vector<testing::Call> calls = fs.calls();
  const auto renamed = std::ranges::find(calls, testing::Call{testing::Op::kRename, "/out/x.npy.tmp-rewrite/new"});
  const auto synced = std::find(renamed, calls.end(), testing::Call{testing::Op::kSyncDir, "/out"});
  EXPECT_TRUE(renamed != calls.end() && synced != calls.end());
}

TEST(CatTensor, SuggestsNamesForAnUnknownTensor) {
  MemFs fs;
  ASSERT_TRUE(make_checkpoint(fs, "/run/checkpoint", {}).ok());
  const Status status = cat_tensor(fs, {"/run@10", "norm.wieght", ""}).status();
  EXPECT_EQ(status.code, Code::kNotFound);
  EXPECT_THAT(status.message, HasSubstr("`norm.wieght`"));
  EXPECT_THAT(status.hint, HasSubstr("`norm.weight`"));
}

}  // namespace
}  // namespace titan::ckpt::cat_test
