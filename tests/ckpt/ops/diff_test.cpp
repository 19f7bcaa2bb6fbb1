#include "ckpt/ops/diff.h"

#include <span>

#include <gmock/gmock.h>

#include <cmath>

#include "tests/support/make_checkpoint.h"
#include "tests/support/mem_fs.h"

namespace titan::ckpt::diff_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::make_checkpoint;
using testing::MemFs;
using testing::Synthetic;

std::vector<std::string> kinds(const std::vector<Difference>& items) {
  std::vector<std::string> out;
  for (const Difference& d : items) out.push_back(d.kind + ":" + d.name);
  return out;
}

class DiffTest : public ::testing::Test {
 protected:
  DiffReport diff(const Synthetic& a, const Synthetic& b, bool notes_count = false) {
    EXPECT_TRUE(make_checkpoint(fs_, "/a/checkpoint", a).ok());
    EXPECT_TRUE(make_checkpoint(fs_, "/b/checkpoint", b).ok());
    const Result<DiffReport> report = diff_checkpoints(fs_, {"/a@latest", "/b@latest", notes_count, {}});
    EXPECT_TRUE(report.ok()) << report.status().to_string();
    return *report;
  }
  MemFs fs_;
};

TEST_F(DiffTest, IsEqualOnAnyTwoLayouts) {
  for (const auto& [dp, pp] :
       std::vector<std::pair<std::uint32_t, std::uint32_t>>{{2, 1}, {3, 1}, {1, 4}, {2, 2}, {4, 3}}) {
    fs_ = MemFs();
    const DiffReport report = diff({}, {.dp = dp, .pp = pp});
    EXPECT_TRUE(report.equal()) << dp << "x" << pp;
    EXPECT_THAT(report.differences, IsEmpty());
    EXPECT_EQ(report.equal_tensors, 63u);
    EXPECT_EQ(report.notes.front().kind, "layout");
  }
}

TEST_F(DiffTest, NotesASettingOnceThoughTheScheduleNamesItToo) {
  const Synthetic other{.peak_lr = 0.002,
                        .config = {{"model.dim", "16"}, {"optimizer.lr", "0.002"}, {"training.steps", "100"}}};
  EXPECT_THAT(kinds(diff({}, other).notes), ElementsAre("config:optimizer.lr"));
}

TEST_F(DiffTest, NotesCountOnlyWhenAskedFor) {
  const DiffReport report =
      diff({}, {.created = "2027-01-01T00:00:00Z", .config = {{"model.dim", "16"}, {"new.key", "1"}}}, true);
  EXPECT_TRUE(report.state_equal);
  EXPECT_FALSE(report.equal());
  EXPECT_THAT(kinds(report.notes), ElementsAre("config:new.key", "config:optimizer.lr", "config:training.steps"));
  EXPECT_EQ(report.notes[0].a, "absent");
  EXPECT_EQ(report.notes[0].b, "1");
}

TEST_F(DiffTest, MeasuresTheTensorsThatDiffer) {
  const DiffReport report = diff({.dp = 2}, {.changes = {{"norm.weight", 3, 0.5}, {"norm.weight", 7, -0.25}}});
  EXPECT_FALSE(report.equal());
  EXPECT_EQ(report.equal_tensors, 62u);
  ASSERT_THAT(kinds(report.differences), ElementsAre("tensor:norm.weight"));
  const TensorDistance& distance = *report.differences[0].distance;
  EXPECT_EQ(distance.elements, 16u);
  EXPECT_EQ(distance.different, 2u);
  EXPECT_EQ(distance.first_index, 3u);
  EXPECT_NEAR(distance.max_abs, 0.5, 1e-6);
  EXPECT_EQ(distance.non_finite, 0u);
}

TEST(TensorDistance, EqualElementsCountInChangeAndCosine) {
  const float a[] = {3, 4}, b[] = {3, 0};
  TensorDistance distance;
  add_distance(distance, DType::kF32, 0, std::as_bytes(std::span(a)), std::as_bytes(std::span(b)));
  EXPECT_DOUBLE_EQ(distance.norm(), 4);
  EXPECT_DOUBLE_EQ(distance.change(), 0.8);
  EXPECT_DOUBLE_EQ(distance.cosine(), 0.6);
}

