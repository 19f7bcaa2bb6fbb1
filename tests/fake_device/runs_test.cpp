// Whole runs on a device whose memory the host cannot touch: the losses and checkpoints are the CPU's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ckpt/read/reader.h"
#include "libtrain/engine/train/evaluation.h"
#include "libtrain/engine/train/generation.h"
#include "libtrain/job/metrics/log.h"
#include "recipe/change/name_rules.h"
#include "recipe/model/from_shapes.h"
#include "recipe/model/manifest_dims.h"
#include "recipe/plan/run_config.h"
#include "tests/fake_device/device_memory.h"
#include "tests/fake_device/fake_device.h"
#include "tests/libtrain/support/thread_run.h"
#include "tests/libtrain/support/tiny_model.h"
#include "tests/support/scratch_dir.h"

namespace titan::test::runs_test {
namespace {

using Flags = std::vector<std::string>;

constexpr std::string_view kConfig = R"(
[model]
dim = 32
n_layers = 4
n_heads = 4
n_kv_heads = 2
ffn_dim = 48
vocab_size = 256
[training]
dataset = "text"
local_batch_size = 2
global_batch_size = 8
seq_len = 16
steps = 2
cpu_gemm = "mkl"
[checkpoint]
interval = 1
[validation]
enable = true
holdout = 0.1
freq = 1
[job]
threads_per_rank = 1
[debug]
seed = 3
)";

FakeDevice& fake() {
  use_one_thread();
  static FakeDevice device;
  return device;
}

/// Runs that begin on one device and may go on on another, in folders of their own.
class Runs : public testing::Test {
 protected:
  Runs() {
    fake();  // before the first backward pass of the CPU, too
    train::show_log([](train::LogLevel, const std::string&) {});
    config_ = folder_.write("run.toml", kConfig);
    std::string text;
    for (int i = 0; i < 900; ++i) text += "the " + std::to_string(i * 7919 % 1000) + (i % 9 == 0 ? ". " : " leaf ");
    text_ = folder_.write("text.txt", text);
  }
  ~Runs() override { train::use_device(nullptr); }

  /// Returns the folder of the run.
  std::string train_on(train::Device* device, const std::string& name, int ranks, const Flags& flags) {
    const train::TrainOutcome outcome = outcome_on(device, name, ranks, flags);
    EXPECT_TRUE(outcome.status.ok()) << name << ": " << train::log_text(outcome.status);
    return folder_ / name;
  }
  train::TrainOutcome outcome_on(train::Device* device, const std::string& name, int ranks, Flags flags) {
    const std::string run = folder_ / name;
    flags.insert(flags.end(), {"training.dataset_path=" + text_, "job.dump_folder=" + run});
    for (std::string& flag : flags) flag = "--" + flag;
    const auto loaded = recipe::load_run_config(config_, flags);
    EXPECT_TRUE(loaded.ok()) << train::log_text(loaded.status());
    train::use_device(device);
    const train::TrainOutcome outcome = train_over_threads(*loaded, ranks);
    train::use_device(nullptr);
    return outcome;
  }
  /// Losses, norms and validation losses, with all their digits.
  static std::string curve(const std::string& run) {
    std::istringstream lines(train::read_text(run + "/metrics.jsonl"));
    std::string all;
    for (std::string line; std::getline(lines, line);)
      for (const char* key : {"\"loss\":", "\"grad_norm\":", "\"validation_loss\":"})
        if (const std::size_t place = line.find(key); place != std::string::npos)
          all += line.substr(place, line.find_first_of(",}", place) - place) + "\n";
    return all;
  }
  static std::string id_at(const std::string& run, int step) {
    const auto reader =
        ckpt::CheckpointReader::open(ckpt::posix_fs(), run + "/checkpoint/step-0000000" + std::to_string(step));
    EXPECT_TRUE(reader.ok()) << reader.status().message;
    return reader.ok() ? reader->manifest().id.hex() : run;
  }
  /// The same run on the CPU, whose layout is no matter.
  void expect_the_cpus(const std::string& got, const std::string& expected) {
    EXPECT_EQ(curve(got), curve(expected)) << got;
    for (const int step : {1, 2}) EXPECT_EQ(id_at(got, step), id_at(expected, step)) << got << " at step " << step;
  }

