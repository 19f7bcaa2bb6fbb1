#include "titan/ckpt/write.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <limits>

#include "ckpt/base/fs.h"
#include "ckpt/base/fs_posix.h"
#include "ckpt/ops/inspect.h"
#include "ckpt/ops/list.h"
#include "tests/support/files.h"
#include "titan/ckpt/checkpoint.h"

namespace titan::write_test {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::SizeIs;

// Bytes that differ from each other, for `elements` elements of any type.
std::vector<std::byte> bytes_of(DType dtype, std::uint64_t elements, int salt) {
  std::vector<std::byte> bytes(elements * element_bytes(dtype));
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>((i * 7 + salt) % 61);
  return bytes;
}

// What a small trainer has: a matrix of more than one leaf in bfloat16 with both moments in float32, a scalar counter
// without moments, and a tensor without elements.
struct Trainer {
  std::vector<std::byte> weight = bytes_of(DType::kBFloat16, 700 * 400, 1),
                         first = bytes_of(DType::kFloat32, 280000, 2), second = bytes_of(DType::kFloat32, 280000, 3),
                         count = bytes_of(DType::kInt64, 1, 4);
  State state{12, 4096, 18446744073709551557u, 1.5, "tiny 2.0", {{"model.dim", "400"}, {"a.b", "\"c\""}}};
  std::vector<TensorData> tensors{{"second", "", DType::kBFloat16, {700, 400}, weight},
                                  {"second", "exp_avg", DType::kFloat32, {700, 400}, first},
                                  {"second", "exp_avg_sq", DType::kFloat32, {700, 400}, second},
                                  {"first", "", DType::kInt64, {}, count},
                                  {"none", "", DType::kFloat32, {0, 3}, {}}};
};

TEST(ApiWrite, ReadsBackWhole) {
  const ckpt::testing::TempDir folder;
  const Trainer trainer;
  const std::string path = step_folder(folder / "run", 12);
  EXPECT_THAT(path, EndsWith("/run/step-00000012"));
  const Result<Written> written = write_checkpoint(path, trainer.state, trainer.tensors);
  ASSERT_TRUE(written.ok()) << written.status().text();
  EXPECT_EQ(written->path, path);

  const Result<Checkpoint> checkpoint = Checkpoint::open(folder / "run" + "@latest");
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status().text();
  EXPECT_EQ(checkpoint->id(), written->id);
  EXPECT_EQ(checkpoint->step(), 12u);
  std::vector<std::string> names;
  for (const TensorInfo& tensor : checkpoint->tensors()) names.push_back(tensor.name);
  EXPECT_THAT(names, ElementsAre("second", "first", "none", "second.exp_avg", "second.exp_avg_sq"));
  for (const TensorData& tensor : trainer.tensors) {
    const std::string name = tensor.parameter + (tensor.slot.empty() ? "" : "." + tensor.slot);
    const TensorInfo* info = checkpoint->find(name);
    ASSERT_NE(info, nullptr) << name;
    EXPECT_EQ(info->dtype, tensor.dtype);
    EXPECT_EQ(info->shape, tensor.shape);
    std::vector<std::byte> bytes(info->bytes());
    ASSERT_TRUE(checkpoint->read(name, bytes).ok());
    EXPECT_TRUE(std::ranges::equal(bytes, tensor.data)) << name;
  }
  const Result<State> state = checkpoint->state();
  ASSERT_TRUE(state.ok());
  EXPECT_EQ(state->tokens, 4096u);
  EXPECT_EQ(state->seed, 18446744073709551557u);
  EXPECT_EQ(state->seconds, 1.5);
  EXPECT_EQ(state->settings, trainer.state.settings);
  EXPECT_THAT(state->program, ::testing::StartsWith("tiny 2.0, libtitan-ckpt "));
  const Result<Verification> verified = checkpoint->verify();
  ASSERT_TRUE(verified.ok());
  EXPECT_TRUE(verified->whole());
}

TEST(ApiWrite, ClaimsNothingThatTheTrainerDidNotSay) {
  const ckpt::testing::TempDir folder;
  const Trainer trainer;
  ASSERT_TRUE(write_checkpoint(folder / "step-00000012", trainer.state, trainer.tensors).ok());
  const auto report = ckpt::inspect_checkpoint(ckpt::posix_fs(), folder / "step-00000012");
  ASSERT_TRUE(report.ok()) << report.status().to_string();
  EXPECT_FALSE(report->lr);
  EXPECT_FALSE(report->data);
  ASSERT_TRUE(report->train);
  EXPECT_TRUE(report->train->attempts.empty());
  EXPECT_EQ(report->manifest.mesh.world(), 1u);
  EXPECT_EQ(report->manifest.parameters[0].optimizer_step, 12u);  // of the one that has moments
  EXPECT_EQ(report->manifest.parameters[1].optimizer_step, 0u);
  EXPECT_THAT(report->manifest.created, EndsWith("Z"));
  const auto listed = ckpt::list_run(ckpt::posix_fs(), folder.path());
  ASSERT_TRUE(listed.ok());
  EXPECT_THAT(listed->steps, SizeIs(1));
}

TEST(ApiWrite, EqualStateGivesEqualIds) {
  const ckpt::testing::TempDir folder;
  Trainer trainer;
  const Result<Written> one = write_checkpoint(folder / "one", trainer.state, trainer.tensors);
  const Result<Written> two = write_checkpoint(folder / "two", trainer.state, trainer.tensors);
  trainer.weight[5] ^= std::byte{1};
  const Result<Written> other = write_checkpoint(folder / "other", trainer.state, trainer.tensors);
  ASSERT_TRUE(one.ok() && two.ok() && other.ok());
  EXPECT_EQ(one->id, two->id);
  EXPECT_NE(one->id, other->id);
}

TEST(ApiWrite, RefusesWhatDoesNotFitAndLeavesNothing) {
  const ckpt::testing::TempDir folder;
  const auto refusal = [&](const Trainer& trainer) {
    const Result<Written> written = write_checkpoint(folder / "new" + "/step-00000012", trainer.state, trainer.tensors);
    EXPECT_FALSE(written.ok());
    EXPECT_FALSE(ckpt::posix_fs().stat(folder / "new").ok());
    EXPECT_EQ(written.status().code, Code::kInvalid);
    return written.status().what;
  };
  Trainer trainer;
  trainer.tensors[0].shape = {700, 401};
  EXPECT_THAT(refusal(trainer), HasSubstr("`second`: its data have 560000 bytes, expected 561400"));
  trainer = {};
  trainer.tensors[0].shape = {700, 399};
  EXPECT_THAT(refusal(trainer), HasSubstr("have 560000 bytes, expected 558600"));
  trainer = {};
  trainer.tensors[1].shape = {400, 700};
  EXPECT_THAT(refusal(trainer), HasSubstr("another shape than its parameter"));
  trainer = {};
  trainer.tensors[2].parameter = "third";
  EXPECT_THAT(refusal(trainer), HasSubstr("a parameter that is not given"));
  trainer = {};
  trainer.tensors[3].parameter = "second";
  EXPECT_THAT(refusal(trainer), HasSubstr("`second` is given twice"));
  trainer = {};
  trainer.tensors[2].slot = "exp_avg";
  EXPECT_THAT(refusal(trainer), HasSubstr("`second.exp_avg` is given twice"));
  trainer = {};
  trainer.tensors[3].shape = {std::uint64_t{1} << 40, std::uint64_t{1} << 40};
  EXPECT_THAT(refusal(trainer), HasSubstr("overflows"));
  trainer = {};
  trainer.tensors.clear();
  EXPECT_THAT(refusal(trainer), HasSubstr("one parameter"));
  trainer = {};
  trainer.tensors[1].slot = "Exp Avg";
  EXPECT_THAT(refusal(trainer), HasSubstr("only a-z, 0-9 and _"));
  trainer = {};
  trainer.tensors[3].parameter = "";
  EXPECT_THAT(refusal(trainer), HasSubstr("name"));
  trainer = {};
  trainer.state.seconds = std::numeric_limits<double>::infinity();
  EXPECT_THAT(refusal(trainer), HasSubstr("the state cannot be stored"));
  trainer = {};
  trainer.state.step = 13;
  EXPECT_THAT(refusal(trainer), HasSubstr("the name of step 12"));
}

TEST(ApiWrite, NeverChangesWhatIsThere) {
  const ckpt::testing::TempDir folder;
  const Trainer trainer;
  ASSERT_TRUE(write_checkpoint(folder / "mine", trainer.state, trainer.tensors).ok());
  const Result<Written> again = write_checkpoint(folder / "mine", trainer.state, trainer.tensors);
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.status().code, Code::kInvalid);
  EXPECT_EQ(again.status().path, folder / "mine");
  EXPECT_THAT(again.status().hint, HasSubstr("another name"));
  const Result<Written> inside = write_checkpoint(folder / "mine" + "/x", trainer.state, trainer.tensors);
  ASSERT_FALSE(inside.ok());
  EXPECT_EQ(inside.status().code, Code::kInvalid);
  EXPECT_TRUE(Checkpoint::open(folder / "mine")->verify()->whole());
}

}  // namespace
}  // namespace titan::write_test
