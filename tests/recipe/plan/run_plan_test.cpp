#include "recipe/plan/run_plan.h"

#include <gmock/gmock.h>

#include "ckpt/model/leaf.h"
#include "recipe/keys/writer.h"
#include "recipe/model/parameters.h"
#include "tests/recipe/support/config_support.h"

namespace titan::recipe::run_plan_test {
namespace {

using testing::ElementsAre;

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

TEST(WholeModelPlan, HoldsEveryParameterOnOneStage) {
  const ModelDims dims = *model_dims(Config{});
  const RunPlan plan = whole_model_plan(dims, 17);
  EXPECT_EQ(plan.parameters.size(), model_parameters(dims).size());
  for (const ckpt::ParameterMeta& p : plan.parameters) EXPECT_EQ(p.stage, 0u);
  EXPECT_EQ(plan.batch.seq_len, 17);
  EXPECT_FALSE(plan.bf16);
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

TEST(RunPlan, FoldersOfCurvesAndTracesAreNotThatOfSteps) {
  for (const std::string flags : {"metrics.enable_tensorboard,metrics.save_tb_folder",
                                  "profiling.enable_profiling,profiling.save_traces_folder"}) {
    const std::string on = "--" + flags.substr(0, flags.find(',')) + "=true",
                      key = "--" + flags.substr(flags.find(',') + 1);
    for (const char* folder : {"checkpoint", "checkpoint/", "checkpoint/tb", ".", ""}) {
      const auto status = make_run_mesh(load_ok("", {on, key + "=" + folder}).config, 1).status();
      EXPECT_THAT(status.message, testing::HasSubstr("no folder of its own")) << key << " " << folder;
      EXPECT_TRUE(make_run_mesh(load_ok("", {key + "=" + folder}).config, 1).ok()) << "not written";
    }
    for (const char* folder : {"tb", "checkpoints", "curves/of/this"})
      EXPECT_TRUE(make_run_mesh(load_ok("", {on, key + "=" + folder}).config, 1).ok()) << folder;
  }
}

TEST(RunPlan, TheRankThatShowsStepsIsOneOfTheRun) {
  EXPECT_TRUE(make_run_mesh(load_ok("", {"--metrics.log_rank=3"}).config, 4).ok());
  const auto status = make_run_mesh(load_ok("", {"--metrics.log_rank=4"}).config, 4).status();
  EXPECT_THAT(status.message, testing::HasSubstr("metrics.log_rank 4 is none of the 4 ranks"));
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
      "parallelism.pipeline_parallel_degree=4 parallelism.stage_cost=layer=1,head=7.111111",
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
  EXPECT_EQ(plan("parallelism.pipeline_parallel_schedule=GPipe", 1)->schedule, ScheduleKind::kGPipe);
  EXPECT_EQ(plan("", 1)->schedule, ScheduleKind::k1F1B);
}

TEST(RunPlan, EveryScheduleExchangesInTurns) {
  for (const char* key : {"parallelism.gradient_exchange=always", "parallelism.gradient_exchange=node",
                          "parallelism.data_parallel_sharding=zero2"})
    for (const ScheduleFacts& facts : schedules()) {
      const std::string keys = std::string(key) + " model.tied_embeddings=true parallelism.pipeline_parallel_degree=2" +
                               " training.global_batch_size=64 parallelism.pipeline_parallel_schedule=" + facts.name;
      EXPECT_TRUE(plan(keys.c_str(), 4).ok()) << keys << ": " << plan(keys.c_str(), 4).status().to_string();
    }
}

TEST(RunPlan, NumbersOfTheEngineComeFromTheConfig) {
  EXPECT_EQ(plan("", 1)->loss_chunk, 0);
  EXPECT_EQ(plan("training.loss_chunk=128", 1)->loss_chunk, 128);
  EXPECT_EQ(plan("", 1)->exchange_bytes, std::uint64_t{256} << 20);
  EXPECT_EQ(plan("comm.exchange_bytes=1000000", 1)->exchange_bytes, 1'000'000u);
  EXPECT_EQ(plan("", 1)->exchange, ExchangeDomain::kLate);
  EXPECT_EQ(plan("parallelism.gradient_exchange=node", 1)->exchange, ExchangeDomain::kNode);
  EXPECT_EQ(plan("", 1)->gemm, CpuGemm::kMkl);
}

TEST(RunPlan, AttentionKeepsItsScoresOnAGpuInFloat32AndOnRequest) {
  const std::string bf16 = " training.mixed_precision_param=bfloat16", math = " training.attention=math";
  EXPECT_FALSE(plan("", 1)->keeps_scores) << "the CPU's is fused";
  EXPECT_FALSE(plan("training.attention=math", 1)->keeps_scores);
  EXPECT_TRUE(plan("training.device=cuda training.mixed_precision_param=float32", 1)->keeps_scores);
  EXPECT_FALSE(plan("training.device=cuda" + bf16, 1)->keeps_scores);
  EXPECT_TRUE(plan("training.device=cuda" + bf16 + math, 1)->keeps_scores);
}

TEST(RunPlan, HeadsThatAKernelOfTheGpuCannotDoAreRefused) {
  const std::string wide =
      "training.device=cuda training.mixed_precision_param=bfloat16 model.n_heads=2 model.dim=1024 ";
  EXPECT_EQ(plan((wide + "model.head_dim=512").c_str(), 1).status().message,
            "attention by flash computes heads of at most 256 elements, and this model's have 512");
  EXPECT_TRUE(plan((wide + "model.head_dim=256").c_str(), 1).ok());
  EXPECT_TRUE(plan((wide + "model.head_dim=512 training.attention=math").c_str(), 1).ok());
  EXPECT_TRUE(plan((wide + "model.head_dim=512 training.device=cpu").c_str(), 1).ok());
  const std::string cudnn = "debug.deterministic=false training.attention=cudnn ";
  EXPECT_TRUE(plan((wide + cudnn + "model.head_dim=64").c_str(), 1).ok());
  EXPECT_EQ(plan((wide + cudnn + "model.head_dim=60").c_str(), 1).status().code, ckpt::Code::kInvalid);
  EXPECT_EQ(plan((wide + cudnn + "model.head_dim=256").c_str(), 1).status().message,
            "attention by cudnn computes heads of at most 128 elements, a multiple of 8, and this model's have 256");
}

TEST(RunPlan, WindowsAndExpertsAreNotThereYetOnAGpu) {
  EXPECT_EQ(plan("training.device=cuda model.n_experts=2 model.experts_per_token=1", 1).status().code,
            ckpt::Code::kUnsupported);
  EXPECT_EQ(plan("training.device=cuda model.sliding_window=64", 1).status().code, ckpt::Code::kUnsupported);
  EXPECT_TRUE(plan("training.device=cuda model.sliding_window=0", 1).ok());
  EXPECT_TRUE(plan("training.device=cpu model.sliding_window=64", 1).ok());
}

TEST(RunPlan, EveryNthLayerIsCountedFromOne) {
  RunPlan made;
  EXPECT_FALSE(recomputes(made, 0));
  made.recompute_each = 1;
  EXPECT_TRUE(recomputes(made, 0) && recomputes(made, 1));
  made.recompute_each = 3;
  EXPECT_FALSE(recomputes(made, 0) || recomputes(made, 1) || recomputes(made, 3));
  EXPECT_TRUE(recomputes(made, 2) && recomputes(made, 5));
  for (const char* option : {"0", "-1", "two", "2x", ""})
    EXPECT_EQ(plan("activation_checkpoint.selective_ac_option=" + std::string(option), 1).status().code,
              ckpt::Code::kInvalid)
        << option;
}

TEST(RunPlan, AResolvedConfigurationNamesTheLibraryOfProductsWithTheThreads) {
  RunPlan made = *plan("", 1);
  EXPECT_EQ(resolved_config(Config{}, made).training.cpu_gemm, "auto");
  EXPECT_EQ(resolved_config(Config{}, made, {}, 2).training.cpu_gemm, "mkl");
  made.gemm = CpuGemm::kOneDnn;
  EXPECT_EQ(resolved_config(Config{}, made, {}, 2).training.cpu_gemm, "onednn");
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

TEST(RunPlan, WarnsOfAModelThatNoOtherProgramReads) {
  EXPECT_THAT(plan("model.qk_norm=true model.qkv_bias=true", 1)->warnings,
              testing::Contains(testing::HasSubstr("no other program will read this model")));
  EXPECT_THAT(plan("model.post_norm=true", 1)->warnings,
              testing::Contains(testing::HasSubstr("model.post_norm and model.whole_qk_norm")));
  for (const char* one : {"model.qk_norm=true", "model.qkv_bias=true",
                          "model.qk_norm=true model.whole_qk_norm=true model.post_norm=true"})
    EXPECT_THAT(plan(one, 1)->warnings, testing::Not(testing::Contains(testing::HasSubstr("no other program"))));
}

TEST(RunPlan, OnlyModelsOfExpertsBalanceThem) {
  EXPECT_EQ(plan("model.n_experts=4 model.experts_per_token=2", 1)->router_aux_loss, 0.001);
  EXPECT_EQ(plan("model.n_experts=4 model.experts_per_token=2 training.router_aux_loss=0", 1)->router_aux_loss, 0);
  const auto dense = plan("training.router_aux_loss=0.1", 1);
  EXPECT_EQ(dense->router_aux_loss, 0);
  EXPECT_THAT(dense->warnings, testing::Contains(testing::HasSubstr("the model has none")));
}

TEST(RunPlan, SaysThatAShardDegreeDividesNoWeights) {
  const auto of_degree = [](const std::string& more) {
    return plan("parallelism.data_parallel_shard_degree=" + more, 4);
  };
  EXPECT_THAT(
      of_degree("4")->warnings,
      ElementsAre(
          "parallelism.data_parallel_shard_degree = 4 divides the optimizer alone (ZeRO-1): every rank holds all "
          "weights of its stages, which torchtitan's FSDP divides, too"));
  EXPECT_THAT(
      of_degree("4 parallelism.data_parallel_sharding=zero2")->warnings,
      ElementsAre(testing::StartsWith(
          "parallelism.data_parallel_shard_degree = 4 divides the sums of gradients and the optimizer (ZeRO-2): ")));
  EXPECT_THAT(of_degree("-1")->warnings, testing::IsEmpty());
  EXPECT_THAT(of_degree("1 parallelism.data_parallel_replicate_degree=4")->warnings, testing::IsEmpty());
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
}  // namespace titan::recipe::run_plan_test
