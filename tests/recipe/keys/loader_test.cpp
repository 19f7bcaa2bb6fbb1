#include "recipe/keys/loader.h"
#include "ckpt/base/exit_code.h"

#include <cstdlib>
#include <fstream>

#include <gmock/gmock.h>

#include "tests/recipe/support/config_support.h"
#include "tests/support/scratch_dir.h"

namespace titan::recipe::loader_test {
namespace {

using ckpt::Code;
using testing::HasSubstr;

struct BadCase {
  const char* text;
  Code code;
  const char* message;
};

TEST(Loader, RefusesBadFilesWithPositionExpectationAndHint) {
  const BadCase cases[] = {
      {"[training]\nstep = 3\n", Code::kInvalid,
       "run.toml:2:1: unknown key 'training.step' (did you mean 'training.steps'?)"},
      {"[trainig]\nsteps = 3\n", Code::kInvalid,
       "run.toml:2:1: unknown key 'trainig.steps' (did you mean 'training.steps'?)"},
      {"[model]\nnorm_type = 2\n", Code::kInvalid,
       "run.toml:2:1: unknown key 'model.norm_type' (did you mean 'training.norm_type'?)"},
      {"[model]\nnorm_type = \"layernorm\"\n", Code::kInvalid, "run.toml:2:1: unknown key 'model.norm_type'"},
      {"[trainings]\n", Code::kInvalid, "run.toml:1:2: unknown key 'trainings'"},
      {"steps = 3\n", Code::kInvalid, "run.toml:1:1: unknown key 'steps' (did you mean 'training.steps'?)"},
      {"[training]\nsteps = \"ten\"\n", Code::kInvalid,
       "run.toml:2:9: training.steps: expected an integer of at least 1, found the string \"ten\""},
      {"[training]\nsteps = 10.0\n", Code::kInvalid,
       "run.toml:2:9: training.steps: expected an integer of at least 1, found the float 10.0"},
      {"training.steps = 0\n", Code::kInvalid,
       "run.toml:1:18: training.steps: expected an integer of at least 1, found the integer 0"},
      {"training.steps = true\n", Code::kInvalid,
       "run.toml:1:18: training.steps: expected an integer of at least 1, found the boolean true"},
      {"training.steps = 2026-01-02\n", Code::kInvalid,
       "run.toml:1:18: training.steps: expected an integer of at least 1, found a date (2026-01-02)"},
      {"training.steps = [1, 2]\n", Code::kInvalid,
       "run.toml:1:18: training.steps: expected an integer of at least 1, found the list [1, 2]"},
      {"[training.steps]\nx = 1\n", Code::kInvalid,
       "run.toml:2:1: unknown key 'training.steps.x' (did you mean 'training.steps'?)"},
      {"training = 3\n", Code::kInvalid,
       "run.toml:1:1: 'training' is a section, not a key (its keys are training.<name>)"},
      {"training.global_batch_size = 0\n", Code::kInvalid,
       "run.toml:1:30: training.global_batch_size: expected an integer from 1 to 1000000000, or -1, found the integer "
       "0"},
      {"checkpoint.enable = 1\n", Code::kInvalid,
       "run.toml:1:21: checkpoint.enable: expected a boolean, found the integer 1"},
      {"job.dump_folder = 7\n", Code::kInvalid,
       "run.toml:1:19: job.dump_folder: expected a string, found the integer 7"},
      {"optimizer.lr = inf\n", Code::kInvalid,
       "run.toml:1:16: optimizer.lr: expected a float from 0 to 1000000, found the float inf"},
      {"optimizer.lr = -1\n", Code::kInvalid,
       "run.toml:1:16: optimizer.lr: expected a float from 0 to 1000000, found the integer -1"},
      {"lr_scheduler.decay_type = \"cosin\"\n", Code::kInvalid,
       "run.toml:1:27: lr_scheduler.decay_type: expected one of \"linear\", \"sqrt\", \"cosine\", found the string "
       "\"cosin\" "
       "(did you mean \"cosine\"?)"},
      {"[training]\nsteps = 07\n", Code::kInvalid,
       "run.toml:2:11: not valid TOML: error while parsing decimal integer: leading zeroes are prohibited"},
      {"training.seed = 1\ndebug.seed = 1\n", Code::kInvalid,
       "run.toml:2:7: debug.seed and training.seed are the same key; keep one"},
      {"model.head_dim = 15\n", Code::kInvalid, "model.head_dim 15 is odd; RoPE rotates pairs"},
  };
  for (const BadCase& c : cases) {
    const Status status = load_error(c.text);
    EXPECT_EQ(status.code, c.code) << c.text;
    EXPECT_EQ(status.message, c.message) << c.text;
  }
}

TEST(Loader, RefusesKeysAndValuesThatNestWithoutEnd) {
  std::string key = "a", list;
  for (int i = 0; i < 50'000; ++i) key += ".a", list += "[";
  EXPECT_EQ(load_error(key + " = 1\n").message, "run.toml:1: a key has more than 64 parts");
  EXPECT_EQ(load_error("[" + key + "]\n").message, "run.toml:1: a key has more than 64 parts");
  EXPECT_EQ(load_error("\nx = " + list + "\n").message, "run.toml:2: a value lies in more than 64 arrays and tables");
  EXPECT_EQ(load_error("", {"--training.steps=" + list}).code, Code::kInvalid);
}

// The held-back tail may be half of the tokens at most: the data refuse more, so the table does.
TEST(Loader, RefusesAHoldoutThatTheDataWouldRefuse) {
  EXPECT_EQ(load_ok("", {"--validation.holdout=0.5"}).config.validation.holdout, 0.5);
  EXPECT_EQ(load_error("", {"--validation.holdout=0.51"}).message,
            "flag --validation.holdout: expected a float above 0, at most 0.5, found the float 0.51");
}

TEST(Loader, RefusesFoldersThatNameNothing) {
  EXPECT_EQ(load_error("job.dump_folder = \"\"\n").message,
            "run.toml:1:19: job.dump_folder: expected the name of a folder, found the string \"\"");
  const std::string zero = load_error("job.dump_folder = \"a\\u0000b\"\n").message;
  EXPECT_THAT(zero, testing::StartsWith("run.toml:1:19: job.dump_folder: expected text without NUL, found the string"));
  EXPECT_EQ(load_error("training.dataset_path = \"a\\u0000b\"\n").code, Code::kInvalid);
  EXPECT_EQ(load_error("checkpoint.exclude_from_loading = [\"optimizer\\u0000\"]\n").code, Code::kInvalid);
}

TEST(Loader, ShowsTwentyProblemsAndTheNumberOfTheRest) {
  std::string text = "[training]\n";
  for (int i = 0; i < 16'000; ++i) text += "unknown_" + std::to_string(i) + " = 1\n";
  const Status status = load_error(text);
  EXPECT_EQ(status.message, "16000 problems in the configuration");
  ASSERT_EQ(status.causes.size(), 21u);
  EXPECT_EQ(status.causes.back(), "and 15980 more");
}

TEST(Loader, ReadsAListFromTomlAndFromCommas) {
  const std::vector<std::string> both = {"optimizer", "dataloader"};
  EXPECT_EQ(load_ok("checkpoint.exclude_from_loading = [\"optimizer\", \"dataloader\"]")
                .config.checkpoint.exclude_from_loading,
            both);
  EXPECT_EQ(
      load_ok("", {"--checkpoint.exclude_from_loading=optimizer,dataloader"}).config.checkpoint.exclude_from_loading,
      both);
  EXPECT_EQ(load_ok("", {"--checkpoint.exclude_from_loading=optimizer"}).config.checkpoint.exclude_from_loading,
            std::vector<std::string>{"optimizer"});
  EXPECT_TRUE(load_ok("checkpoint.exclude_from_loading = []").config.checkpoint.exclude_from_loading.empty());
  EXPECT_NE(
      load_error("checkpoint.exclude_from_loading = [\"data_loader\"]").message.find("did you mean \"dataloader\"?"),
      std::string::npos);
  EXPECT_NE(load_error("checkpoint.exclude_from_loading = [\"train_state\"]").message.find("expected a list of"),
            std::string::npos);
  EXPECT_EQ(load_error("checkpoint.exclude_from_loading = [1]").code, ckpt::Code::kInvalid);
  EXPECT_EQ(load_error("lr_scheduler.on_change = \"rescal\"").code, ckpt::Code::kInvalid);
}

TEST(Loader, RefusesWhatIsNotBuiltYetByName) {
  const char* cases[][2] = {
      {"[model.rope_scaling]\nfactor = 8.0", "model.rope_scaling.factor = 8.0"},
      {"model.converters = [\"float8\"]", "model.converters = [\"float8\"]"},
      {"training.reduction = \"fast\"", "training.reduction = \"fast\""},
      {"training.dtype = \"bfloat16\"", "training.dtype = \"bfloat16\""},
      {"optimizer.name = \"Adam\"", "optimizer.name = \"Adam\""},
      {"parallelism.data_parallel_sharding = \"fsdp\"", "parallelism.data_parallel_sharding = \"fsdp\""},
      {"parallelism.data_parallel_sharding = \"none\"", "parallelism.data_parallel_sharding = \"none\""},
      {"parallelism.data_parallel_sharding = \"fsdp\"", "parallelism.data_parallel_sharding = \"fsdp\""},
      {"parallelism.expert_parallel_degree = 2", "parallelism.expert_parallel_degree = 2"},
      {"parallelism.num_pp_microbatches = 4\nparallelism.pipeline_parallel_degree = 2",
       "parallelism.num_pp_microbatches = 4"},
      {"validation.enable = true\nvalidation.dataset = \"c4_validation\"", "validation.dataset = \"c4_validation\""},
      {"checkpoint.load_only = true", "checkpoint.load_only = true"},
      {"optimizer.early_step_in_backward = true", "optimizer.early_step_in_backward = true"},
      {"parallelism.tensor_parallel_degree = 0", "parallelism.tensor_parallel_degree = 0"},
      {"experimental.custom_import = \"mine\"", "experimental.custom_import = \"mine\""},
  };
  for (const auto& [text, name] : cases) {
    const Status status = load_error(text);
    EXPECT_EQ(status.code, Code::kUnsupported) << text;
    EXPECT_EQ(ckpt::exit_code(status.code), 2);
    EXPECT_THAT(status.message, HasSubstr("not supported yet: " + std::string(name))) << text;
    EXPECT_THAT(status.message, HasSubstr("run.toml:")) << text;
  }
}

TEST(Loader, RefusesAModeOfActivationCheckpointingThatIsTypedAndNotBuilt) {
  for (const char* flag :
       {"--activation_checkpoint.mode=memory_budget", "--activation_checkpoint.selective_ac_option=op"})
    EXPECT_EQ(load_error("", {flag}).code, Code::kUnsupported) << flag;
  EXPECT_EQ(load_ok("activation_checkpoint.selective_ac_option = \"op\"").warnings.size(), 1u);
  EXPECT_EQ(load_error("activation_checkpoint.mode = \"some\"").code, Code::kInvalid);
}

TEST(Loader, PassesOverWhatShapesNothingHereWithOneWarning) {
  const LoadedConfig loaded = load_ok(
      "[profiling]\nenable_memory_snapshot = true\n[compile]\nenable = true\n[activation_checkpoint]\nmode = "
      "\"memory_budget\"\n"
      "[checkpoint]\nlast_save_model_only = true\n[parallelism]\ntensor_parallel_degree = "
      "8\ncontext_parallel_degree = 2\n"
      "pipeline_parallel_schedule = \"interleaved1f1b\"\n[validation]\ndataset = "
      "\"c4_validation\"\n[model]\nhf_assets_path = \"./hf\"\n[training]\ndataset = \"c4\"\n");
  ASSERT_EQ(loaded.warnings.size(), 1u);
  EXPECT_EQ(loaded.warnings[0],
            "run.toml: without effect here: activation_checkpoint.mode = \"memory_budget\", "
            "compile.enable = true, "
            "parallelism.context_parallel_degree = 2, "
            "parallelism.tensor_parallel_degree = 8, "
            "profiling.enable_memory_snapshot = true, validation.dataset = \"c4_validation\"; "
            "checkpoint.last_save_model_only = true: the last save is complete; "
            "training.dataset = \"c4\": nothing is downloaded: "
            "the files of training.dataset_path are read as text");
  EXPECT_EQ(loaded.config.model.hf_assets_path, "./hf");
  EXPECT_EQ(loaded.config.parallelism.ranks_of_a_batch, 16);
  EXPECT_EQ(loaded.config.parallelism.pipeline_parallel_schedule, "interleaved1f1b");
  EXPECT_FALSE(loaded.config.checkpoint.last_save_model_only);
  EXPECT_EQ(loaded.config.training.dataset, "text");
  EXPECT_EQ(loaded.config.training.corpus, "c4");
  EXPECT_EQ(
      load_ok("validation.enable = true\nvalidation.dataset_path = \"v.txt\"\nvalidation.dataset = \"c4_validation\"")
          .warnings.size(),
      1u);
}

TEST(Loader, ATokenizerIsNamedAsHereOrAsInTorchtitan) {
  EXPECT_EQ(load_ok("").config.model.tokenizer, "byte");
  EXPECT_EQ(load_ok("model.tokenizer = \"tok\"").config.model.tokenizer, "tok");
  EXPECT_EQ(load_ok("model.tokenizer_path = \"t\"").config.model.hf_assets_path, "t");
  EXPECT_FALSE(load_ok("model.hf_assets_path = \"./hf\"", {"--model.hf_assets_path=none"}).config.model.hf_assets_path);
}

TEST(Loader, EveryKeyThatIsPassedOverStandsInThePageOnTorchtitan) {
  std::ifstream file(std::string(TITAN_SOURCE_DIR) + "/docs/torchtitan.md");
  const std::string page((std::istreambuf_iterator<char>(file)), {});
  std::size_t count = 0;
  for (const Key& key : key_table()) {
    if (!key.ignore_if) continue;
    ++count;
    EXPECT_THAT(page, HasSubstr("`" + key.name + "`"));
  }
  EXPECT_GE(count, 25u);
}

// Who types a flag wants what it does.
TEST(Loader, RefusesOnTheCommandLineWhatAFileMayAskFor) {
  for (const char* flag :
       {"compile.enable=true", "parallelism.tensor_parallel_degree=2", "profiling.enable_memory_snapshot=true",
        "training.dataset=c4_test", "checkpoint.last_save_model_only=true"}) {
    const Status status = load_error("[compile]\nenable = true\n", {std::string("--") + flag});
    EXPECT_EQ(status.code, Code::kUnsupported) << flag;
    EXPECT_THAT(status.message, HasSubstr("not supported yet: ")) << flag;
  }
}

TEST(Loader, GivesTheRestOfAConfigurationWithoutWhatIsRefusedOfTorchtitans) {
  Status refused;
  const auto loaded = load_config_text(
      "model.converters = [\"float8\"]\ncheckpoint.load_only = true\ntraining.steps = 7\n", "run.toml", {}, &refused);
  ASSERT_TRUE(loaded.ok()) << loaded.status().to_string();
  EXPECT_EQ(loaded->config.training.steps, 7);
  EXPECT_EQ(refused.code, Code::kUnsupported);
  EXPECT_EQ(refused.message, "2 problems in the configuration");
  EXPECT_EQ(load_config_text("optimizer.name = \"Adam\"", "run.toml", {}, &refused).status().code, Code::kUnsupported)
      << "a key of ours has no other value to plan with";
  EXPECT_TRUE(refused.ok());
}

TEST(Loader, SaysWhatTakesAHuggingFaceFolderInstead) {
  const Status status = load_error("checkpoint.initial_load_in_hf = true");
  EXPECT_EQ(status.code, Code::kUnsupported);
  EXPECT_THAT(status.hint,
              HasSubstr("checkpoint.initial_load_path (--init-from) takes a Hugging Face folder as it is"));
}

TEST(Loader, TheCommandLineMayReplaceWhatTheFileAsksForInVain) {
  const std::string theirs =
      "model.flavor = \"mine\"\nmodel.converters = [\"float8\"]\nactivation_checkpoint.mode = "
      "\"selective\"\ntraining.dataset = \"c4\"\n";
  const std::vector<std::string> flags = {"--model.flavor=8B", "--model.converters=none",
                                          "--activation_checkpoint.mode=none", "--training.dataset=tokens"};
  const auto loaded = load_config_text(theirs, "run.toml", flags);
  ASSERT_TRUE(loaded.ok()) << loaded.status().to_string();
  EXPECT_EQ(loaded->config.training.dataset, "tokens");
  EXPECT_TRUE(loaded->warnings.empty()) << loaded->warnings[0];
  // What is left unanswered, or answered in vain, is still refused.
  EXPECT_THAT(load_config_text(theirs, "run.toml", {flags[0], flags[2], flags[3]}).status().message,
              HasSubstr("model.converters = [\"float8\"]"));
  EXPECT_THAT(load_config_text("training.dataset = \"c4\"", "run.toml", {"--training.dataset=pile"}).status().message,
              HasSubstr("flag --training.dataset"));
}

TEST(Loader, NamesAllUnknownKeysAtOnce) {
  const Status status =
      load_error("[training]\nstep = 3\nsteps = 4\n[modle]\ndim = 8\n[debug]\nbatch_invariant = true\n");
  EXPECT_EQ(status.code, Code::kInvalid);
  EXPECT_EQ(status.message, "3 problems in the configuration");
  ASSERT_EQ(status.causes.size(), 3u);
  EXPECT_EQ(status.causes[0], "run.toml:2:1: unknown key 'training.step' (did you mean 'training.steps'?)");
  EXPECT_EQ(status.causes[1], "run.toml:5:1: unknown key 'modle.dim' (did you mean 'model.dim'?)");
  EXPECT_EQ(status.causes[2], "run.toml:7:19: not supported yet: debug.batch_invariant = true; leave it out");
}

TEST(Loader, AcceptsTorchtitansKeysThatAskForNothingWeLack) {
  // The keys of torchtitan's debug configuration, less its tokenizer and its dataset.
  const LoadedConfig loaded = load_ok(R"([job]
dump_folder = "./outputs"
description = "Llama 3 debug training"
print_config = false
[profiling]
enable_profiling = false
save_traces_folder = "profile_trace"
profile_freq = 10
enable_memory_snapshot = false
[metrics]
log_freq = 1
disable_color_printing = false
enable_tensorboard = false
save_tb_folder = "tb"
enable_wandb = false
[model]
name = "llama3"
flavor = "debugmodel"
converters = []
[optimizer]
name = "AdamW"
lr = 8e-4
eps = 1e-8
[lr_scheduler]
warmup_steps = 2
decay_ratio = 0.8
decay_type = "linear"
min_lr_factor = 0.0
[training]
local_batch_size = 8
seq_len = 2048
max_norm = 1
steps = 10
gc_freq = 50
[parallelism]
data_parallel_replicate_degree = 1
data_parallel_shard_degree = -1
fsdp_reshard_after_forward = "default"
tensor_parallel_degree = 1
enable_async_tensor_parallel = false
pipeline_parallel_degree = 1
context_parallel_degree = 1
[checkpoint]
enable = false
folder = "checkpoint"
interval = 10
last_save_model_only = false
export_dtype = "float32"
async_mode = "disabled"
[activation_checkpoint]
mode = "none"
selective_ac_option = "2"
[compile]
enable = false
components = ["model", "loss"]
[quantize.linear.float8]
enable_fsdp_float8_all_gather = false
filter_fqns = ["output"]
[validation]
enable = false
freq = 5
steps = 10
)");
  EXPECT_EQ(loaded.config.training.steps, 10);
  EXPECT_EQ(loaded.config.lr_scheduler.decay_ratio, 0.8);
  EXPECT_EQ(loaded.config.training.max_norm, 1.0);
  EXPECT_FALSE(loaded.config.checkpoint.enable);
  EXPECT_TRUE(loaded.warnings.empty());
}

TEST(Loader, ReadsOldAndNewNamesAsTheSameKeyAndSaysSo) {
  const LoadedConfig loaded = load_ok(
      "dump_folder = \"runs/a\"\n[lr_scheduler]\nlr_min = 0.25\n[training]\nseed = 7\nmax_context_length = 64\n"
      "[validator]\nenable = true\n[checkpoint]\nenable_checkpoint = false\n");
  EXPECT_EQ(loaded.config.job.dump_folder, "runs/a");
  EXPECT_EQ(loaded.config.lr_scheduler.min_lr_factor, 0.25);
  EXPECT_EQ(loaded.config.debug.seed, 7);
  EXPECT_EQ(loaded.config.training.seq_len, 64);
  EXPECT_TRUE(loaded.config.validation.enable);
  EXPECT_FALSE(loaded.config.checkpoint.enable);
  EXPECT_THAT(loaded.warnings, testing::Contains("run.toml:5:1: training.seed is read as debug.seed"));
  EXPECT_EQ(loaded.origins.at("debug.seed").text(), "run.toml:5:8");
}

TEST(Loader, KnowsTheOriginOfEveryKey) {
  const LoadedConfig loaded = load_ok("[training]\nsteps = 5\nseq_len = 64\n", {"--training.seq_len=32"});
  EXPECT_EQ(loaded.origins.at("training.steps"), (Origin{Origin::Kind::kFile, "run.toml", 2, 9}));
  EXPECT_EQ(loaded.origins.at("training.seq_len").text(), "flag --training.seq_len");
  EXPECT_EQ(loaded.origins.at("optimizer.lr").text(), "default");
  EXPECT_EQ(loaded.config.training.seq_len, 32);
  for (const Key& key : key_table()) EXPECT_EQ(loaded.origins.contains(key.name), key.value_in != nullptr) << key.name;
}

TEST(Loader, NoneUnsetsAnOptionalKeyAndOnlyThat) {
  EXPECT_EQ(load_ok("debug.seed = 3\n", {"--debug.seed=none"}).config.debug.seed, std::nullopt);
  EXPECT_EQ(load_error("training.steps = \"none\"\n").code, Code::kInvalid);
}

TEST(Loader, TheEmptyTextAndNoneUnsetTextsAndLists) {
  const std::string file =
      "checkpoint.near = \"n\"\nmetrics.status_file = \"s\"\ncheckpoint.on_publish = \"o\"\n"
      "training.dataset_path = \"d\"\ntraining.exclude_samples = [\"5\"]\ntraining.datasets = [\"path=a\"]\n";
  for (const std::string word : {"", "none"}) {
    std::vector<std::string> flags;
    for (const char* key : {"checkpoint.near", "metrics.status_file", "checkpoint.on_publish", "training.dataset_path",
                            "training.exclude_samples", "training.datasets"})
      flags.push_back("--" + std::string(key) + "=" + word);
    const Config config = load_ok(file, flags).config;
    EXPECT_EQ(config.checkpoint.near, std::nullopt);
    EXPECT_EQ(config.metrics.status_file, std::nullopt);
    EXPECT_EQ(config.checkpoint.on_publish, std::nullopt);
    EXPECT_EQ(config.training.dataset_path, std::nullopt);
    EXPECT_TRUE(config.training.exclude_samples.empty());
    EXPECT_TRUE(config.training.datasets.empty());
  }
}

TEST(Loader, AnItemOfAListThatIsNoTextIsNamed) {
  EXPECT_THAT(load_error("training.exclude_samples = [\"7\", 5]\n").message,
              ::testing::HasSubstr("expected a list of texts, found the integer 5 in it: write \"5\""));
}

TEST(Loader, AnEmptyFileGivesTheDefaultsAndNoFileToo) {
  EXPECT_EQ(load_ok("").config.training.steps, 10000);
  const Result<LoadedConfig> none = load_config("", {"--training.steps=3"});
  ASSERT_TRUE(none.ok());
  EXPECT_EQ(none->config.training.steps, 3);
}

TEST(Loader, SaysWhyAFileCannotBeRead) {
  EXPECT_EQ(load_config("/no/such/run.toml").status(),
            ckpt::invalid("cannot read the configuration file '/no/such/run.toml': No such file or directory"));
  const Status folder = load_config("/").status();
  EXPECT_EQ(folder.message, "cannot read the configuration file '/': Is a directory");
  EXPECT_EQ(folder.hint, "");
  const train::ScratchDir run;
  run.write("config.toml", "");
  EXPECT_EQ(load_config(run.path()).status().hint, "did you mean `" + run.path() + "/config.toml`?");
}

TEST(Loader, ReadsTheReadyMadeConfigurations) {
  for (const char* name : {"debugmodel", "quickstart", "full"}) {
    const std::string path = std::string(TITAN_SOURCE_DIR) + "/configs/" + name + ".toml";
    const Result<LoadedConfig> loaded = load_config(path);
    ASSERT_TRUE(loaded.ok()) << loaded.status().to_string();
    EXPECT_EQ(loaded->config.job.config_file, path);
    EXPECT_TRUE(loaded->warnings.empty()) << name;
  }
}

}  // namespace
}  // namespace titan::recipe::loader_test
