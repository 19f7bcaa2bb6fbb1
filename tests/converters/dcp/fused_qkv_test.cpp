#include "converters/dcp/fused_qkv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <span>

#include "ckpt/model/leaf.h"
#include "ckpt/plan/lr_settings.h"
#include "converters/dcp/dcp_checkpoint.h"
#include "converters/dcp/flavor_args.h"
#include "converters/foreign_view.h"
#include "recipe/model/manifest_dims.h"
#include "tests/converters/dcp/dcp_builder.h"
#include "tests/support/make_checkpoint.h"
#include "tests/support/mem_fs.h"

namespace titan::convert::dcp::fused_qkv_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kFused = "layers.3.attention.qkv_linear.wqkv.weight";

TEST(FusedQkv, HasThreePartsUnderOurNames) {
  const std::vector<FusedPart> parts = fused_parts(kFused, 3, 4);
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_EQ(parts[0].parameter, "layers.3.attention.wq.weight");
  EXPECT_EQ(parts[1].parameter, "layers.3.attention.wk.weight");
  EXPECT_EQ(parts[2].parameter, "layers.3.attention.wv.weight");
  EXPECT_EQ(parts[0].blocks, (RowBlocks{12, 20, 0}));
  EXPECT_EQ(parts[1].blocks, (RowBlocks{4, 20, 12}));
  EXPECT_EQ(parts[2].blocks, (RowBlocks{4, 20, 16}));
  for (const char* name : {"layers.3.attention.qkv_linear.wq.weight", "layers.3.attention.wqkv.weight", "wqkv", ""})
    EXPECT_FALSE(is_fused_qkv(name)) << name;
}

// Two heads of keys, two of queries each, two rows a head, three columns: element j of the tensor is j.
TEST(FusedQkv, RowsAreReadFromWhereTheyLie) {
  ckpt::testing::MemFs fs;
  ASSERT_TRUE(fs.make_dir("/d").ok());
  ASSERT_TRUE(testing::write_sharded(fs, "/d", {{kFused, {16, 3}, {{5}}}}, {}).ok());
  const auto source = dcp_format().open(fs, "/d");
  ASSERT_TRUE(source.ok()) << source.status().to_string();
  const auto rows = [&](std::size_t part, std::uint64_t head_dim) {
    const FusedPart one = fused_parts(kFused, 2, 2)[part];
    ImportPlan plan;
    plan.parameters = {{one.parameter, {part == 0 ? 8u : 4u, 3}}};
    plan.tensors = {{{0, ""}, 0, head_dim, false, one.blocks}};
    EXPECT_EQ(bytes_of(**source, plan.tensors[0]), (part == 0 ? 8u : 4u) * 3 * sizeof(float));
    std::vector<float> elements((part == 0 ? 8 : 4) * 3), first;
    const PlannedReader reader(**source, plan);
    // In two reads, of which the second begins within a row.
    const auto bytes = std::as_writable_bytes(std::span(elements));
    EXPECT_TRUE(reader.read(0, 0, bytes.first(4 * sizeof(float))).ok());
    EXPECT_TRUE(reader.read(0, 4, bytes.subspan(4 * sizeof(float))).ok());
    for (std::size_t i = 0; i < elements.size(); i += 3) {
      EXPECT_EQ(elements[i + 2], elements[i] + 2);
      first.push_back(elements[i] / 3);
    }
    return first;
  };
  EXPECT_THAT(rows(0, 0), ElementsAre(0, 1, 2, 3, 8, 9, 10, 11));
  EXPECT_THAT(rows(1, 0), ElementsAre(4, 5, 12, 13));
  EXPECT_THAT(rows(2, 0), ElementsAre(6, 7, 14, 15));
  EXPECT_THAT(rows(0, 4), ElementsAre(0, 2, 1, 3, 8, 10, 9, 11)) << "in halves as well";
}

TEST(FusedQkv, IsTheHomeOfThreeParameters) {
  for (const char* name :
       {"layers.3.attention.wq.weight", "layers.3.attention.wk.weight", "layers.3.attention.wv.weight"})
    EXPECT_EQ(fused_home(name), kFused) << name;
  for (const char* name : {"layers.3.attention.wo.weight", "output.weight", "norm.weight", "layers.3.attention.wq"})
    EXPECT_EQ(fused_home(name), std::nullopt) << name;
}

std::vector<ckpt::ParameterMeta> three(std::uint64_t queries, std::uint64_t keys, std::uint64_t values) {
  return {{"q", {queries, 5}}, {"k", {keys, 5}}, {"v", {values, 5}}};
}