TEST_F(DiffTest, ComparesBytesWhenLeafSizesDiffer) {
  const DiffReport report =
      diff({.leaf_elements = 256}, {.leaf_elements = 100, .changes = {{"tok_embeddings.weight", 1071, 1.0}}});
  EXPECT_FALSE(report.equal());
  EXPECT_THAT(kinds(report.differences), ElementsAre("leaf_elements:leaf_elements", "tensor:tok_embeddings.weight"));
  EXPECT_EQ(report.differences[1].distance->first_index, 1071u);
  EXPECT_EQ(report.differences[1].distance->elements, 1072u);
  EXPECT_EQ(report.equal_tensors, 62u);
}

TEST_F(DiffTest, NamesEveryPartOfTheStateThatDiffers) {
  const DiffReport report = diff({.step = 10}, {.step = 20, .peak_lr = 2e-3});
  EXPECT_THAT(kinds(report.differences),
              ElementsAre("step:step", "tokens:tokens", "lr_schedule:phase 1", "lr_schedule:phase 2",
                          "lr_schedule:phase 3", "data:samples", "optimizer_step:tok_embeddings.weight and 20 more"));
}

TEST_F(DiffTest, NamesSamplesThatOneSideLeavesOut) {
  InspectReport a, b;
  a.data = DataPosition{.excluded = {{32, 8}}};
  b.data = DataPosition{};
  const std::vector<Difference> found = state_differences(a, b);
  ASSERT_THAT(kinds(found), ElementsAre("data:excluded"));
  EXPECT_EQ(found[0].a, "32-39");
}

TEST_F(DiffTest, SaysOfDataFilesWhetherTheirContentsAreTheSame) {
  InspectReport a, b;
  a.data = DataPosition{.files = {{"a.txt", 5, digest_of("first")}, {"b.txt", 6, digest_of("second")}}};
  b.data = DataPosition{.files = {{"c.txt", 6, digest_of("second")}, {"a.txt", 5, digest_of("first")}}};
  EXPECT_THAT(kinds(state_differences(a, b)), ElementsAre("data:files (the same contents)"));
  b.data->files[0].blocks = digest_of("other");
  EXPECT_THAT(kinds(state_differences(a, b)), ElementsAre("data:files"));
}

TEST_F(DiffTest, NamesTensorsOfOneSideAndOtherShapes) {
  const DiffReport report = diff({.layers = 1, .vocab = 67}, {.layers = 2, .vocab = 70});
  const std::vector<std::string> found = kinds(report.differences);
  EXPECT_THAT(found, ::testing::Contains("tensor:layers.1.ffn_norm.weight"));
  EXPECT_THAT(found, ::testing::Contains("tensor:tok_embeddings.weight"));
  for (const Difference& d : report.differences) {
    if (d.name == "layers.1.ffn_norm.weight") {
      EXPECT_EQ(d.a + " " + d.b, "absent float32 [16]");
    }
    if (d.name == "tok_embeddings.weight") {
      EXPECT_EQ(d.a + " " + d.b, "float32 [67, 16] float32 [70, 16]");
    }
    EXPECT_FALSE(d.distance) << d.name;
  }
}

TEST_F(DiffTest, ReportsHowMuchItReads) {
  std::uint64_t done = 0, total = 0;
  ASSERT_TRUE(make_checkpoint(fs_, "/a/checkpoint", {}).ok());
  ASSERT_TRUE(make_checkpoint(fs_, "/b/checkpoint", {.seed = 2}).ok());
  ASSERT_TRUE(
      diff_checkpoints(fs_, {"/a@10", "/b@10", false, [&](std::uint64_t d, std::uint64_t t) { done = d, total = t; }})
          .ok());
  EXPECT_EQ(done, total);
  EXPECT_EQ(total, 2u * 6576 * 4 * 3);
}

TEST_F(DiffTest, FailsOnDamageInATensorThatItMustRead) {
  ASSERT_TRUE(make_checkpoint(fs_, "/a/checkpoint", {}).ok());
  ASSERT_TRUE(make_checkpoint(fs_, "/b/checkpoint", {.seed = 2}).ok());
  const std::uint64_t size = fs_.stat("/b/checkpoint/step-00000010/model/shard-00000.h5")->size;
  ASSERT_TRUE(
      fs_.overwrite("/b/checkpoint/step-00000010/model/shard-00000.h5", size / 2, std::vector<std::byte>(4096)).ok());
  EXPECT_EQ(diff_checkpoints(fs_, {"/a@10", "/b@10", false, {}}).status().code, Code::kCorrupt);
}

