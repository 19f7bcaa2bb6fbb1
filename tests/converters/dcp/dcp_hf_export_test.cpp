// Our checkpoints as DCP directories with Hugging Face's names, and back as runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "ckpt/model/leaf.h"
#include "ckpt/model/rope_permutation.h"
#include "ckpt/plan/lr_schedule.h"
#include "ckpt/plan/lr_settings.h"
#include "converters/dcp/dcp_checkpoint.h"
#include "converters/foreign_view.h"
#include "recipe/model/manifest_dims.h"
#include "tests/support/files.h"
#include "tests/support/make_checkpoint.h"
#include "tests/support/mem_fs.h"

namespace titan::convert::dcp::dcp_hf_export_test {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

// Of a Synthetic: two heads of 8 rows, for heads of 4 hide a reversed order.
Settings model_rows() {
  recipe::ModelDims model;
  model.dim = 16, model.n_layers = 2, model.n_heads = 2, model.n_kv_heads = 2, model.head_dim = 8, model.ffn_dim = 24,
  model.vocab_size = 67;
  return recipe::model_rows(model);
}

Settings run_rows() {
  Settings rows = model_rows();
  return ckpt::with_rows(std::move(rows), {{"optimizer.beta1", "0.9"},
                                           {"optimizer.beta2", "0.95"},
                                           {"optimizer.eps", "1e-08"},
                                           {"optimizer.lr", "0.001"},
                                           {"optimizer.weight_decay", "0.1"},
                                           {"training.global_batch_size", "8"},
                                           {"training.seq_len", "32"},
                                           {"training.steps", "100"}});
}

class DcpOfHuggingFaceWritten : public ::testing::Test {
 protected:
  void write(const Settings& config, ExportOptions options = {}) {
    const auto published = ckpt::testing::make_checkpoint(fs_, "/run", {.step = 10, .config = config});
    ASSERT_TRUE(published.ok()) << published.status().to_string();
    auto reader = CheckpointReader::open(fs_, published->path);
    ASSERT_TRUE(reader.ok());
    source_.emplace(std::move(*reader));
    options.names = DcpNames::kHuggingface;
    auto writer = dcp_format().create(fs_, *source_, options);
    ASSERT_TRUE(writer.ok()) << writer.status().to_string();
    ASSERT_TRUE(fs_.make_dir("/out").ok());
    ASSERT_TRUE((*writer)->write(fs_, "/out", {}).ok());
    notes_ = (*writer)->notes();
    permuted_ = std::ranges::count((*writer)->report(), true, &TensorReport::permuted);
    auto opened = dcp_format().open(fs_, "/out");
    ASSERT_TRUE(opened.ok()) << opened.status().to_string();
    foreign_ = std::move(*opened);
  }
  const DcpReader& reader() const { return static_cast<const DcpCheckpoint&>(*foreign_).reader(); }
  std::vector<std::byte> ours(const std::string& name, const std::string& slot) const {
    const auto index = ckpt::ParameterIndex(source_->manifest()).find(name);
    EXPECT_TRUE(index) << name;
    const ckpt::LeafGrid grid = source_->manifest().parameters[*index].meta.grid(source_->manifest().leaf_elements);
    std::vector<std::byte> bytes(grid.elements * 4);
    EXPECT_TRUE(source_->read({*index, slot}, {0, grid.count()}, bytes).ok());
    return bytes;
  }
  std::vector<std::byte> theirs(const std::string& name) const {
    const auto at = std::ranges::find(foreign_->tensors(), name, &ForeignTensor::name);
    if (at == foreign_->tensors().end()) return {};
    std::vector<std::byte> bytes(at->bytes());
    EXPECT_TRUE(foreign_->read(static_cast<std::size_t>(at - foreign_->tensors().begin()), 0, bytes).ok());
    return bytes;
  }

