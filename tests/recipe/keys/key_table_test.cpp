#include "recipe/keys/key_table.h"

#include <cmath>
#include <limits>
#include <set>

#include <gtest/gtest.h>

#include "recipe/keys/config.h"

namespace titan::recipe::key_table_test {
namespace {

TEST(KeyTable, EveryKeyHasADocAndAClassAndAUniqueName) {
  std::set<std::string> names;
  for (const Key& key : key_table()) {
    EXPECT_TRUE(names.insert(key.name).second) << key.name << " stands twice";
    EXPECT_FALSE(key.doc.empty()) << key.name;
    EXPECT_EQ(key.doc.find('\n'), std::string::npos) << key.name;
    EXPECT_LE(static_cast<int>(key.cls), static_cast<int>(KeyClass::kStart)) << key.name;
  }
  EXPECT_GT(names.size(), 120u);
}

TEST(KeyTable, SlotsLiveInDifferentPlaces) {
  Config config;
  std::set<void*> places;
  for (const Key& key : key_table()) {
    if (!key.value_in) continue;
    void* place = std::visit([](auto* p) { return static_cast<void*>(p); }, key.value_in(config));
    EXPECT_TRUE(places.insert(place).second) << key.name << " shares its place with another key";
  }
}

TEST(KeyTable, EveryDefaultIsAcceptedByItsOwnLimits) {
  EXPECT_TRUE(check_values(Config{}).ok()) << check_values(Config{}).to_string();
}

TEST(KeyTable, AliasesLeadToKeysAndAreNoKeysThemselves) {
  for (const Alias& alias : key_aliases()) {
    EXPECT_NE(find_key(alias.key), nullptr) << alias.key;
    const Key* direct = find_key(alias.name);
    EXPECT_TRUE(direct == nullptr || direct->name.ends_with(".*")) << alias.name;
    EXPECT_EQ(canonical_name(alias.name), alias.key);
  }
  EXPECT_EQ(canonical_name("training.steps"), "training.steps");
}

TEST(KeyTable, HasEveryKeyOfTheContractAndOfTorchtitan) {
  // The command-line contract's table, then torchtitan v0.2.2's keys.
  for (const char* name : {"training.dataset",
                           "training.dataset_path",
                           "model.tokenizer",
                           "training.shuffle",
                           "training.sample_stride",
                           "training.reduction",
                           "checkpoint.compression",
                           "checkpoint.on_drift",
                           "checkpoint.on_read_error",
                           "lr_scheduler.on_change",
                           "metrics.log_freq",
                           "metrics.parameter_norms",
                           "model.dim",
                           "model.n_layers",
                           "model.n_heads",
                           "model.n_kv_heads",
                           "model.head_dim",
                           "model.ffn_dim",
                           "model.vocab_size",
                           "model.norm_eps",
                           "model.rope_theta",
                           "model.rope_scaling",
                           "model.tied_embeddings",
                           "model.qkv_bias",
                           "parallelism.data_parallel_sharding",
                           "training.device",
                           "training.attention",
                           "training.cpu_gemm",
                           "training.loss_chunk",
                           "parallelism.gradient_exchange",
                           "activation_checkpoint.selective_ac_option",
                           "comm.exchange_bytes",
                           "job.threads_per_rank",
                           "debug.stop_at_step",
                           "debug.seed",
                           "job.config_file",
                           "job.description",
                           "job.dump_folder",
                           "job.print_config",
                           "job.save_config_file",
                           "model.name",
                           "model.flavor",
                           "model.hf_assets_path",
                           "model.converters",
                           "model.print_after_conversion",
                           "optimizer.name",
                           "optimizer.lr",
                           "optimizer.beta1",
                           "optimizer.beta2",
                           "optimizer.eps",
                           "optimizer.weight_decay",
                           "optimizer.implementation",
                           "optimizer.early_step_in_backward",
                           "lr_scheduler.warmup_steps",
                           "lr_scheduler.total_steps",
                           "lr_scheduler.decay_ratio",
                           "lr_scheduler.decay_type",
                           "lr_scheduler.min_lr_factor",
                           "training.dataloader.num_workers",
                           "training.local_batch_size",
                           "training.global_batch_size",
                           "training.seq_len",
                           "training.steps",
                           "training.max_norm",
                           "training.enable_cpu_offload",
                           "training.gc_freq",
                           "training.dtype",
                           "training.mixed_precision_param",
                           "training.mixed_precision_reduce",
                           "debug.deterministic",
                           "debug.moe_force_load_balance",
                           "parallelism.data_parallel_replicate_degree",
                           "parallelism.data_parallel_shard_degree",
                           "parallelism.tensor_parallel_degree",
                           "parallelism.context_parallel_degree",
                           "parallelism.expert_parallel_degree",
                           "parallelism.pipeline_parallel_degree",
                           "parallelism.pipeline_parallel_schedule",
                           "parallelism.pipeline_parallel_schedule_csv",
                           "parallelism.pipeline_parallel_microbatch_size",
                           "parallelism.module_fqns_per_model_part",
                           "parallelism.fsdp_reshard_after_forward",
                           "checkpoint.enable",
                           "checkpoint.folder",
                           "checkpoint.interval",
                           "checkpoint.initial_load_path",
                           "checkpoint.last_save_model_only",
                           "checkpoint.async_mode",
                           "checkpoint.keep_latest_k",
                           "checkpoint.load_step",
                           "checkpoint.exclude_from_loading",
                           "checkpoint.enable_first_step_checkpoint",
                           "activation_checkpoint.mode",
                           "activation_checkpoint.memory_budget",
                           "compile.enable",
                           "compile.components",
                           "metrics.enable_tensorboard",
                           "profiling.profile_freq",
                           "comm.init_timeout_seconds",
                           "comm.train_timeout_seconds",
                           "comm.mode",
                           "validation.enable",
                           "validation.dataset",
                           "validation.dataset_path",
                           "validation.local_batch_size",
                           "validation.seq_len",
                           "validation.freq",
                           "validation.steps",
                           "memory_estimation.enable",
                           "quantize.linear.float8.filter_fqns",
                           "fault_tolerance.enable",
                           "experimental.custom_import"})
    EXPECT_NE(find_key(name), nullptr) << name;
}

TEST(KeyTable, DefaultsThatDifferFromTorchtitansAreTheContracts) {
  const Config config;
  EXPECT_TRUE(config.checkpoint.enable);
  EXPECT_FALSE(config.checkpoint.last_save_model_only);
  EXPECT_EQ(config.training.dataset, "text");
  EXPECT_EQ(config.training.reduction, "canonical");
}

TEST(KeyTable, SuggestsTheNearestName) {
  struct Case {
    const char* typed;
    const char* near;
  };
  for (const Case& c : {Case{"training.step", "training.steps"},
                        {"trainig.steps", "training.steps"},
                        {"training.stpes", "training.steps"},
                        {"training.lr", "optimizer.lr"},
                        {"checkpoint.intervall", "checkpoint.interval"},
                        {"parallelism.pipeline_parallel_deg", "parallelism.pipeline_parallel_degree"},
                        {"training.batch_size", "training.local_batch_size"},
                        {"training.max_steps", "training.steps"},
                        {"hidden_size", "model.dim"},
                        {"trainer.save_interval", "checkpoint.interval"},
                        {"optimizer.learning_rate", "optimizer.lr"},
                        {"foo", ""},
                        {"completely.different", ""}})
    EXPECT_EQ(suggest_key(c.typed), c.near) << c.typed;
}

TEST(KeyTable, ExpectationSaysWhatAKeyAccepts) {
  struct Case {
    const char* key;
    const char* text;
  };
  for (const Case& c : {Case{"training.steps", "an integer of at least 1"},
                        {"training.global_batch_size", "an integer from 1 to 1000000000, or -1"},
                        {"lr_scheduler.min_lr_factor", "a float from 0 to 1"},
                        {"comm.init_timeout_seconds", "a float above 0, at most 1000000000"},
                        {"training.norm_type", "a whole number from 1 to 16, or inf"},
                        {"training.shuffle", "a boolean"},
                        {"job.dump_folder", "a string"},
                        {"lr_scheduler.decay_type", "one of \"linear\", \"sqrt\", \"cosine\""}})
    EXPECT_EQ(expectation(*find_key(c.key)), c.text) << c.key;
}

TEST(Range, RefusesWhatIsNotFinite) {
  EXPECT_FALSE(Range{}.contains(std::numeric_limits<double>::quiet_NaN()));
  EXPECT_FALSE(Range{}.contains(std::numeric_limits<double>::infinity()));
  EXPECT_TRUE((Range{1, 5, -1}.contains(-1)));
  EXPECT_FALSE((Range{1, 5, -1}.contains(0)));
  EXPECT_FALSE((Range{0, 5, std::nullopt, true}.contains(0)));
}

TEST(Range, OfWholeNumbersMayHoldInfinityToo) {
  const double inf = std::numeric_limits<double>::infinity();
  const Range range{.min = 1, .max = 16, .also = inf, .whole = true};
  for (const double value : {1.0, 2.0, 16.0, inf}) EXPECT_TRUE(range.contains(value)) << value;
  for (const double value : {0.0, 1.5, 17.0, -inf, std::nan("")}) EXPECT_FALSE(range.contains(value)) << value;
}

TEST(KeyTable, NormTypesAreReadInEachWayToWriteThem) {
  const Key& key = *find_key("training.norm_type");
  for (const Value& value : {Value{std::string("inf")}, Value{std::numeric_limits<double>::infinity()}}) {
    Config config;
    EXPECT_TRUE(set_value(key, value, config).ok());
    EXPECT_EQ(config.training.norm_type, std::numeric_limits<double>::infinity());
  }
  Config config;
  EXPECT_TRUE(set_value(key, {std::int64_t{1}}, config).ok());
  EXPECT_EQ(config.training.norm_type, 1);
  for (const Value& bad : {Value{0.5}, Value{std::int64_t{17}}, Value{std::string("l2")}, Value{std::nan("")}})
    EXPECT_EQ(set_value(key, bad, config).message.substr(0, 55),
              "training.norm_type: expected a whole number from 1 to 1");
  for (const Value& bad : {Value{-1.0}, Value{std::nan("")}, Value{std::string("inf")}})
    EXPECT_FALSE(set_value(*find_key("training.max_norm"), bad, config).ok());
}

}  // namespace
}  // namespace titan::recipe::key_table_test
