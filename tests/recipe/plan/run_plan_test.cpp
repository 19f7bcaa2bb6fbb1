#include "recipe/plan/run_plan.h"

#include <gmock/gmock.h>

#include "ckpt/model/leaf.h"
#include "recipe/keys/writer.h"
#include "tests/recipe/support/config_support.h"

namespace titan::recipe {
namespace {

using testing::ElementsAre;

/// "training.steps=3 ..." as flags.
std::vector<std::string> split(const std::string& settings) {
  std::vector<std::string> flags;
  for (std::size_t at = 0; at < settings.size();) {
    const std::size_t end = std::min(settings.find(' ', at), settings.size());
    flags.push_back("--" + settings.substr(at, end - at));
    at = end + 1;
  }
  return flags;
}

Result<RunPlan> plan(const std::string& settings, std::uint32_t world, std::int64_t stored = 0) {
  return make_run_plan(load_ok("", split(settings)).config, world, stored);
}

/// torchtitan's tensor and context parallel ranks share one batch, so that a file of it makes the batch that it makes
/// there.
TEST(MakeRunPlan, TheBatchIsTorchtitansWhereItsRanksWouldShareOne) {
  const auto planned = [](const std::string& more, std::uint32_t world) {
    return make_run_plan(load_ok("[parallelism]\ntensor_parallel_degree = 4\ncontext_parallel_degree = "
                                 "2\n[training]\nlocal_batch_size = 8\n" +
                                     more,
                                 {"--model.flavor=debugmodel"})
                             .config,
                         world);
  };
  EXPECT_EQ(planned("", 1)->batch.global, 8);
  EXPECT_EQ(planned("[debug]\nseed = 1", 1)->warnings.size(), 0u);
  const auto small = planned("", 16);
  EXPECT_EQ(small.status().code, ckpt::Code::kInvalid);
  EXPECT_THAT(small.status().message, testing::HasSubstr("2 micro-batches per step"));
  const auto cut = make_run_plan(load_ok("parallelism.tensor_parallel_degree = 8\ntraining.local_batch_size = "
                                         "8\nparallelism.pipeline_parallel_microbatch_size = 1",
                                         {"--model.flavor=debugmodel"})
                                     .config,
                                 16);
  ASSERT_TRUE(cut.ok()) << cut.status().to_string();
  EXPECT_EQ(cut->batch.global, 16);
  EXPECT_THAT(cut->warnings, testing::Contains(testing::HasSubstr("training.global_batch_size is 16 sequences")));
  // Degrees that are given are those of ranks with a batch of their own, there as here.
  EXPECT_EQ(make_run_plan(load_ok("parallelism.tensor_parallel_degree = 8\nparallelism.data_parallel_shard_degree = "
                                  "4\ntraining.local_batch_size = 2",
                                  {"--model.flavor=debugmodel"})
                              .config,
                          4)
                ->batch.global,
            8);
}

ModelDims dims_of(const std::string& settings) {
  const Result<RunPlan> made = plan(settings, 1);
  EXPECT_TRUE(made.ok()) << made.status().to_string();
  return made.ok() ? made->dims : ModelDims{};
}

const RopeScaling kTorchtitans{8, 1, 4, 8192};

TEST(ModelDims, FlavoursHaveTorchtitansDimensions) {
  EXPECT_EQ(dims_of("model.flavor=debugmodel"),
            (ModelDims{256, 6, 16, 16, 16, 768, 2048, 1e-5, 500000, false, false, kTorchtitans}));
  EXPECT_EQ(dims_of("model.flavor=8B"),
            (ModelDims{4096, 32, 32, 8, 128, 14336, 128256, 1e-5, 500000, false, false, kTorchtitans}));
  EXPECT_EQ(dims_of("model.flavor=70B"),
            (ModelDims{8192, 80, 64, 8, 128, 28672, 128256, 1e-5, 500000, false, false, kTorchtitans}));
  EXPECT_EQ(dims_of("model.flavor=405B"),
            (ModelDims{16384, 126, 128, 8, 128, 53248, 128256, 1e-5, 500000, false, false, kTorchtitans}));
}

// Of these, a flavour that is given scales RoPE as torchtitan does.
TEST(ModelDims, OnlyAFlavourThatIsGivenScalesRope) {
  EXPECT_EQ(dims_of(""), (ModelDims{256, 6, 16, 16, 16, 768, 2048, 1e-5, 500000, false}));
  EXPECT_EQ(dims_of("model.flavor=debugmodel model.rope_scaling=none"), dims_of(""));
  EXPECT_EQ(dims_of("model.flavor=8B model.rope_scaling=llama3:32:1:4:8192").rope_scaling->factor, 32);
  EXPECT_EQ(dims_of("model.flavor=debugmodel model.dim=64 model.n_heads=4 model.rope_theta=10000").rope_scaling,
            kTorchtitans);
  EXPECT_EQ(dims_of("model.rope_scaling=none").rope_scaling, std::nullopt);
}

// Earlier versions wrote the flavour and all its dimensions into RUN/config.toml, and scaled nothing.
TEST(ModelDims, AFlavourBesideEveryDimensionSaysNothing) {
  const std::string all =
      "model.flavor=8B model.dim=64 model.n_layers=2 model.n_heads=4 model.n_kv_heads=2 model.head_dim=16 "
      "model.ffn_dim=96 model.vocab_size=99 model.norm_eps=1e-5";
  EXPECT_EQ(dims_of(all).rope_scaling, kTorchtitans);
  EXPECT_EQ(dims_of(all + " model.rope_theta=500000").rope_scaling, std::nullopt);
  RunPlan made;
  const Config config = load_ok("", split(all + " model.rope_theta=500000")).config;
  made.dims = *model_dims(config);
  EXPECT_EQ(resolved_config(config, made).model.rope_scaling, "none") << "from now on it is written down";
}

// What a run writes down means the same when it is read again.
TEST(ModelDims, AResolvedConfigurationKeepsItsScaling) {
  for (const char* flags :
       {"", "model.flavor=8B", "model.flavor=8B model.rope_scaling=none", "model.rope_scaling=llama3:4:1:4:64"}) {
    const Config config = load_ok("", split(flags)).config;
    RunPlan made;
    made.dims = *model_dims(config);
    made.batch.global = 8;
    const Config resolved = resolved_config(config, made);
    EXPECT_EQ(*model_dims(resolved), made.dims) << flags;
    EXPECT_EQ(*model_dims(load_ok(config_toml(resolved), {}).config), made.dims) << flags;
  }
}

TEST(ModelDims, ExplicitDimensionsWinOverTheFlavour) {
  EXPECT_EQ(
      dims_of(
          "model.dim=200 model.n_layers=2 model.n_heads=4 model.n_kv_heads=2 model.ffn_dim=300 model.vocab_size=4099 "
          "model.tied_embeddings=true model.norm_eps=1e-6 model.rope_theta=10000"),
      (ModelDims{200, 2, 4, 2, 50, 300, 4099, 1e-6, 10000, true}));
  EXPECT_EQ(dims_of("model.dim=128 model.n_heads=4").n_kv_heads, 4);
  EXPECT_EQ(dims_of("model.flavor=8B model.n_heads=16").n_kv_heads, 16);
  EXPECT_EQ(dims_of("model.flavor=8B model.dim=2048").n_kv_heads, 8);
  EXPECT_EQ(dims_of("model.dim=100 model.head_dim=32").head_dim, 32);
  EXPECT_EQ(dims_of("model.dim=512").ffn_dim, 1536);
}

TEST(ModelDims, BiasesAndScalingAreOffUnlessAskedFor) {
  EXPECT_FALSE(dims_of("").qkv_bias);
  EXPECT_FALSE(dims_of("").rope_scaling.has_value());
  EXPECT_TRUE(dims_of("model.qkv_bias=true").qkv_bias);
  EXPECT_EQ(dims_of("model.rope_scaling=llama3:32.0:1:4.0:8192").rope_scaling, (RopeScaling{32, 1, 4, 8192}));
}

TEST(ModelDims, RopeScalingHasOneText) {
  for (const char* text : {"llama3:8:1:4:8192", "llama3:8.0:1.0:4.00:8192", "llama3:8e0:1:4:8192"})
    EXPECT_EQ(rope_scaling_text(*parse_rope_scaling(text)), "llama3:8:1:4:8192") << text;
  EXPECT_EQ(rope_scaling_text({2.5, 0.5, 4, 2048}), "llama3:2.5:0.5:4:2048");
}

TEST(ModelDims, RefusesRopeScalingThatCannotBeRead) {
  for (const char* text : {"", "llama3", "llama3:", "llama3:8:1:4", "llama3:8:1:4:8192:", "llama3:8:1:4:8192:1",
                           "llama3:8:1:4:8192.5", "llama3:8::4:8192", "llama3:8:1:4:nan", "llama3:0.5:1:4:8192",
                           "llama3:8:4:4:8192", "llama3:8:0:4:8192", "llama3:8:1:4:1e300", "llama2:8:1:4:8192"}) {
    const auto parsed = parse_rope_scaling(text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_EQ(parsed.status().code, ckpt::Code::kInvalid) << text;
  }
  EXPECT_EQ(parse_rope_scaling("yarn:4").status().code, ckpt::Code::kUnsupported);
}

TEST(ModelDims, BiasesStandBehindTheirWeights) {
  std::vector<std::string> names;
  for (const ckpt::ParameterMeta& p :
       model_parameters(dims_of("model.n_layers=1 model.n_kv_heads=4 model.qkv_bias=true")))
    names.push_back(p.name);
  EXPECT_EQ(std::vector<std::string>(names.begin() + 1, names.begin() + 8),
            (std::vector<std::string>{"layers.0.attention.wq.weight", "layers.0.attention.wq.bias",
                                      "layers.0.attention.wk.weight", "layers.0.attention.wk.bias",
                                      "layers.0.attention.wv.weight", "layers.0.attention.wv.bias",
                                      "layers.0.attention.wo.weight"}));
  const auto list = model_parameters(dims_of("model.n_kv_heads=4 model.qkv_bias=true"));
  EXPECT_THAT(list[2].shape, ElementsAre(256u));
  EXPECT_THAT(list[4].shape, ElementsAre(64u));
}

TEST(ModelDims, RefusesHeadsThatDoNotDivide) {
  struct Case {
    const char* flags;
    const char* message;
  };
  for (const Case& c :
       {Case{"--model.dim=100", "model.dim 100 is not a multiple of model.n_heads 16"},
        {"--model.n_kv_heads=3", "model.n_heads 16 is not a multiple of model.n_kv_heads 3"},
        {"--model.dim=48", "model.head_dim 3 (= model.dim / model.n_heads) is odd; RoPE rotates pairs"}}) {
    const Status status = load_error("", {c.flags});
    EXPECT_EQ(status.code, ckpt::Code::kInvalid);
    EXPECT_EQ(status.message, c.message);
  }
}

TEST(ModelParameters, StandInModuleOrderWithTorchtitansNamesAndShapes) {
  ModelDims dims{8, 1, 4, 2, 6, 20, 11};
  std::vector<std::string> names;
  for (const auto& p : model_parameters(dims)) {
    std::string text = p.name;
    for (const auto n : p.shape) text += " " + std::to_string(n);
    names.push_back(text);
  }
  EXPECT_THAT(names, ElementsAre("tok_embeddings.weight 11 8", "layers.0.attention.wq.weight 24 8",
                                 "layers.0.attention.wk.weight 12 8", "layers.0.attention.wv.weight 12 8",
                                 "layers.0.attention.wo.weight 8 24", "layers.0.feed_forward.w1.weight 20 8",
                                 "layers.0.feed_forward.w2.weight 8 20", "layers.0.feed_forward.w3.weight 20 8",
                                 "layers.0.attention_norm.weight 8", "layers.0.ffn_norm.weight 8", "norm.weight 8",
                                 "output.weight 11 8"));
  dims.tied = true;
  EXPECT_EQ(model_parameters(dims).back().name, "norm.weight");
}

TEST(ModelParameters, Llama3HasItsPublishedCount) {
  const Result<RunPlan> made = plan("model.flavor=8B", 1);
  ASSERT_TRUE(made.ok());
  std::uint64_t total = 0;
  for (const auto& p : made->parameters) total += ckpt::element_count(p.shape);
  EXPECT_EQ(total, 8'030'261'248u);
}

struct MeshCase {
  const char* settings;
  std::uint32_t world, dp, pp;
};

TEST(RunPlan, MeshIsReplicateTimesShardTimesPipeline) {
  for (const MeshCase& c : {MeshCase{"", 1, 1, 1},
                            {"", 4, 4, 1},
                            {"parallelism.pipeline_parallel_degree=2", 4, 2, 2},
                            {"parallelism.pipeline_parallel_degree=4", 4, 1, 4},
                            {"parallelism.data_parallel_replicate_degree=2", 4, 4, 1},
                            {"parallelism.data_parallel_replicate_degree=2 parallelism.data_parallel_shard_degree=3 "
                             "parallelism.pipeline_parallel_degree=2",
                             12, 6, 2}}) {
    const Result<RunPlan> made = plan(c.settings, c.world);
    ASSERT_TRUE(made.ok()) << made.status().to_string();
    EXPECT_EQ(made->mesh, (ckpt::Mesh{c.pp, c.dp, 1})) << c.settings;
  }
}

struct ErrorCase {
  const char* settings;
  std::uint32_t world;
  const char* message;
  const char* hint;
};

TEST(RunPlan, CheckpointsStandBelowTheRunFolder) {
  for (const char* folder : {"/scratch/ckpt", "..", "../other", "a/../../b", "a/.."}) {
    const Status refused =
        make_run_mesh(load_ok("", {std::string("--checkpoint.folder=") + folder}).config, 1).status();
    EXPECT_EQ(refused.code, ckpt::Code::kInvalid) << folder;
    EXPECT_EQ(refused.message,
              std::string("checkpoint.folder: expected a folder below job.dump_folder, named without `..`, found \"") +
                  folder + "\"");
    EXPECT_NE(refused.hint, "");
  }
  for (const char* folder : {"checkpoint", "a/b", "..a", "a..", "./a"})
    EXPECT_TRUE(make_run_mesh(load_ok("", {std::string("--checkpoint.folder=") + folder}).config, 1).ok()) << folder;
}

TEST(RunPlan, WorldSizeThatDoesNotFitNamesAllNumbersAndTheNearestFix) {
  const ErrorCase cases[] = {
      {"parallelism.pipeline_parallel_degree=2", 3,
       "world size 3 does not fit the mesh: it is not a multiple of parallelism.data_parallel_replicate_degree 1 x "
       "pipeline_parallel_degree 2 = 2",
       "start 4 ranks (--nproc 4), or set --parallelism.pipeline_parallel_degree=1"},
      {"parallelism.pipeline_parallel_degree=4", 1,
       "world size 1 does not fit the mesh: it is not a multiple of parallelism.data_parallel_replicate_degree 1 x "
       "pipeline_parallel_degree 4 = 4",
       "start 4 ranks (--nproc 4), or set --parallelism.pipeline_parallel_degree=1"},
      {"parallelism.data_parallel_shard_degree=2 parallelism.pipeline_parallel_degree=2", 6,
       "world size 6 does not fit the mesh: parallelism.data_parallel_replicate_degree 1 x data_parallel_shard_degree "
       "2 x "
       "pipeline_parallel_degree 2 = 4",
       "start 4 ranks (--nproc 4), or set --parallelism.data_parallel_shard_degree=3"},
      {"parallelism.data_parallel_shard_degree=2 parallelism.pipeline_parallel_degree=2", 5,
       "world size 5 does not fit the mesh: parallelism.data_parallel_replicate_degree 1 x data_parallel_shard_degree "
       "2 x "
       "pipeline_parallel_degree 2 = 4",
       "start 4 ranks (--nproc 4)"},
      {"", 0, "world size 0: expected at least 1", ""},
  };
  for (const ErrorCase& c : cases) {
    const Result<RunPlan> made = plan(c.settings, c.world);
    ASSERT_FALSE(made.ok()) << c.settings;
    EXPECT_EQ(made.status().code, ckpt::Code::kInvalid);
    EXPECT_EQ(made.status().message, c.message);
    EXPECT_EQ(made.status().hint, c.hint);
  }
}

struct BatchCase {
  const char* settings;
  std::uint32_t world;
  std::int64_t stored, micro, global, count;
};

TEST(RunPlan, BatchesFollowTheContract) {
  for (const BatchCase& c :
       {BatchCase{"", 1, 0, 8, 8, 1},
        {"", 4, 0, 8, 32, 4},
        {"parallelism.pipeline_parallel_degree=2", 4, 0, 8, 16, 2},
        {"", 4, 64, 8, 64, 8},
        {"training.global_batch_size=48", 4, 64, 8, 48, 6},
        {"training.local_batch_size=3 training.global_batch_size=21", 4, 0, 3, 21, 7},
        {"parallelism.pipeline_parallel_microbatch_size=2", 2, 0, 2, 16, 8},
        {"parallelism.pipeline_parallel_microbatch_size=2 parallelism.pipeline_parallel_degree=2", 4, 0, 2, 16, 8},
        {"training.local_batch_size=1 training.global_batch_size=7", 3, 0, 1, 7, 7}}) {
    const Result<RunPlan> made = plan(c.settings, c.world, c.stored);
    ASSERT_TRUE(made.ok()) << c.settings << made.status().to_string();
    EXPECT_EQ(made->batch, (BatchPlan{c.micro, c.global, c.count, 2048})) << c.settings;
  }
}

TEST(RunPlan, TheLayoutDoesNotChangeWhatAStepComputes) {
  const std::string settings = "training.local_batch_size=2 training.global_batch_size=24";
  const BatchPlan reference = plan(settings, 1)->batch;
  for (const std::uint32_t world : {1u, 2u, 3u, 4u, 6u, 12u})
    for (const std::uint32_t pp : {1u, 2u, 4u})
      if (world % pp == 0) {
        EXPECT_EQ(plan(settings + " parallelism.pipeline_parallel_degree=" + std::to_string(pp), world)->batch,
                  reference);
      }
}

TEST(RunPlan, BadBatchesNameTheValues) {
  const ErrorCase cases[] = {
      {"training.local_batch_size=3 training.global_batch_size=16", 1,
       "training.global_batch_size 16 is not a multiple of the micro-batch size 3 (training.local_batch_size)",
       "set --training.global_batch_size=15"},
      {"parallelism.pipeline_parallel_microbatch_size=5", 2,
       "the global batch size (training.local_batch_size 8 x DP degree 2 =) 16 is not a multiple of the micro-batch "
       "size 5 "
       "(parallelism.pipeline_parallel_microbatch_size)",
       "set --training.global_batch_size=15"},
      {"training.global_batch_size=16", 3,
       "2 micro-batches per step (training.global_batch_size 16 / micro-batch size 8) are fewer than the 3 "
       "data-parallel "
       "ranks; each rank needs at least one",
       "use at most 2 data-parallel ranks, a smaller training.local_batch_size "
       "(--parallelism.pipeline_parallel_microbatch_size=4 makes the same batch of smaller parts), or "
       "--training.global_batch_size=24"},
  };
  for (const ErrorCase& c : cases) {
    const Result<RunPlan> made = plan(c.settings, c.world);
    ASSERT_FALSE(made.ok()) << c.settings;
    EXPECT_EQ(made.status().code, ckpt::Code::kInvalid);
    EXPECT_EQ(made.status().message, c.message);
    EXPECT_EQ(made.status().hint, c.hint);
  }
  EXPECT_THAT(plan("", 3, 16).status().message, testing::HasSubstr("the checkpoint's global batch size 16"));
}

TEST(RunPlan, StagesAreCutByCost) {
  // SmolLM2-135M, whose optimum is known: Et*9|t*9|t*10|t*2L.
  const Result<RunPlan> made = plan(
      "model.dim=576 model.n_layers=30 model.n_heads=9 model.ffn_dim=1536 model.vocab_size=49152 "
      "parallelism.pipeline_parallel_degree=4",
      4);
  ASSERT_TRUE(made.ok()) << made.status().to_string();
  EXPECT_THAT(made->stage_cuts, ElementsAre(10, 19, 29));
  ASSERT_EQ(made->stage_share.size(), 4u);
  EXPECT_NEAR(made->stage_share[2] * 4, 1.078, 1e-3);
  double sum = 0;
  for (const double share : made->stage_share) sum += share;
  EXPECT_DOUBLE_EQ(sum, 1);
  EXPECT_EQ(made->parameters.front().stage, 0u);
  EXPECT_EQ(made->parameters.back().stage, 3u);
  for (const auto& p : made->parameters)
    EXPECT_EQ(p.stage == 0,
              p.name.starts_with("tok_") || (p.name.starts_with("layers.") && p.name[7] <= '8' && p.name[8] == '.'))
        << p.name;
}

TEST(RunPlan, MoreStagesThanPartsNamesTheLargestFeasibleDegree) {
  const Status status =
      plan("model.n_layers=2 training.global_batch_size=64 parallelism.pipeline_parallel_degree=5", 5).status();
  EXPECT_EQ(status.code, ckpt::Code::kInvalid);
  EXPECT_EQ(status.message,
            "parallelism.pipeline_parallel_degree 5 asks for more stages than the model has parts: embedding + 2 "
            "layers + head = 4; "
            "the largest feasible degree is 4");
  EXPECT_TRUE(plan("model.n_layers=2 parallelism.pipeline_parallel_degree=4", 4).ok());
}

TEST(RunPlan, LrSettingsComeFromTheConfig) {
  const RunPlan made = *plan(
      "optimizer.lr=1e-3 lr_scheduler.warmup_steps=5 lr_scheduler.decay_ratio=0.5 "
      "lr_scheduler.decay_type=cosine lr_scheduler.min_lr_factor=0.1 training.steps=50",
      1);
  EXPECT_EQ(made.lr, (ckpt::LrSettings{1e-3, 5, 50, 0.5, "cosine", 0.1}));
  EXPECT_EQ(plan("lr_scheduler.total_steps=80 training.steps=50", 1)->lr.total_steps, 80u);
}

TEST(RunPlan, ComputeDtypeAndScheduleComeFromTheConfig) {
  EXPECT_TRUE(plan("", 1)->bf16);
  EXPECT_FALSE(plan("training.mixed_precision_param=float32", 1)->bf16);
  EXPECT_EQ(plan("parallelism.pipeline_parallel_schedule=GPipe", 1)->schedule, "GPipe");
  EXPECT_EQ(plan("", 1)->schedule, "1F1B");
}

TEST(RunPlan, WarnsWhereSomethingLegalIsProbablyNotMeant) {
  EXPECT_THAT(plan("", 1)->warnings, testing::IsEmpty());
  EXPECT_THAT(
      plan("lr_scheduler.total_steps=60 lr_scheduler.warmup_steps=5 training.steps=100", 1)->warnings,
      ElementsAre(
          "lr_scheduler.total_steps 60 < training.steps 100: steps 61 and later train at the floor of the curve, 0.0"));
  EXPECT_THAT(
      plan("training.steps=10", 1)->warnings,
      ElementsAre(
          "lr_scheduler.warmup_steps 200 > training.steps 10: the warm-up is cut to 10 steps and nothing decays"));
  EXPECT_THAT(plan("parallelism.pipeline_parallel_degree=4 training.global_batch_size=24", 4)->warnings,
              ElementsAre(testing::StartsWith("a data-parallel rank has 3 micro-batches for 4 pipeline stages")));
  EXPECT_THAT(plan("parallelism.pipeline_parallel_degree=4 training.global_batch_size=32", 4)->warnings,
              testing::IsEmpty());
}

TEST(RunPlan, ChecksAConfigThatNoLoaderSaw) {
  Config config;
  config.training.reduction = "fast";
  EXPECT_EQ(make_run_plan(config, 1).status().code, ckpt::Code::kUnsupported);
  config = {};
  config.training.steps = 0;
  EXPECT_EQ(make_run_plan(config, 1).status().code, ckpt::Code::kInvalid);
}

}  // namespace
}  // namespace titan::recipe
