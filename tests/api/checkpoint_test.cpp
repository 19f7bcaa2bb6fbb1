#include "titan/ckpt/checkpoint.h"

#include <gmock/gmock.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "ckpt/base/fs.h"
#include "ckpt/base/fs_posix.h"
#include "ckpt/read/reader.h"
#include "tests/support/files.h"
#include "tests/support/make_checkpoint.h"

namespace titan::checkpoint_test {
namespace {

using ckpt::testing::make_checkpoint;
using ckpt::testing::Synthetic;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// A run folder with the steps of `options`.
struct RunFolder {
  ckpt::testing::TempDir folder;
  std::string path = folder / "run";

  explicit RunFolder(const Synthetic& options = {}) {
    EXPECT_TRUE(ckpt::posix_fs().make_dir(path).ok());
    EXPECT_TRUE(ckpt::posix_fs().make_dir(path + "/checkpoint").ok());
    EXPECT_TRUE(make_checkpoint(ckpt::posix_fs(), path + "/checkpoint", options).ok());
  }
  std::string step() const { return path + "/checkpoint/step-00000010"; }
};

std::vector<std::byte> expected(const Synthetic& options, std::uint32_t index, const std::string& slot) {
  return ckpt::testing::synthetic_tensor(options, ckpt::testing::synthetic_parameters(options), {index, slot});
}

void flip_bit(const std::string& file, std::uint64_t offset) {
  std::filesystem::permissions(file, std::filesystem::perms::owner_write, std::filesystem::perm_options::add);
  std::fstream stream(file, std::ios::binary | std::ios::in | std::ios::out);
  stream.seekg(static_cast<std::streamoff>(offset));
  const char byte = static_cast<char>(stream.get() ^ 1);
  stream.seekp(static_cast<std::streamoff>(offset));
  stream.put(byte);
}

TEST(ApiCheckpoint, OpensByFolderStepAndLatest) {
  const RunFolder run;
  for (const std::string& name :
       {run.step(), run.path + "@10", run.path + "@latest", run.path + "/checkpoint@latest"}) {
    const Result<Checkpoint> checkpoint = Checkpoint::open(name);
    ASSERT_TRUE(checkpoint.ok()) << checkpoint.status().text();
    EXPECT_EQ(checkpoint->path(), run.step());
    EXPECT_EQ(checkpoint->step(), 10u);
    EXPECT_THAT(checkpoint->id(), SizeIs(32));
    EXPECT_THAT(checkpoint->notes(), IsEmpty());
  }
}

TEST(ApiCheckpoint, SaysWhatIsNotThere) {
  const RunFolder run;
  const Result<Checkpoint> none = Checkpoint::open(run.path + "@7");
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.status().code, Code::kNotFound);
  EXPECT_EQ(none.status().path, run.path + "@7");
  EXPECT_THAT(none.status().what, HasSubstr("steps 10"));