TEST(FusedQkv, TakesTurnsByHeadsOfKeys) {
  const auto fused = fused_shape("/c", kFused, three(24, 8, 8), 4);
  ASSERT_TRUE(fused.ok()) << fused.status().to_string();
  EXPECT_EQ(fused->kv_heads, 2u);
  EXPECT_THAT(fused->shape, ElementsAre(40, 5));
  EXPECT_EQ(fused_shape("/c", kFused, three(24, 8, 8), 8)->kv_heads, 1u);
}

TEST(FusedQkv, RowsOfNoWholeHeadsAreRefused) {
  EXPECT_THAT(fused_shape("/c", kFused, three(24, 8, 8), 0).status().hint, HasSubstr("--skip 'optimizer.*'"));
  for (const auto& parts : {three(22, 8, 8), three(24, 6, 6), three(24, 8, 4), three(24, 8, 16), three(24, 2, 2),
                            three(4, 8, 8), three(0, 8, 8)}) {
    const auto fused = fused_shape("/c", kFused, parts, 4);
    EXPECT_EQ(fused.status().code, ckpt::Code::kIncompatible) << parts[0].shape[0] << " " << parts[1].shape[0];
    EXPECT_THAT(fused.status().message, HasSubstr("whole heads of 4 rows"));
  }
  EXPECT_FALSE(fused_shape("/c", kFused, {{"q", {}}, {"k", {}}, {"v", {}}}, 4).ok());
}

// Two heads of 8 rows of queries, of keys and of values, 16 columns.
class NewerTorchtitan : public ::testing::Test {
 protected:
  Result<std::unique_ptr<ForeignWriter>> create(const Settings& rows, std::vector<std::string> skip = {}) {
    Settings config = ckpt::with_rows(rows, {{"optimizer.beta1", "0.9"},
                                             {"optimizer.beta2", "0.95"},
                                             {"optimizer.eps", "1e-08"},
                                             {"optimizer.lr", "0.001"},
                                             {"optimizer.weight_decay", "0.1"},
                                             {"training.steps", "100"}});
    const std::string run = "/run" + std::to_string(++runs_);
    const auto published = ckpt::testing::make_checkpoint(fs_, run, {.step = 10, .config = std::move(config)});
    if (!published.ok()) return published.status();
    auto reader = CheckpointReader::open(fs_, published->path);
    if (!reader.ok()) return reader.status();
    source_.emplace(std::move(*reader));
    ExportOptions options;
    options.names = DcpNames::kNewerTorchtitan;
    options.skip = std::move(skip);
    return dcp_format().create(fs_, *source_, options);
  }
  static Settings model_rows() {
    recipe::ModelDims model{16, 2, 2, 2, 8, 24, 67};
    return recipe::model_rows(model);
  }
  std::vector<std::byte> ours(const std::string& name, const std::string& slot) const {
    const auto index = ckpt::ParameterIndex(source_->manifest()).find(name);
    EXPECT_TRUE(index) << name;
    const ckpt::LeafGrid grid = source_->manifest().parameters[*index].meta.grid(source_->manifest().leaf_elements);
    std::vector<std::byte> bytes(grid.elements * 4);
    EXPECT_TRUE(source_->read({*index, slot}, {0, grid.count()}, bytes).ok());
    return bytes;
  }

  ckpt::testing::MemFs fs_;
  int runs_ = 0;
  std::optional<CheckpointReader> source_;
};

TEST_F(NewerTorchtitan, HasMomentsOfEachHeadTogether) {
  auto writer = create(model_rows());
  ASSERT_TRUE(writer.ok()) << writer.status().to_string();
  ASSERT_TRUE(fs_.make_dir("/out").ok());
  ASSERT_TRUE((*writer)->write(fs_, "/out", {}).ok());
  const auto opened = dcp_format().open(fs_, "/out");
  ASSERT_TRUE(opened.ok()) << opened.status().to_string();
  const auto there = [&](const std::string& name) {
    const auto at = std::ranges::find((*opened)->tensors(), name, &ForeignTensor::name);
    if (at == (*opened)->tensors().end()) return std::vector<std::byte>{};
    std::vector<std::byte> bytes(at->bytes());
    EXPECT_TRUE((*opened)->read(static_cast<std::size_t>(at - (*opened)->tensors().begin()), 0, bytes).ok());
    return bytes;
  };
  const std::string layer = "layers.1.attention.";
  EXPECT_EQ(there(layer + "qkv_linear.wk.weight"), ours(layer + "wk.weight", ""));
  EXPECT_EQ(there("lm_head.weight"), ours("output.weight", ""));
  for (const std::string slot : {"exp_avg", "exp_avg_sq"}) {
    EXPECT_EQ(there("optimizer.state.lm_head.weight." + slot), ours("output.weight", slot));
    const std::vector<std::byte> fused = there("optimizer.state." + layer + "qkv_linear.wqkv.weight." + slot);
    ASSERT_EQ(fused.size(), 48u * 16 * 4);
    constexpr std::size_t kHead = 8 * 16 * 4;
    for (std::size_t block = 0; block < 6; ++block) {
      const std::string name = layer + std::vector<std::string>{"wq", "wk", "wv"}[block % 3] + ".weight";
      EXPECT_EQ(std::memcmp(&fused[block * kHead], &ours(name, slot)[block / 3 * kHead], kHead), 0) << slot << block;
    }
  }
  const DcpReader& reader = static_cast<const DcpCheckpoint&>(**opened).reader();
  EXPECT_EQ(reader.value("optimizer.param_groups." + layer + "qkv_linear.wqkv.weight.weight_decay")->real, 0.1);
  EXPECT_EQ(reader.value("lr_scheduler.last_epoch")->integer, 10);
  EXPECT_EQ(reader.metadata().value("lr_scheduler._last_lr"), nullptr) << "0.3.0 has none";
  EXPECT_EQ(reader.metadata().value("optimizer.param_groups." + layer + "wq.weight.lr"), nullptr);
}