  ckpt::testing::MemFs fs_;
  std::optional<CheckpointReader> source_;
  std::unique_ptr<ForeignCheckpoint> foreign_;
  std::vector<std::string> notes_;
  std::ptrdiff_t permuted_ = 0;
};

TEST_F(DcpOfHuggingFaceWritten, HasRowsInHalvesAndReadsBackWithEveryByte) {
  write(run_rows());
  EXPECT_EQ(ckpt::testing::tree(fs_, "/out"), (std::vector<std::string>{".metadata", "__0_0.distcp", "config.json"}));
  for (const std::string slot : {"", "exp_avg", "exp_avg_sq"}) {
    const std::vector<std::byte> here = ours("layers.1.attention.wk.weight", slot);
    const std::string name = "model.layers.1.self_attn.k_proj.weight";
    const std::vector<std::byte> there =
        theirs(slot.empty() ? "model." + name : "optimizer.state." + name + "." + slot);
    ASSERT_EQ(here.size(), there.size());
    for (std::uint64_t row = 0; row < 16; ++row)
      EXPECT_EQ(std::memcmp(&here[row * 64], &there[ckpt::half_split_row(row, 8) * 64], 64), 0) << slot << row;
  }
  EXPECT_EQ(permuted_, 3 * 4);
  const Result<ImportPlan> back = foreign_->plan({});
  ASSERT_TRUE(back.ok()) << back.status().to_string();
  EXPECT_EQ(back->config, model_rows()) << "config.json says the model";
  EXPECT_EQ(back->step, 10u);
  ASSERT_EQ(back->tensors.size(), 3 * source_->manifest().parameters.size());
  for (std::size_t i = 0; i < back->tensors.size(); ++i) {
    const ckpt::TensorRef& ref = back->tensors[i].ref;
    std::vector<std::byte> bytes(bytes_of(*foreign_, back->tensors[i]));
    ASSERT_TRUE(PlannedReader(*foreign_, *back).read(i, 0, bytes).ok());
    EXPECT_EQ(bytes, ours(back->parameters[ref.index].name, ref.slot)) << back->parameters[ref.index].name << ref.slot;
  }
}

TEST_F(DcpOfHuggingFaceWritten, HasTheOptimizersGroupsInBothFormsAndALambdaLr) {
  write(run_rows());
  const double next = ckpt::lr_at(source_->lr_schedule()->phases, 11);
  for (const char* group : {"0", "lm_head.weight", "model.layers.0.mlp.up_proj.weight"}) {
    const std::string prefix = std::string("optimizer.param_groups.") + group + ".";
    EXPECT_EQ(reader().value(prefix + "lr")->real, next);
    EXPECT_EQ(reader().value(prefix + "initial_lr")->real, 0.001);
    EXPECT_EQ(reader().value(prefix + "fused")->kind, ItemValue::Kind::kNone);
  }
  const Result<ItemValue> parameters = reader().value("optimizer.param_groups.0.params");
  ASSERT_TRUE(parameters.ok());
  EXPECT_EQ(parameters->parts.size(), source_->manifest().parameters.size());
  EXPECT_THAT(parameters->parts, Contains(ItemValue::of(std::string("model.embed_tokens.weight"))));
  EXPECT_EQ(reader().value("lr_scheduler.last_epoch")->integer, 10);
  EXPECT_EQ(reader().value("lr_scheduler.lr_lambdas")->parts, std::vector<ItemValue>{ItemValue::none()});
  EXPECT_EQ(reader().value("train_state.tokens")->integer, static_cast<std::int64_t>(source_->train_state()->tokens));
  EXPECT_THAT(notes_, Contains(HasSubstr("\"model\": ..., \"optimizer\": ...")));
}

TEST_F(DcpOfHuggingFaceWritten, IsARunAgainWithTheConfiguration) {
  write(run_rows());
  const Settings config = ckpt::with_rows(run_rows(), ckpt::lr_rows(source_->lr_schedule()->accepted));
  const Result<ImportPlan> back = foreign_->plan({.config = config});
  ASSERT_TRUE(back.ok()) << back.status().to_string();
  ASSERT_TRUE(back->train && back->lr);
  EXPECT_EQ(back->train->step, 10u);
  EXPECT_EQ(back->train->tokens, source_->train_state()->tokens);
  EXPECT_EQ(back->lr->accepted.peak, 0.001);
  EXPECT_EQ(ckpt::setting(back->config, "training.global_batch_size"), "8");
  const Result<ImportPlan> model = foreign_->plan({.config = model_rows()});
  ASSERT_TRUE(model.ok()) << model.status().to_string();
  EXPECT_FALSE(model->train) << "a configuration of the model alone is about no run";
}

}  // namespace
}  // namespace titan::convert::dcp::dcp_hf_export_test