TEST_F(DiffTest, CountsTensorsWithinTheToleranceAsEqual) {
  ASSERT_TRUE(make_checkpoint(fs_, "/a/checkpoint", {}).ok());
  ASSERT_TRUE(
      make_checkpoint(fs_, "/b/checkpoint", {.dp = 2, .changes = {{"norm.weight", 3, 1e-4}, {"output.weight", 9, 0.5}}})
          .ok());
  DiffOptions options{"/a@10", "/b@10"};
  options.scope.tolerance = Tolerance{0, 1e-3};
  DiffReport report = *diff_checkpoints(fs_, options);
  EXPECT_FALSE(report.equal());
  EXPECT_THAT(kinds(report.within), ElementsAre("tensor:norm.weight"));
  ASSERT_THAT(kinds(report.differences), ElementsAre("tensor:output.weight"));
  EXPECT_EQ(report.differences[0].distance->beyond, 1u);
  options.scope.tolerance = Tolerance{0, 0.6};
  report = *diff_checkpoints(fs_, options);
  EXPECT_TRUE(report.equal());
  EXPECT_FALSE(report.state_equal);
  EXPECT_EQ(report.within.size(), 2u);
}

TEST_F(DiffTest, NeverForgivesOtherStateWithATolerance) {
  ASSERT_TRUE(make_checkpoint(fs_, "/a/checkpoint", {}).ok());
  ASSERT_TRUE(make_checkpoint(fs_, "/b/checkpoint", {.peak_lr = 2e-3}).ok());
  DiffOptions options{"/a@10", "/b@10"};
  options.scope.tolerance = Tolerance{1, 1};
  EXPECT_FALSE(diff_checkpoints(fs_, options)->equal());
}

TEST_F(DiffTest, ComparesOnlyWhatMatches) {
  ASSERT_TRUE(make_checkpoint(fs_, "/a/checkpoint", {}).ok());
  ASSERT_TRUE(
      make_checkpoint(fs_, "/b/checkpoint", {.step = 20, .leaf_elements = 100, .changes = {{"norm.weight", 3, 1}}})
          .ok());
  DiffOptions options{"/a@10", "/b@20"};
  options.scope.only = "layers.*";
  const DiffReport layers = *diff_checkpoints(fs_, options);
  EXPECT_TRUE(layers.equal());
  EXPECT_EQ(layers.equal_tensors, 54u);
  EXPECT_EQ(layers.notes.front().name, "leaf_elements");
  options.scope.only = "norm.*";
  EXPECT_THAT(kinds(diff_checkpoints(fs_, options)->differences), ElementsAre("tensor:norm.weight"));
  options.scope.only = "nothing*";
  EXPECT_EQ(diff_checkpoints(fs_, options).status().code, Code::kNotFound);
}

TEST_F(DiffTest, FindsTheSameBitsWithAnyNumberOfThreads) {
  ASSERT_TRUE(make_checkpoint(fs_, "/a/checkpoint", {}).ok());
  ASSERT_TRUE(make_checkpoint(fs_, "/b/checkpoint", {.dp = 3, .leaf_elements = 100, .seed = 2}).ok());
  DiffOptions options{"/a@10", "/b@10"};
  options.threads = 1;
  const DiffReport one = *diff_checkpoints(fs_, options);
  options.threads = 6;
  EXPECT_EQ(diff_checkpoints(fs_, options)->differences, one.differences);
}