  const Result<Checkpoint> checkpoint = Checkpoint::open(run.step());
  ASSERT_TRUE(checkpoint.ok());
  const Status read = checkpoint->read("tok_embedding.weight", {});
  EXPECT_EQ(read.code, Code::kNotFound);
  EXPECT_EQ(read.path, run.step());
  EXPECT_THAT(read.hint, HasSubstr("tok_embeddings.weight"));
  EXPECT_EQ(checkpoint->find("tok_embedding.weight"), nullptr);
  EXPECT_EQ(checkpoint->json("hair").status().code, Code::kNotFound);
}

TEST(ApiCheckpoint, ListsAndReadsEveryTensorOfEveryLayout) {
  for (const Synthetic& options : {Synthetic{}, Synthetic{.dp = 2, .pp = 2}, Synthetic{.leaf_elements = 7}}) {
    const RunFolder run(options);
    const Result<Checkpoint> checkpoint = Checkpoint::open(run.step());
    ASSERT_TRUE(checkpoint.ok()) << checkpoint.status().text();
    const std::vector<ckpt::ParameterMeta> parameters = ckpt::testing::synthetic_parameters(options);
    ASSERT_THAT(checkpoint->tensors(), SizeIs(3 * parameters.size()));
    for (std::uint32_t i = 0; i < parameters.size(); ++i) {
      for (const std::string slot : {"", "exp_avg", "exp_avg_sq"}) {
        const TensorInfo* tensor = checkpoint->find(parameters[i].name + (slot.empty() ? "" : "." + slot));
        ASSERT_NE(tensor, nullptr);
        EXPECT_EQ(tensor->shape, parameters[i].shape);
        EXPECT_EQ(tensor->component, slot.empty() ? "model" : "optimizer");
        std::vector<std::byte> bytes(tensor->bytes());
        const Status read = checkpoint->read(tensor->name, bytes);
        ASSERT_TRUE(read.ok()) << read.text();
        EXPECT_EQ(bytes, expected(options, i, slot)) << tensor->name;
      }
    }
  }
}

TEST(ApiCheckpoint, ReadsASlice) {
  const Synthetic options{.leaf_elements = 7};
  const RunFolder run(options);
  const Result<Checkpoint> checkpoint = Checkpoint::open(run.step());
  ASSERT_TRUE(checkpoint.ok());
  const std::string name = "tok_embeddings.weight";
  ASSERT_THAT(checkpoint->find(name)->shape, ElementsAre(67, 16));
  const std::vector<std::byte> all = expected(options, 0, "");

  std::vector<std::byte> part(3 * 3 * 4), wanted;
  const Range ranges[] = {{2, 5}, {13, 16}};
  ASSERT_TRUE(checkpoint->read(name, ranges, part).ok());
  for (const std::size_t row : {2, 3, 4})
    wanted.insert(wanted.end(), &all[(row * 16 + 13) * 4], &all[(row * 16 + 13) * 4] + 12);
  EXPECT_EQ(part, wanted);

  part.resize(std::size_t{2} * 16 * 4);  // without a range a dimension is whole
  const Range rows[] = {{65, 67}};
  ASSERT_TRUE(checkpoint->read(name, rows, part).ok());
  EXPECT_EQ(std::memcmp(part.data(), &all[std::size_t{65} * 16 * 4], part.size()), 0);
}

TEST(ApiCheckpoint, RefusesASliceOrMemoryThatDoesNotFit) {
  const RunFolder run;
  const Result<Checkpoint> checkpoint = Checkpoint::open(run.step());
  ASSERT_TRUE(checkpoint.ok());
  std::vector<std::byte> memory(64);
  const Range outside[] = {{67, 68}}, backwards[] = {{5, 4}}, three[] = {{0, 1}, {0, 1}, {0, 1}}, good[] = {{0, 2}};
  for (const std::span<const Range> slice : {std::span<const Range>(outside), std::span<const Range>(backwards),
                                             std::span<const Range>(three), std::span<const Range>(good)}) {
    const Status read = checkpoint->read("tok_embeddings.weight", slice, memory);
    EXPECT_EQ(read.code, Code::kInvalid) << read.text();
  }
  EXPECT_THAT(checkpoint->read("tok_embeddings.weight", outside, memory).what, HasSubstr("asks for [67, 68)"));
  EXPECT_THAT(checkpoint->read("tok_embeddings.weight", good, memory).what, HasSubstr("64 bytes, expected 128"));
}

TEST(ApiCheckpoint, HasTheStateOfTheRun) {
  const RunFolder run;
  const Result<Checkpoint> checkpoint = Checkpoint::open(run.step());
  ASSERT_TRUE(checkpoint.ok());
  const Result<State> state = checkpoint->state();
  ASSERT_TRUE(state.ok());
  EXPECT_EQ(state->step, 10u);
  const auto reader = ckpt::CheckpointReader::open(ckpt::posix_fs(), run.step());
  ASSERT_TRUE(reader.ok());
  const auto train = reader->train_state();
  EXPECT_EQ(state->tokens, train->tokens);
  EXPECT_EQ(state->seed, train->seed);
  EXPECT_EQ(state->seconds, train->wall_time_s);
  EXPECT_EQ(state->settings.size(), reader->manifest().config.size());
  const Result<std::string> json = checkpoint->json("train_state");
  ASSERT_TRUE(json.ok());
  EXPECT_THAT(*json, HasSubstr("\"attempts\""));
}

TEST(ApiCheckpoint, FindsDamageAndNeverHandsItOut) {
  const RunFolder run;
  const Result<Checkpoint> checkpoint = Checkpoint::open(run.step());
  ASSERT_TRUE(checkpoint.ok());
  const Result<Verification> before = checkpoint->verify(1);
  ASSERT_TRUE(before.ok());
  EXPECT_TRUE(before->whole());
  EXPECT_GT(before->bytes, 4000u);

  const std::string file = run.step() + "/model/shard-00000.h5";
  const auto reader = ckpt::CheckpointReader::open(ckpt::posix_fs(), run.step());
  ASSERT_TRUE(reader.ok());
  flip_bit(file, reader->manifest().parameters[0].model->pieces[0].offset + 8);
  const Result<Verification> after = checkpoint->verify(2);
  ASSERT_TRUE(after.ok());
  EXPECT_FALSE(after->whole());
  ASSERT_THAT(after->damage, SizeIs(1));
  EXPECT_EQ(after->damage[0].unit, "leaf");
  EXPECT_EQ(after->damage[0].tensor, "tok_embeddings.weight");
  EXPECT_EQ(after->damage[0].file, "model/shard-00000.h5");
  EXPECT_FALSE(after->damage[0].unreadable);
  std::vector<std::byte> bytes(checkpoint->find("tok_embeddings.weight")->bytes());
  EXPECT_EQ(checkpoint->read("tok_embeddings.weight", bytes).code, Code::kCorrupt);
}

TEST(ApiCheckpoint, LatestPassesOverADamagedStepAndSaysSo) {
  const RunFolder run;
  ASSERT_TRUE(make_checkpoint(ckpt::posix_fs(), run.path + "/checkpoint", Synthetic{.step = 20}).ok());
  ASSERT_TRUE(ckpt::posix_fs().remove_file(run.path + "/checkpoint/step-00000020/train_state.json").ok());
  const Result<Checkpoint> checkpoint = Checkpoint::open(run.path + "@latest");
  ASSERT_TRUE(checkpoint.ok());
  EXPECT_EQ(checkpoint->step(), 10u);
  ASSERT_THAT(checkpoint->notes(), SizeIs(1));
  EXPECT_THAT(checkpoint->notes()[0], HasSubstr("step-00000020"));
}

TEST(ApiStatus, HasCausesAndHintOnLinesOfTheirOwn) {
  EXPECT_EQ((Status{Code::kFailed, "/x", "it failed", {"one", "two"}, "try again"}.text()),
            "it failed\ncaused by: one\ncaused by: two\nhint: try again");
  EXPECT_TRUE(Status{}.ok());
}

TEST(ApiTensor, KnowsItsSize) {
  const std::uint64_t sizes[] = {4, 2, 2, 8, 8, 4, 1};
  const char* names[] = {"float32", "bfloat16", "float16", "float64", "int64", "int32", "uint8"};
  for (int i = 0; i < 7; ++i) {
    const TensorInfo tensor{"x", "model", static_cast<DType>(i), {2, 3}};
    EXPECT_EQ(tensor.bytes(), 6 * sizes[i]);
    EXPECT_STREQ(dtype_name(tensor.dtype), names[i]);
  }
  EXPECT_EQ(TensorInfo{}.elements(), 1u);
}

}  // namespace
}  // namespace titan::checkpoint_test
