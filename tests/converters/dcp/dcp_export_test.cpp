// Our checkpoints as DCP directories.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ckpt/model/leaf.h"
#include "ckpt/plan/lr_schedule.h"
#include "ckpt/plan/lr_settings.h"
#include "converters/dcp/dcp_checkpoint.h"
#include "recipe/model/manifest_dims.h"
#include "tests/support/files.h"
#include "tests/support/make_checkpoint.h"
#include "tests/support/mem_fs.h"

namespace titan::convert::dcp::dcp_export_test {
namespace {

using ckpt::testing::MemFs;
using ::testing::HasSubstr;

// One of our checkpoints, written as DCP and read back.
class DcpExport : public ::testing::Test {
 protected:
  Result<std::unique_ptr<ForeignWriter>> create(ckpt::testing::Synthetic synthetic, ExportOptions options) {
    const auto published = ckpt::testing::make_checkpoint(fs_, "/run", synthetic);
    if (!published.ok()) return published.status();
    auto reader = CheckpointReader::open(fs_, published->path);
    if (!reader.ok()) return reader.status();
    source_.emplace(std::move(*reader));
    return dcp_format().create(fs_, *source_, options);
  }
  static ExportOptions options() {
    ExportOptions options;
    options.config = Settings{{"optimizer.beta1", "0.9"},
                              {"optimizer.beta2", "0.95"},
                              {"optimizer.eps", "1e-08"},
                              {"optimizer.weight_decay", "0.1"},
                              {"parallelism.data_parallel_shard_degree", "2"}};
    return options;
  }
  MemFs fs_;
  std::optional<CheckpointReader> source_;
};

TEST_F(DcpExport, ReadsBackWithEveryByteAndAllThatAResumeNeeds) {
  auto writer = create({.step = 10}, options());
  ASSERT_TRUE(writer.ok()) << writer.status().to_string();
  ASSERT_TRUE(fs_.make_dir("/out").ok());
  ASSERT_TRUE((*writer)->write(fs_, "/out", {}).ok());
  EXPECT_EQ(ckpt::testing::tree(fs_, "/out"), (std::vector<std::string>{".metadata", "__0_0.distcp"}));
  const auto opened = dcp_format().open(fs_, "/out");
  ASSERT_TRUE(opened.ok()) << opened.status().to_string();
  const auto& foreign = static_cast<const DcpCheckpoint&>(**opened);
  const Result<ImportPlan> back = foreign.plan({});
  ASSERT_TRUE(back.ok()) << back.status().to_string();
  const ckpt::Manifest& manifest = source_->manifest();
  const ckpt::ParameterIndex by_name(manifest);
  std::size_t compared = 0;
  for (const TensorPlan& tensor : back->tensors) {
    const auto index = by_name.find(back->parameters[tensor.ref.index].name);
    ASSERT_TRUE(index);
    const ckpt::TensorRef ref{*index, tensor.ref.slot};
    const ckpt::LeafGrid grid = manifest.parameters[*index].meta.grid(manifest.leaf_elements);
    std::vector<std::byte> ours(grid.elements * 4), theirs(grid.elements * 4);
    ASSERT_TRUE(source_->read(ref, {0, grid.count()}, ours).ok());
    ASSERT_TRUE(foreign.read(tensor.source, 0, theirs).ok());
    EXPECT_EQ(ours, theirs);
    ++compared;
  }
  EXPECT_EQ(compared, 3 * manifest.parameters.size());
  const DcpReader& reader = foreign.reader();
  const double next = ckpt::lr_at(source_->lr_schedule()->phases, 11);
  EXPECT_EQ(reader.value("lr_scheduler._last_lr")->parts[0].real, next);
  EXPECT_EQ(reader.value("optimizer.param_groups.norm.weight.lr")->real, next);
  EXPECT_EQ(reader.value("lr_scheduler._step_count")->integer, 11);
  EXPECT_EQ(reader.value("lr_scheduler._is_initial")->integer, 0);
  EXPECT_EQ(reader.value("train_state.ntokens_seen")->integer,
            static_cast<std::int64_t>(source_->train_state()->tokens / 2));
  EXPECT_EQ(reader.metadata().value("dataloader.world_size"), nullptr);
}

TEST_F(DcpExport, WritesTheRulesOfTheOptimizerIntoTheirGroups) {
  const Settings ruled{{"optimizer.rules", R"(["*norm* weight_decay=0 lr_factor=0.5"])"}};
  const auto writer = create({.step = 10, .config = ruled}, options());
  ASSERT_TRUE(writer.ok()) << writer.status().to_string();
  ASSERT_TRUE(fs_.make_dir("/out").ok());
  ASSERT_TRUE((*writer)->write(fs_, "/out", {}).ok());
  const auto opened = dcp_format().open(fs_, "/out");
  ASSERT_TRUE(opened.ok()) << opened.status().to_string();
  const DcpReader& reader = static_cast<const DcpCheckpoint&>(**opened).reader();
  const double next = ckpt::lr_at(source_->lr_schedule()->phases, 11);
  const auto value = [&](const std::string& field) { return reader.value("optimizer.param_groups." + field)->real; };
  EXPECT_EQ(value("norm.weight.weight_decay"), 0);
  EXPECT_EQ(value("norm.weight.lr"), next * 0.5);
  EXPECT_EQ(value("output.weight.weight_decay"), 0.1);
  EXPECT_EQ(value("output.weight.lr"), next);
}

TEST_F(DcpExport, RefusesAConfigurationThatSaysSomethingElse) {
  ExportOptions how = options();
  how.config = ckpt::with_rows(*how.config, {{"lr_scheduler.decay_type", "'cosine'"},
                                             {"lr_scheduler.lr_min", "0.1"},
                                             {"lr_scheduler.warmup_steps", "10"},
                                             {"optimizer.beta2", "0.5"},
                                             {"optimizer.lr", "1.0"},
                                             {"training.steps", "999"}});
  const Settings own{{"optimizer.beta2", "0.95"}, {"optimizer.eps", "1e-8"}, {"optimizer.lr", "0.001"}};
  auto writer = create({.step = 10, .config = own}, how);
  ASSERT_FALSE(writer.ok());
  EXPECT_EQ(writer.status().code, ckpt::Code::kIncompatible);
  EXPECT_THAT(writer.status().message,
              HasSubstr("training.steps is 100, the configuration says 999; optimizer.beta2 is 0.95, the configuration "
                        "says 0.5; optimizer.lr is 0.001, the configuration says 1.0"));
  EXPECT_THAT(writer.status().hint, HasSubstr("--lr-from-config"));
  how.lr_from_config = true;
  writer = create({.step = 11, .config = own}, how);
  ASSERT_FALSE(writer.ok());
  EXPECT_THAT(writer.status().message, ::testing::EndsWith(": optimizer.beta2 is 0.95, the configuration says 0.5"));
  how.config = ckpt::with_rows(*how.config, {{"optimizer.beta2", "9.5e-1"}});
  writer = create({.step = 12, .config = own}, how);
  EXPECT_TRUE(writer.ok()) << writer.status().to_string();
}

TEST_F(DcpExport, NeedsTheOptimizersSettings) {
  auto writer = create({}, {});
  ASSERT_FALSE(writer.ok());
  EXPECT_EQ(writer.status().code, ckpt::Code::kIncompatible);
  EXPECT_THAT(writer.status().message,
              HasSubstr("does not say optimizer.beta1, optimizer.beta2, optimizer.eps, optimizer.weight_decay"));
}

TEST_F(DcpExport, WritesTheModelAloneWhenAsked) {
  ExportOptions model;
  model.skip = {"optimizer.*"};
  auto writer = create({}, model);
  ASSERT_TRUE(writer.ok()) << writer.status().to_string();
  std::uint64_t skipped = 0;
  for (const TensorReport& row : (*writer)->report()) skipped += row.fate == Fate::kSkipped ? 1 : 0;
  EXPECT_EQ(skipped, 2 * source_->manifest().parameters.size());
  EXPECT_THAT((*writer)->notes(), ::testing::Contains(HasSubstr("the model alone")));
}

TEST_F(DcpExport, LeavesOutNoOptimizerForARuleThatTakesAPartOfIt) {
  ExportOptions part;
  part.skip = {"*.wo.weight.exp_avg"};
  const auto writer = create({}, part);
  ASSERT_FALSE(writer.ok());
  EXPECT_EQ(writer.status().code, ckpt::Code::kIncompatible);
  EXPECT_THAT(writer.status().message, HasSubstr("'layers.0.attention.wo.weight.exp_avg' first"));
  EXPECT_THAT(writer.status().hint, HasSubstr("--skip 'optimizer.*'"));
}

// The model of a Synthetic with heads.
Settings model_of_synthetic(std::uint64_t head_dim, std::uint64_t dim = 16) {
  recipe::ModelDims model;
  model.dim = dim, model.n_layers = 2, model.n_heads = 4, model.n_kv_heads = 4, model.head_dim = head_dim,
  model.ffn_dim = 24, model.vocab_size = 67;
  return recipe::model_rows(model);
}

TEST_F(DcpExport, RefusesAModelThatTorchtitanCannotBuild) {
  for (const bool alone : {false, true}) {
    ExportOptions how = options();
    if (alone) how.skip = {"optimizer.*"};
    auto writer = create({.step = alone ? 11u : 10u, .config = model_of_synthetic(6)}, how);
    ASSERT_FALSE(writer.ok());
    EXPECT_EQ(writer.status().code, ckpt::Code::kUnsupported);
    EXPECT_THAT(writer.status().message,
                HasSubstr("model.head_dim is 6, but torchtitan's llama3 always has dim / n_heads, here 16 / 4 = 4"));
  }
}

TEST_F(DcpExport, RefusesPartsThatTheNamesThereDoNotTell) {
  std::uint64_t step = 20;
  for (const auto& [key, part] : {std::pair{"model.sliding_window", "a sliding window"},
                                  {"model.n_experts", "experts"},
                                  {"model.post_norm", "norms of what comes out of attention and feed-forward"},
                                  {"model.whole_qk_norm", "norms over all queries and keys of a token"}}) {
    const Settings rows = ckpt::with_rows(model_of_synthetic(4), {{key, "true"}});
    auto writer = create({.step = step++, .config = rows}, options());
    ASSERT_FALSE(writer.ok()) << key;
    EXPECT_EQ(writer.status().code, ckpt::Code::kUnsupported);
    EXPECT_THAT(writer.status().message, HasSubstr(std::string("a model with ") + part));
    EXPECT_EQ(writer.status().hint.find("--names hf") != std::string::npos, part == std::string("a sliding window"));
  }
}

TEST_F(DcpExport, SaysWhatTheFlavourMustBeWithTheModelAloneToo) {
  ExportOptions model = options();
  model.skip = {"optimizer.*"};
  auto writer = create({.config = model_of_synthetic(4)}, model);
  ASSERT_TRUE(writer.ok()) << writer.status().to_string();
  EXPECT_THAT((*writer)->notes(),
              ::testing::Contains(HasSubstr("flavour must be TransformerModelArgs(dim=16, n_layers=2, n_heads=4")));
  auto unknown = create({.step = 11}, model);
  ASSERT_TRUE(unknown.ok()) << unknown.status().to_string();
  EXPECT_THAT((*unknown)->notes(), ::testing::Contains(HasSubstr("does not say what heads, RoPE and eps")));
}

TEST_F(DcpExport, PassesOnWhatStopsIt) {
  auto writer = create({}, options());
  ASSERT_TRUE(writer.ok());
  ASSERT_TRUE(fs_.make_dir("/out").ok());
  const Status status =
      (*writer)->write(fs_, "/out", [](std::uint64_t, std::uint64_t) { return ckpt::failed("stopped"); });
  EXPECT_EQ(status.message, "stopped");
  EXPECT_FALSE(fs_.stat("/out/.metadata").ok());  // nothing that looks whole
  EXPECT_EQ(dcp_format().open(fs_, "/out").status().code, ckpt::Code::kCorrupt);
}

}  // namespace
}  // namespace titan::convert::dcp::dcp_export_test