TEST_F(NewerTorchtitan, NeedsAllThreeAndTheNumberOfHeads) {
  const Status alone = create(model_rows(), {"layers.0.attention.wv.weight"}).status();
  EXPECT_EQ(alone.code, ckpt::Code::kIncompatible);
  EXPECT_THAT(alone.message, HasSubstr("'layers.0.attention.wv.weight' is left out"));
  EXPECT_TRUE(create(model_rows(), {"layers.0.attention.wv.weight", "optimizer.*"}).ok());
  const Status heads = create({{"model.dim", "16"}}).status();
  EXPECT_THAT(heads.message, HasSubstr("the number of heads says which rows are whose"));
  EXPECT_TRUE(create({{"model.dim", "16"}}, {"optimizer.*"}).ok());
}

TEST_F(NewerTorchtitan, RulesWithinAFusedTensorAreRefused) {
  const Status apart =
      create(ckpt::with_rows(model_rows(), {{"optimizer.rules", "[\"*.wv.* weight_decay=0\"]"}})).status();
  EXPECT_EQ(apart.code, ckpt::Code::kIncompatible);
  EXPECT_THAT(apart.message, HasSubstr("updates both as one tensor"));
  EXPECT_TRUE(create(ckpt::with_rows(model_rows(), {{"optimizer.rules", "[\"*.attention.* weight_decay=0\"]"}})).ok());
}

// To compare two directories without the number of heads.
TEST_F(NewerTorchtitan, MomentsAreShownWholeOnRequest) {
  auto writer = create(model_rows());
  ASSERT_TRUE(writer.ok()) << writer.status().to_string();
  ASSERT_TRUE(fs_.make_dir("/out").ok());
  ASSERT_TRUE((*writer)->write(fs_, "/out", {}).ok());
  const auto opened = dcp_format().open(fs_, "/out");
  ASSERT_TRUE(opened.ok()) << opened.status().to_string();
  const auto shown = [&](bool whole) {
    const auto plan = (*opened)->plan({.look = true, .whole_moments = whole});
    EXPECT_TRUE(plan.ok()) << plan.status().to_string();
    std::map<std::string, std::vector<std::uint64_t>> moments;
    for (const TensorPlan& tensor : plan->tensors)
      if (const ckpt::ParameterMeta& parameter = plan->parameters[tensor.ref.index]; !tensor.ref.slot.empty())
        moments[parameter.name + "." + tensor.ref.slot] = parameter.shape;
    return std::pair(moments, plan->left_out.size());
  };
  const std::size_t parameters = source_->manifest().parameters.size();
  EXPECT_TRUE(shown(false).first.empty());
  EXPECT_GT(shown(false).second, 0u);
  const auto [moments, left] = shown(true);
  EXPECT_EQ(left, 0u);
  EXPECT_EQ(moments.size(), 2 * (parameters - 2 * 2)) << "one for three, in both layers";
  EXPECT_THAT(moments.at("layers.1.attention.qkv_linear.wqkv.weight.exp_avg_sq"), ElementsAre(48, 16));
  EXPECT_FALSE(moments.contains("layers.1.attention.wq.weight.exp_avg_sq"));
}

TEST(FusedQkv, TheFlavourSaysItsParts) {
  recipe::ModelDims model{16, 2, 4, 2, 4, 32, 40};
  EXPECT_EQ(newer_flavor_text(model),
            "llama3 of dim=16, n_layers=2, n_heads=4, n_kv_heads=2, hidden_dim=32, vocab_size=40, fuse_qkv=True, norms "
            "with eps=0.00001 and ComplexRoPE(dim=4, theta=500000.0, scaling=\"none\")");
}

}  // namespace
}  // namespace titan::convert::dcp::fused_qkv_test
