#include "converters/dcp/dcp_format.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <functional>
#include <map>
#include <random>

#include "ckpt/model/leaf.h"
#include "ckpt/plan/lr_schedule.h"
#include "converters/dcp/dcp_checkpoint.h"
#include "converters/dcp/metadata_writer.h"
#include "converters/model_config.h"
#include "tests/converters/dcp/dcp_builder.h"
#include "tests/support/files.h"
#include "tests/support/make_checkpoint.h"
#include "tests/support/mem_fs.h"

namespace titan::convert::dcp {
namespace {

using ckpt::testing::MemFs;
using ::testing::HasSubstr;

// Random boxes of random tensors, read in random ranges.
TEST(DcpReader, AssemblesAnyRangeOfAnySharding) {
  const std::uint32_t seed = 11;
  std::mt19937 random(seed);
  for (int round = 0; round < 12; ++round) {
    MemFs fs;
    ASSERT_TRUE(fs.make_dir("/d").ok());
    std::vector<testing::ShardedTensor> tensors;
    for (int t = 0; t < 4; ++t) {
      testing::ShardedTensor tensor{"t" + std::to_string(t), {}, {}};
      for (std::size_t d = 0, rank = random() % 4; d < rank; ++d) {
        tensor.shape.push_back(1 + random() % 7);
        std::vector<std::uint64_t> cuts(random() % 3);
        for (std::uint64_t& cut : cuts) cut = random() % (tensor.shape.back() + 1);  // equal cuts make boxes without elements
        std::ranges::sort(cuts);
        tensor.cuts.push_back(cuts);
      }
      tensors.push_back(std::move(tensor));
    }
    ASSERT_TRUE(testing::write_sharded(fs, "/d", tensors, {{"v", Value::of(0.25)}}).ok());
    const auto reader = DcpReader::open(fs, "/d");
    ASSERT_TRUE(reader.ok()) << reader.status().to_string() << " seed " << seed << " round " << round;
    for (std::size_t t = 0; t < tensors.size(); ++t) {
      const TensorEntry& entry = *(*reader)->metadata().tensor(tensors[t].name);
      const std::uint64_t elements = ckpt::element_count(tensors[t].shape);
      for (int range = 0; range < 20; ++range) {
        const std::uint64_t first = random() % elements, count = 1 + random() % (elements - first);
        std::vector<float> out(count, -1);
        ASSERT_TRUE((*reader)->read(entry, first, std::as_writable_bytes(std::span(out))).ok());
        for (std::uint64_t i = 0; i < count; ++i) ASSERT_EQ(out[i], static_cast<float>(1000 * t + first + i)) << "seed " << seed << " round " << round;
      }
    }
    EXPECT_EQ((*reader)->value("v")->number(), 0.25);
    const auto report = (*reader)->verify({});
    ASSERT_TRUE(report.ok());
    EXPECT_TRUE(report->damage.empty());
  }
}

TEST(DcpReader, FindsAFlippedPayloadBitByReadingAndByVerifying) {
  MemFs fs;
  ASSERT_TRUE(fs.make_dir("/d").ok());
  ASSERT_TRUE(testing::write_sharded(fs, "/d", {{"a", {40, 8}, {{20}}}}, {}).ok());
  const std::byte flipped[] = {std::byte{0x41}};
  ASSERT_TRUE(fs.overwrite("/d/__1_0.distcp", 704 + 100, flipped).ok());
  const auto reader = DcpReader::open(fs, "/d");
  ASSERT_TRUE(reader.ok());
  std::vector<float> out(40 * 8);
  const Status status = (*reader)->read(*(*reader)->metadata().tensor("a"), 0, std::as_writable_bytes(std::span(out)));
  EXPECT_EQ(status.code, ckpt::Code::kCorrupt);
  EXPECT_THAT(status.message, HasSubstr("/d/__1_0.distcp: item a at offset 0: entry data/0, 640 bytes at offset 704, does not match its CRC"));
  const auto report = (*reader)->verify({});
  ASSERT_TRUE(report.ok());
  ASSERT_EQ(report->damage.size(), 1u);
  EXPECT_EQ(report->damage[0].file, "__1_0.distcp");
  EXPECT_EQ(report->damage[0].tensor, "a");
}

TEST(DcpReader, RefusesFilesThatAreMissingOrShort) {
  MemFs fs;
  ASSERT_TRUE(fs.make_dir("/d").ok());
  EXPECT_EQ(DcpReader::open(fs, "/d").status().code, ckpt::Code::kNotFound);
  ASSERT_TRUE(testing::write_sharded(fs, "/d", {{"a", {4}, {{2}}}}, {}).ok());
  ASSERT_TRUE(fs.resize("/d/__1_0.distcp", 100).ok());
  EXPECT_THAT(DcpReader::open(fs, "/d").status().message, HasSubstr("has 100 bytes, its items need"));
  ASSERT_TRUE(fs.remove_file("/d/__1_0.distcp").ok());
  EXPECT_THAT(DcpReader::open(fs, "/d").status().message, HasSubstr("/d/__1_0.distcp is missing"));
}

// A whole small torchtitan checkpoint: dim 8, 2 heads of 4, 1 key head, 1 layer, step 10 of 20.
struct Mini {
  bool newer_names = false;
  bool optimizer = true;
  std::vector<std::pair<std::vector<std::string>, std::optional<Value>>> changes;  // a value that is another, or gone
  float odd_step = 10;                                                             // of norm.weight
};
constexpr double kNextLr = 0.00051;

void write_mini(MemFs& fs, const Mini& mini) {
  ASSERT_TRUE(fs.make_dir("/step-10").ok());
  auto file = AppendFile::create(fs, "/step-10/f.distcp");
  ASSERT_TRUE(file.ok());
  std::vector<WrittenItem> items;
  const auto tensor = [&](std::vector<std::string> path, const std::vector<std::uint64_t>& shape, float value) {
    const std::vector<float> data(ckpt::element_count(shape), value);
    const auto range = append_tensor(**file, "float32", shape, std::as_bytes(std::span(data)));
    ASSERT_TRUE(range.ok());
    items.push_back({std::move(path), "float32", shape, *range});
  };
  const auto value = [&](std::vector<std::string> path, Value what) {
    for (const auto& [changed, other] : mini.changes) {
      if (changed != path) continue;
      if (!other) return;
      what = *other;
    }
    const auto range = append_value(**file, what);
    ASSERT_TRUE(range.ok());
    items.push_back({std::move(path), "", {}, *range});
  };
  ModelConfig model;
  model.dim = 8, model.n_layers = 1, model.n_heads = 2, model.n_kv_heads = 1, model.head_dim = 4, model.ffn_dim = 12, model.vocab_size = 5;
  float number = 0;
  for (const ckpt::ParameterMeta& parameter : model_parameters(model)) {
    std::string name = parameter.name;
    if (mini.newer_names) {
      if (const auto at = name.find("attention.w"); at != std::string::npos && name.find("attention.wo") == std::string::npos) name.insert(at + 10, "qkv_linear.");
      if (name == "output.weight") name = "lm_head.weight";
    }
    tensor({name}, parameter.shape, ++number);
    if (!mini.optimizer) continue;
    tensor({"optimizer", "state." + name + ".exp_avg"}, parameter.shape, number + 100);
    tensor({"optimizer", "state." + name + ".exp_avg_sq"}, parameter.shape, number + 200);
    tensor({"optimizer", "state." + name + ".step"}, {}, name == "norm.weight" ? mini.odd_step : 10);
    value({"optimizer", "param_groups." + name + ".lr"}, Value::of(kNextLr));
    value({"optimizer", "param_groups." + name + ".initial_lr"}, Value::of(0.001));
    value({"optimizer", "param_groups." + name + ".betas"}, Value::tuple({Value::of(0.9), Value::of(0.95)}));
    value({"optimizer", "param_groups." + name + ".eps"}, Value::of(1e-8));
    value({"optimizer", "param_groups." + name + ".weight_decay"}, Value::of(0.1));
    value({"optimizer", "param_groups." + name + ".amsgrad"}, Value::boolean(false));
  }
  if (mini.optimizer) {
    value({"lr_scheduler", "last_epoch"}, Value::of(std::int64_t{10}));
    value({"lr_scheduler", "base_lrs"}, Value::list({Value::of(0.001)}));
    value({"lr_scheduler", "_last_lr"}, Value::list({Value::of(kNextLr)}));
    value({"train_state", "step"}, Value::of(std::int64_t{10}));
    value({"train_state", "ntokens_seen"}, Value::of(std::int64_t{320}));
    value({"dataloader", "world_size"}, Value::of(std::int64_t{2}));
  }
  ASSERT_TRUE((*file)->finish().ok());
  const std::string metadata = encode_metadata("f.distcp", items);
  ASSERT_TRUE(ckpt::write_new_file(fs, "/step-10/.metadata", std::as_bytes(std::span(metadata))).ok());
}

// lr(11) = 1e-3 (1 - 9.8 / 20) is kNextLr: total 20, ratio 1, no warm-up, floor 0.02: 0.02 + 0.98 (1 - 10/20) = 0.51.
Settings mini_config(const std::map<std::string, std::string>& changes = {}) {
  std::map<std::string, std::string> rows = {{"lr_scheduler.min_lr_factor", "0.02"}, {"lr_scheduler.warmup_steps", "0"}, {"model.n_heads", "2"}, {"model.rope_scaling", "\"llama3:8:1:4:8192\""}, {"model.rope_theta", "500000"}, {"optimizer.lr", "1e-3"},
                                             {"training.steps", "20"}, {"training.seq_len", "16"}, {"training.local_batch_size", "1"}};
  for (const auto& [key, value] : changes) rows[key] = value;
  return {rows.begin(), rows.end()};
}

Result<ImportPlan> plan(const Mini& mini, const ImportOptions& options) {
  auto fs = std::make_unique<MemFs>();
  write_mini(*fs, mini);
  auto opened = dcp_format().open(*fs, "/step-10");
  if (!opened.ok()) return opened.status();
  return (*opened)->plan(options);
}

TEST(DcpImport, WithTheConfigurationARunCanGoOn) {
  const Result<ImportPlan> result = plan({}, {{}, mini_config()});
  ASSERT_TRUE(result.ok()) << result.status().to_string();
  EXPECT_EQ(result->step, 10u);
  EXPECT_EQ(result->parameters.front().name, "tok_embeddings.weight");
  EXPECT_EQ(result->parameters.back().name, "output.weight");
  EXPECT_EQ(result->tensors.size(), 3 * result->parameters.size());
  EXPECT_EQ(result->optimizer_steps, std::vector<std::uint64_t>(result->parameters.size(), 10));
  ASSERT_TRUE(result->train && result->lr);
  EXPECT_EQ(result->train->tokens, 640u);  // 320 of each of two ranks
  EXPECT_NEAR(ckpt::lr_at(result->lr->phases, 11), kNextLr, 1e-15);
  EXPECT_FALSE(result->data);
  const Result<ModelConfig> model = model_from_settings("m", result->config);
  ASSERT_TRUE(model.ok()) << model.status().to_string();
  EXPECT_EQ(model->n_kv_heads, 1u);
  EXPECT_EQ(model->rope_scaling, RopeScaling{});
}

TEST(DcpImport, TakesTheDataRanksFromTheConfigurationWhereTheSourceHasNone) {
  const Mini ours{.changes = {{std::vector<std::string>{"dataloader", "world_size"}, std::nullopt}}};
  const Result<ImportPlan> result = plan(ours, {{}, mini_config({{"parallelism.data_parallel_shard_degree", "2"}, {"parallelism.data_parallel_replicate_degree", "3"}})});
  ASSERT_TRUE(result.ok()) << result.status().to_string();
  EXPECT_EQ(result->train->tokens, 320u * 6);
  EXPECT_THAT(result->notes, ::testing::Contains(HasSubstr("6 data ranks, taken from the configuration")));
  EXPECT_THAT(plan(ours, {{}, mini_config()}).status().hint, HasSubstr("--set parallelism.data_parallel_shard_degree=N"));
}

TEST(DcpImport, WithoutTheConfigurationTakesTheTensorsAlone) {
  const Result<ImportPlan> result = plan({}, {});
  ASSERT_TRUE(result.ok()) << result.status().to_string();
  EXPECT_EQ(result->tensors.size(), 3 * result->parameters.size());
  EXPECT_FALSE(result->train || result->lr || result->data);
  EXPECT_THAT(result->notes, ::testing::Contains(HasSubstr("tensors only")));
}

TEST(DcpImport, TakesTheStepOfAModelAloneFromTheFolder) {
  const Result<ImportPlan> result = plan({.optimizer = false}, {});
  ASSERT_TRUE(result.ok()) << result.status().to_string();
  EXPECT_EQ(result->step, 10u);
  EXPECT_TRUE(result->optimizer_steps.empty());
}

TEST(DcpImport, ReadsTheNewerNamesOfAModel) {
  EXPECT_THAT(plan({.newer_names = true}, {}).status().hint, HasSubstr("--skip 'optimizer.*'"));
  const Result<ImportPlan> looked = plan({.newer_names = true}, {.look = true});
  ASSERT_TRUE(looked.ok()) << looked.status().to_string();
  EXPECT_TRUE(std::ranges::all_of(looked->tensors, [](const TensorPlan& tensor) { return tensor.ref.slot.empty(); })) << "the model alone";
  const Result<ImportPlan> result = plan({.newer_names = true}, {.skip = {"optimizer.*"}});
  ASSERT_TRUE(result.ok()) << result.status().to_string();
  const Result<ImportPlan> older = plan({.optimizer = false}, {});
  EXPECT_EQ(result->parameters, older->parameters);
}

struct Refused {
  const char* name;
  Mini mini;
  std::map<std::string, std::string> config;
  const char* message;
};
class DcpResume : public ::testing::TestWithParam<Refused> {};

TEST_P(DcpResume, IsRefusedWhereConfigurationAndCheckpointDisagree) {
  const Result<ImportPlan> result = plan(GetParam().mini, {{}, mini_config(GetParam().config)});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.status().code, ckpt::Code::kIncompatible);
  EXPECT_THAT(result.status().message, HasSubstr(GetParam().message));
}

using Path = std::vector<std::string>;
INSTANTIATE_TEST_SUITE_P(
    Table, DcpResume,
    ::testing::Values(
        Refused{"WrongTotal", {}, {{"training.steps", "21"}}, "lr_scheduler._last_lr is 0.00051, but lr(11) of the configuration's curve is"},
        Refused{"WrongWarmup", {}, {{"lr_scheduler.warmup_steps", "5"}}, "lr_scheduler._last_lr is 0.00051"},
        Refused{"WrongPeak", {}, {{"optimizer.lr", "2e-3"}}, "lr_scheduler.base_lrs is 0.001, but optimizer.lr of the configuration is 0.002"},
        Refused{"WrongBeta", {}, {{"optimizer.beta2", "0.99"}}, "betas is 0.95, but optimizer.beta2 of the configuration is 0.99"},
        Refused{"WrongDecay", {}, {{"optimizer.weight_decay", "0"}}, "weight_decay is 0.1, but optimizer.weight_decay"},
        Refused{"WrongEps", {}, {{"optimizer.eps", "1e-6"}}, "eps is 1e-08, but optimizer.eps"},
        Refused{"OtherOptimizer", {}, {{"optimizer.name", "\"Adam\""}}, "only AdamW can go on"},
        Refused{"NoHeads", {}, {{"model.n_heads", "not set"}}, "does not say how many heads"},
        Refused{"MaskedFlavor", {}, {{"model.n_heads", "not set"}, {"model.flavor", "\"8B_flex\""}}, "flavour `8B_flex` masks attention between documents"},
        Refused{"NoTheta", {}, {{"model.rope_theta", "not set"}}, "does not say model.rope_theta of"},
        Refused{"NoScaling", {}, {{"model.rope_scaling", "not set"}}, "does not say model.rope_scaling of"},
        Refused{"NoRope", {}, {{"model.rope_scaling", "not set"}, {"model.rope_theta", "not set"}}, "does not say model.rope_theta and model.rope_scaling of"},
        Refused{"WrongHeads", {}, {{"model.n_heads", "3"}}, "do not make whole heads"},
        Refused{"WrongDim", {}, {{"model.dim", "16"}}, "model.dim is 16 in the configuration and 8 in the tensors"},
        Refused{"EpochBehind", {.changes = {{Path{"lr_scheduler", "last_epoch"}, Value::of(std::int64_t{9})}}}, {}, "lr_scheduler.last_epoch is 9, but train_state.step is 10"},
        Refused{"OneStepOdd", {.odd_step = 9}, {}, "optimizer.state.norm.weight.step is 9, but train_state.step is 10"},
        Refused{"OneGroupOdd", {.changes = {{Path{"optimizer", "param_groups.norm.weight.lr"}, Value::of(0.5)}}}, {}, "param_groups.norm.weight.lr is 0.5"},
        Refused{"LrOffByALittle", {.changes = {{Path{"lr_scheduler", "_last_lr"}, Value::list({Value::of(kNextLr * (1 + 1e-11))})}}}, {}, "lr_scheduler._last_lr"},
        Refused{"NoWorld", {.changes = {{Path{"dataloader", "world_size"}, std::nullopt}}}, {}, "has no dataloader.world_size"},
        Refused{"NoTokens", {.changes = {{Path{"train_state", "ntokens_seen"}, std::nullopt}}}, {}, "has no train_state.ntokens_seen"},
        Refused{"Amsgrad", {.changes = {{Path{"optimizer", "param_groups.norm.weight.amsgrad"}, Value::boolean(true)}}}, {}, "amsgrad is True"}),
    [](const auto& info) { return std::string(info.param.name); });

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
    options.config = Settings{{"optimizer.beta1", "0.9"}, {"optimizer.beta2", "0.95"}, {"optimizer.eps", "1e-08"}, {"optimizer.weight_decay", "0.1"},
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
  std::size_t compared = 0;
  for (const TensorPlan& tensor : back->tensors) {
    const auto index = manifest.find(back->parameters[tensor.ref.index].name);
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
  EXPECT_EQ(reader.value("train_state.ntokens_seen")->integer, static_cast<std::int64_t>(source_->train_state()->tokens / 2));
  EXPECT_EQ(reader.metadata().value("dataloader.world_size"), nullptr);
}

TEST_F(DcpExport, NeedsTheOptimizersSettings) {
  auto writer = create({}, {});
  ASSERT_FALSE(writer.ok());
  EXPECT_EQ(writer.status().code, ckpt::Code::kIncompatible);
  EXPECT_THAT(writer.status().message, HasSubstr("does not say what optimizer.beta1 is"));
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

TEST_F(DcpExport, PassesOnWhatStopsIt) {
  auto writer = create({}, options());
  ASSERT_TRUE(writer.ok());
  ASSERT_TRUE(fs_.make_dir("/out").ok());
  const Status status = (*writer)->write(fs_, "/out", [](std::uint64_t, std::uint64_t) { return ckpt::failed("stopped"); });
  EXPECT_EQ(status.message, "stopped");
  EXPECT_FALSE(fs_.stat("/out/.metadata").ok());  // nothing that looks whole
  EXPECT_EQ(dcp_format().open(fs_, "/out").status().code, ckpt::Code::kCorrupt);
}

}  // namespace
}  // namespace titan::convert::dcp