TEST(AddDistance, SumsAbsoluteAndSquaredDifferences) {
  const double a[] = {1, 2, 3, 4}, b[] = {1, 4, 3, 1};
  TensorDistance distance, tail;
  add_distance(distance, DType::kF64, 0, std::as_bytes(std::span(a).first(2)), std::as_bytes(std::span(b).first(2)),
               {0, 2});
  add_distance(tail, DType::kF64, 2, std::as_bytes(std::span(a).last(2)), std::as_bytes(std::span(b).last(2)), {0, 2});
  merge_distance(distance, tail);
  EXPECT_EQ(distance.elements, 4u);
  EXPECT_EQ(distance.different, 2u);
  EXPECT_EQ(distance.beyond, 1u);
  EXPECT_EQ(distance.first_index, 1u);
  EXPECT_EQ(distance.mean_abs(), 1.25);
  EXPECT_EQ(distance.sum_squares, 13);
  TensorDistance late;
  merge_distance(late, TensorDistance{.elements = 2});
  merge_distance(late, tail);
  EXPECT_EQ(late.first_index, 3u);
}

TEST(AddDistance, TheRelativeToleranceIsOfTheSecondValue) {
  const auto beyond = [](float a, float b) {
    const float left[] = {a}, right[] = {b};
    TensorDistance distance;
    add_distance(distance, DType::kF32, 0, std::as_bytes(std::span(left)), std::as_bytes(std::span(right)),
                 {.rtol = 0.5});
    return distance.beyond;
  };
  EXPECT_EQ(beyond(1, 2), 0u) << "1 off, half of 2";
  EXPECT_EQ(beyond(2, 1), 1u) << "1 off, more than half of 1";
}

TEST(AddDistance, HasTwoNaNsWithinEveryTolerance) {
  const std::uint32_t a[] = {0x7fc00000, 0x7fc00000, 0x7f800000}, b[] = {0x7fc00001, 0, 0xff800000};
  TensorDistance distance;
  add_distance(distance, DType::kF32, 0, std::as_bytes(std::span(a)), std::as_bytes(std::span(b)), {1, 1});
  EXPECT_EQ(distance.different, 3u);
  EXPECT_EQ(distance.beyond, 2u);
}

TEST(AddDistance, SeparatesNonFiniteValuesAndCountsBitsNotNumbers) {
  const float a[] = {1, 0.0f, 5, NAN, 2, INFINITY}, b[] = {1, -0.0f, 7, NAN, NAN, 1};
  TensorDistance distance;
  add_distance(distance, DType::kF32, 100, std::as_bytes(std::span(a)), std::as_bytes(std::span(b)));
  EXPECT_EQ(distance.elements, 6u);
  EXPECT_EQ(distance.different, 4u);  // -0 counts, equal NaNs do not
  EXPECT_EQ(distance.first_index, 101u);
  EXPECT_EQ(distance.first_b, "-0");
  EXPECT_EQ(distance.non_finite, 2u);
  EXPECT_EQ(distance.max_abs, 2);
  EXPECT_DOUBLE_EQ(distance.max_rel, 2.0 / 7);
}

std::string phase_text(const LrPhase& phase) {
  InspectReport a, b;
  a.lr = LrSchedule{.phases = {phase}};
  b.lr = LrSchedule{};
  return state_differences(a, b).at(0).a;
}

TEST(PhaseText, SaysWhereAStretchedPhaseBegan) {
  EXPECT_EQ(phase_text({1, PhaseKind::kLinear, 0, 0.5, 0, 10}), "linear 0 -> 0.5 over 10 steps from step 1");
  EXPECT_EQ(phase_text({61, PhaseKind::kCosine, 0.5, 0, -60.5, 212.5}),
            "cosine 0.5 -> 0 over 212.5 steps from step 61 (origin -60.5)");
  EXPECT_EQ(phase_text({11, PhaseKind::kConstant, 0.5, 0.5, 11, 0}), "constant 0.5 from step 11");
}

TEST(PhaseText, HidesTheLastBitsOfAProductButNotWhereTheyAreTheDifference) {
  const LrPhase computed{11, PhaseKind::kConstant, 0.003 * 0.1, 0.003 * 0.1, 11, 0};
  EXPECT_EQ(phase_text(computed), "constant 3e-04 from step 11");
  InspectReport a, b;
  a.lr = LrSchedule{.phases = {computed}};
  b.lr = LrSchedule{.phases = {{11, PhaseKind::kConstant, 0.0003, 0.0003, 11, 0}}};
  const std::vector<Difference> found = state_differences(a, b);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].a, "constant 0.00030000000000000003 from step 11");
  EXPECT_EQ(found[0].b, "constant 3e-04 from step 11");
}

}  // namespace
}  // namespace titan::ckpt::diff_test