  train::ScratchDir folder_;
  std::string config_, text_;
};

const std::string kFp32 = "training.mixed_precision_param=float32", kBf16 = "training.mixed_precision_param=bfloat16",
                  kPp2 = "parallelism.pipeline_parallel_degree=2", kAlways = "parallelism.gradient_exchange=always",
                  kParts = "parallelism.exchange_parts=4";
std::string schedule(const std::string& name) { return "parallelism.pipeline_parallel_schedule=" + name; }

TEST_F(Runs, GiveTheBitsOfTheCpuOnEveryLayout) {
  struct Case {
    int ranks;
    Flags flags;
  };
  const std::vector<Case> cases{{1, {}},
                                {2, {}},
                                {2, {kPp2}},
                                {4, {kPp2}},
                                {4, {kPp2, kAlways}},
                                {2, {kParts}},
                                {4, {kPp2, kParts}},
                                {2, {kAlways, kParts}},
                                {2, {kPp2, schedule("Interleaved1F1B")}},
                                {2, {kPp2, schedule("ZBVZeroBubble"), "activation_checkpoint.mode=full"}}};
  for (const std::string& type : {kFp32, kBf16}) {
    const std::string cpu = train_on(nullptr, "cpu " + type, 1, {type});
    int number = 0;
    for (Case c : cases) {
      c.flags.push_back(type);
      expect_the_cpus(train_on(&fake(), type + " " + std::to_string(++number), c.ranks, c.flags), cpu);
    }
  }
}

// The host's choice for its own products: the device computes them in its own way.
TEST_F(Runs, TakeNoLibraryOfTheCpu) {
  const std::string cpu = train_on(nullptr, "cpu", 1, {kFp32});
  expect_the_cpus(train_on(&fake(), "fake", 1, {kFp32, "training.cpu_gemm=onednn"}), cpu);
  const auto reader = ckpt::CheckpointReader::open(ckpt::posix_fs(), folder_ / "fake/checkpoint/step-00000002");
  ASSERT_TRUE(reader.ok());
  const std::string state = train::read_text(folder_ / "fake/checkpoint/step-00000002/train_state.json");
  EXPECT_THAT(state, testing::HasSubstr("\"device\""));
  for (const char* const of_host : {"\"isa\"", "\"blas\"", "\"threads_per_rank\"", "onednn\""})
    EXPECT_THAT(state.substr(state.find("\"environment\"")), testing::Not(testing::HasSubstr(of_host)));
}

TEST_F(Runs, SaveInTheBackgroundWhatTheCpuSaves) {
  const std::string cpu = train_on(nullptr, "cpu", 1, {kBf16});
  fake().reset();
  expect_the_cpus(train_on(&fake(), "fake", 2, {kBf16, kParts, "checkpoint.async_mode=async"}), cpu);
  EXPECT_GT(fake().counts().copies_out, 0u);
  EXPECT_EQ(fake().counts().without_fence, 0u) << "copied before the device was done with it";
}

TEST_F(Runs, GoOnWhereTheCpuStoppedAndBack) {
  const std::string cpu = train_on(nullptr, "cpu", 1, {kFp32});
  for (const bool begins_on_cpu : {false, true}) {
    train::Device* const first = begins_on_cpu ? nullptr : &fake();
    const std::string run = begins_on_cpu ? "from cpu" : "from fake";
    train_on(first, run, 2, {kFp32, "debug.stop_at_step=1"});
    expect_the_cpus(train_on(begins_on_cpu ? &fake() : nullptr, run, 2, {kFp32, kPp2}), cpu);
  }
}

// A load's memory on the host does not grow with the model.
TEST_F(Runs, LoadLeafByLeaf) {
  const Flags large{kFp32, "model.dim=256", "model.vocab_size=4096", "validation.enable=false"};
  Flags stopped = large;
  stopped.push_back("debug.stop_at_step=1");
  train_on(&fake(), "large", 1, stopped);
  fake().reset();
  train_on(&fake(), "large", 1, large);
  EXPECT_GT(fake().counts().largest_host, 0u);
  EXPECT_LE(fake().counts().largest_host, 4 * ckpt::kDefaultLeafElements) << "of an embedding of four leaves";
}

TEST_F(Runs, ReadTheDeviceTwiceAStep) {
  const auto reads_of = [&](int steps) {
    fake().reset();
    train_on(&fake(), "run " + std::to_string(steps), 1,
             {kFp32, "training.steps=" + std::to_string(steps), "checkpoint.enable=false", "validation.enable=false"});
    return fake().counts().host_reads;
  };
  const std::uint64_t few = reads_of(2);
  EXPECT_EQ(reads_of(5) - few, 3u * 2u) << "the losses and the norm, whatever the number of micro-batches";
}

TEST_F(Runs, SayWhatTheDeviceHasTooLittleMemoryFor) {
  fake();
  DeviceMemory::get().limit(200'000);
  const train::TrainOutcome outcome = outcome_on(&fake(), "small", 1, {kFp32});
  DeviceMemory::get().limit(DeviceMemory::kTotal);
  EXPECT_THAT(outcome.status.message, testing::HasSubstr("rank 0 has no memory left: tensors hold"));
  EXPECT_THAT(outcome.status.message, testing::HasSubstr(" of 195.3 KiB"));
  EXPECT_THAT(outcome.status.causes, testing::Contains(testing::HasSubstr("needed for weights: about ")));
}

TEST_F(Runs, EvaluateAndWriteAsTheCpuDoes) {
  const std::string run = train_on(nullptr, "cpu", 1, {kFp32, "validation.enable=false"});
  const auto source = ckpt::open_weights(ckpt::posix_fs(), run + "/checkpoint/step-00000002");
  ASSERT_TRUE(source.ok()) << source.status().message;
  const auto dims = recipe::stored_dims(recipe::known_model((*source)->model_config(), (*source)->tensors()), run);
  ASSERT_TRUE(dims.ok()) << dims.status().message;
  train::TokenRows::Options row;
  row.row_length = 12;
  row.raw_bytes = 2;
  std::string tokens;
  for (int i = 0; i < 24; ++i) tokens += {static_cast<char>(i * 37 % 256), 0};
  const auto rows = train::TokenRows::open(folder_.write("rows.bin", tokens), row);
  ASSERT_TRUE(rows.ok()) << rows.status().message;
  const auto results = [&](train::Device* device) {
    train::use_device(device);
    const auto report = train::evaluate(**source, *dims, *rows, 1, {}, {});
    train::GenerationOptions options;
    options.prompt = {1, 2, 3};
    options.most = 8;
    options.sampling.temperature = 0;
    const auto written = train::generate(**source, *dims, options, [](std::int64_t) { return true; }, {}, {});
    train::use_device(nullptr);
    return std::pair{report.value().loss, written.value().tokens};
  };
  EXPECT_EQ(results(&fake()), results(nullptr));
}

}  // namespace
}  // namespace titan::test::runs_test
