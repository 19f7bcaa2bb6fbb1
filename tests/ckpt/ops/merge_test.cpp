#include "ckpt/ops/merge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "ckpt/read/verifier.h"
#include "tests/support/files.h"
#include "tests/support/make_checkpoint.h"
#include "tests/support/mem_fs.h"

namespace titan::ckpt::merge_test {
namespace {

using namespace titan::ckpt::testing;  // NOLINT: the file is about these
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Merge : public ::testing::Test {
 protected:
  Merge() {
    EXPECT_TRUE(fs_.make_dir("/out").ok());
    for (const std::uint64_t step : {10, 20, 30}) make("/run", step, {.seed = step});
    options_.sources = {"/run@10..30"};
    options_.dst = "/out/sum";
    options_.writer = "test";
    options_.created = "2026-01-02T03:04:05Z";
    options_.open = CheckpointReader::open;
    options_.threads = 2;
  }

  void make(const std::string& run, std::uint64_t step, Synthetic synthetic) {
    synthetic.step = step;
    EXPECT_TRUE(make_checkpoint(fs_, run + "/checkpoint", synthetic).ok());
  }
  Status refused() { return merge_checkpoints(fs_, options_).status(); }
  std::vector<float> tensor(const std::string& path, std::uint32_t index) {
    const auto reader = CheckpointReader::open(fs_, path);
    EXPECT_TRUE(reader.ok()) << reader.status().to_string();
    const LeafGrid grid = reader->manifest().parameters[index].meta.grid(reader->manifest().leaf_elements);
    std::vector<float> values(grid.elements);
    EXPECT_TRUE(reader->read({index, ""}, {0, grid.count()}, std::as_writable_bytes(std::span(values))).ok());
    return values;
  }
  static std::string step_path(const std::string& run, int step) {
    return run + "/checkpoint/step-000000" + std::to_string(step);
  }

  MemFs fs_;
  MergeOptions options_;
};

TEST_F(Merge, SumsEveryTensorInTheOrderOfSteps) {
  options_.weights.given = {0.5, 0.3, 0.2};
  const auto report = merge_checkpoints(fs_, options_);
  ASSERT_TRUE(report.ok()) << report.status().to_string();
  const auto made = CheckpointReader::open(fs_, options_.dst);
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(made->manifest().id, report->id);
  EXPECT_EQ(made->manifest().step, 30u);
  ASSERT_EQ(made->manifest().components.size(), 1u) << "parameters alone";
  EXPECT_TRUE(verify_checkpoint(fs_, options_.dst)->damage.empty());
  for (std::uint32_t i = 0; i < made->manifest().parameters.size(); ++i) {
    std::vector<float> expected;
    const auto a = tensor(step_path("/run", 10), i), b = tensor(step_path("/run", 20), i),
               c = tensor(step_path("/run", 30), i);
    for (std::size_t k = 0; k < a.size(); ++k) {
      double sum = 0.5 * static_cast<double>(a[k]);
      sum += 0.3 * static_cast<double>(b[k]);
      sum += 0.2 * static_cast<double>(c[k]);
      expected.push_back(static_cast<float>(sum));
    }
    EXPECT_EQ(tensor(options_.dst, i), expected) << made->manifest().parameters[i].meta.name;
  }
}

TEST_F(Merge, RemembersSourcesAndWeights) {
  options_.weights.given = {1, 2, 1};
  ASSERT_TRUE(merge_checkpoints(fs_, options_).ok());
  const auto made = CheckpointReader::open(fs_, options_.dst);
  ASSERT_TRUE(made.ok());
  const auto& from = made->manifest().derived_from;
  ASSERT_TRUE(from.has_value());
  EXPECT_EQ(from->step, 30u);
  ASSERT_EQ(from->merged.size(), 3u);
  EXPECT_EQ(from->merged[1].path, step_path("/run", 20));
  EXPECT_EQ(from->merged[1].weight, 0.5);
  EXPECT_EQ(from->merged[2].id, from->id);
}

TEST_F(Merge, LayoutsCompressionAndOrderDoNotChangeABit) {
  make("/other", 10, {.dp = 3, .pp = 2, .seed = 10});
  make("/other", 20, {.dp = 2, .seed = 20, .codec = Codec::kZstd});
  make("/other", 30, {.pp = 2, .leaf_elements = 100, .seed = 30});
  options_.weights.decay = PhaseKind::kSqrt;
  const auto first = merge_checkpoints(fs_, options_);
  ASSERT_TRUE(first.ok()) << first.status().to_string();
  options_.sources = {"/other@30", "/other@10", "/other@20"};
  options_.dst = "/out/again";
  options_.threads = 1;
  const auto second = merge_checkpoints(fs_, options_);
  ASSERT_TRUE(second.ok()) << second.status().to_string();
  EXPECT_EQ(first->id, second->id);
}

TEST_F(Merge, GivenWeightsFollowTheOrderOfTheArguments) {
  options_.sources = {"/run@30", "/run@10"};
  options_.weights.given = {3, 1};
  const auto report = merge_checkpoints(fs_, options_);
  ASSERT_TRUE(report.ok());
  ASSERT_EQ(report->sources.size(), 2u);
  EXPECT_EQ(report->sources[0].step, 10u);
  EXPECT_EQ(report->sources[0].weight, 0.25);
}

TEST_F(Merge, SaysWhichDecayTheWeightsStandFor) {
  options_.dry_run = true;
  const auto report = merge_checkpoints(fs_, options_);
  ASSERT_TRUE(report.ok());
  EXPECT_THAT(tree(fs_, "/out"), IsEmpty());
  ASSERT_TRUE(report->nearest.has_value());
  EXPECT_EQ(report->nearest->kind, PhaseKind::kLinear);
  EXPECT_LT(report->nearest->gap, 1e-12);
  EXPECT_FALSE(report->after.empty());
}

TEST_F(Merge, SaysWhoseTokenizerIsTaken) {
  const auto opened = [&](std::vector<std::string> tokenizers) {
    options_.open = [this, tokenizers](Fs& fs, const std::string& path) -> Result<CheckpointReader> {
      TITAN_ASSIGN_OR_RETURN(CheckpointReader reader, CheckpointReader::open(fs, path));
      const std::string text = tokenizers[reader.manifest().step / 10 - 1];
      Manifest manifest = reader.manifest();
      if (!text.empty())
        manifest.files.push_back({.path = "hf/tokenizer.json", .role = FileRole::kDerived, .whole = digest_of(text)});
      return CheckpointReader::known(fs, path, manifest);
    };
    options_.dry_run = true;
    const auto report = merge_checkpoints(fs_, options_);
    EXPECT_TRUE(report.ok()) << report.status().to_string();
    return report->notes;
  };
  EXPECT_THAT(opened({"a", "a", "a"}), IsEmpty());
  EXPECT_THAT(opened({"", "", "a"}), IsEmpty()) << "what has none says nothing";
  EXPECT_THAT(
      opened({"b", "a", "a"}),
      ElementsAre(HasSubstr("step-00000010 has another tokenizer than /run/checkpoint/step-00000030, whose files "
                            "are taken")));
  EXPECT_THAT(opened({"a", "b", ""}), ElementsAre(HasSubstr("which has none: none is taken")));
}

TEST_F(Merge, PatternsAndRangesNameSteps) {
  options_.dry_run = true;
  options_.sources = {"/run@[12]0"};
  EXPECT_EQ(merge_checkpoints(fs_, options_)->sources.size(), 2u);
  options_.sources = {"/run@11..30"};
  EXPECT_EQ(merge_checkpoints(fs_, options_)->sources.size(), 2u);
  options_.sources = {"/run@11..19"};
  EXPECT_EQ(refused().code, Code::kNotFound);
  EXPECT_THAT(refused().message, HasSubstr("no step that is '11..19': it holds steps 30, 20, 10"));
}

TEST_F(Merge, AnotherModelIsRefusedByTheNameOfTheTensor) {
  make("/wide", 40, {.ffn = 32, .config = {}});
  options_.sources = {"/run@10", "/wide@40"};
  EXPECT_EQ(refused().code, Code::kIncompatible);
  EXPECT_THAT(refused().message,
              HasSubstr("layers.0.feed_forward.w1.weight is [32, 16] float32, expected [24, 16] float32"));
  make("/half", 40, {.dtype = DType::kBF16});
  options_.sources = {"/run@10", "/half@40"};
  EXPECT_THAT(refused().message, HasSubstr("bfloat16, expected [67, 16] float32"));
  EXPECT_THAT(refused().hint, HasSubstr("--dtype f32"));
  make("/deep", 40, {.layers = 3});
  options_.sources = {"/run@10", "/deep@40"};
  EXPECT_THAT(refused().message, HasSubstr("it has a tensor more, layers.2."));
  // RoPE that is not scaled has no row beside that of its base.
  make("/rope", 40, {.config = {{"model.rope_theta", "10000.0"}}});
  make("/rope", 50, {.seed = 2, .config = {{"model.rope_scaling", "\"linear:4\""}, {"model.rope_theta", "10000.0"}}});
  options_.sources = {"/rope@*"};
  EXPECT_THAT(refused().message, HasSubstr("model.rope_scaling is \"linear:4\", expected \"none\""));
  make("/heads", 40, {.config = {{"model.n_heads", "4"}}});
  make("/heads", 50, {.seed = 2, .config = {{"model.n_heads", "8"}}});
  options_.sources = {"/heads@*"};
  EXPECT_THAT(refused().message, HasSubstr("model.n_heads is 8, expected 4"));
}

TEST_F(Merge, WeightsThatDoNotFitTheSourcesAreRefused) {
  options_.weights.given = {1, 2};
  EXPECT_THAT(refused().message, HasSubstr("2 weights for 3 sources"));
  options_.weights = {};
  options_.weights.ema = 0.5;
  make("/twin", 30, {.seed = 7});
  options_.sources = {"/run@30", "/twin@30"};
  EXPECT_THAT(refused().message, HasSubstr("two sources are at step 30"));
  options_.weights = {};
  options_.dry_run = true;
  const auto soup = merge_checkpoints(fs_, options_);
  ASSERT_TRUE(soup.ok());
  EXPECT_FALSE(soup->nearest.has_value()) << "models side by side stand for no decay";
  options_.sources = {"/run@30", "/run@30"};
  EXPECT_THAT(refused().message, HasSubstr("is there twice among the sources"));
  options_.sources = {"/run@30"};
  EXPECT_THAT(refused().message, HasSubstr("there is nothing to merge with /run/checkpoint/step-00000030"));
}

TEST_F(Merge, ADamagedSourceLeavesNothing) {
  const std::string shard = step_path("/run", 20) + "/model/shard-00000.h5";
  const auto reader = CheckpointReader::open(fs_, step_path("/run", 20));
  ASSERT_TRUE(reader.ok());
  std::string bytes = get_text(fs_, shard);
  bytes[reader->manifest().parameters[1].model->pieces[0].offset] ^= 1;
  ASSERT_TRUE(fs_.remove_file(shard).ok());
  ASSERT_TRUE(put_text(fs_, shard, bytes).ok());
  EXPECT_EQ(refused().code, Code::kCorrupt);
  EXPECT_THAT(refused().hint, HasSubstr("titan-ckpt verify /run/checkpoint/step-00000020"));
  EXPECT_THAT(tree(fs_, "/out"), IsEmpty());
}

TEST_F(Merge, ADestinationInsideAnySourceIsRefused) {
  for (const bool dry_run : {true, false}) {
    options_.dry_run = dry_run;
    for (const int step : {10, 20, 30}) {
      options_.dst = step_path("/run", step) + "/sum";
      EXPECT_EQ(refused().code, Code::kInvalid) << step;
    }
  }
}

}  // namespace
}  // namespace titan::ckpt::merge_test
