#include "recipe/keys/foreign_key_names.h"

#include <gtest/gtest.h>

#include <set>

#include "recipe/keys/key_table.h"
#include "recipe/keys/loader.h"

namespace titan::recipe::foreign_key_names_test {
namespace {

TEST(ForeignKeyNames, LeadToAKeyOrAFlagAndNeverHideAKey) {
  std::set<std::string> names;
  for (const ForeignKeyName& foreign : foreign_key_names()) {
    const std::string key = foreign.key, name = foreign.name;
    EXPECT_TRUE(key.starts_with("--") || (find_key(key) != nullptr && find_key(key)->value_in != nullptr)) << name;
    EXPECT_TRUE(names.insert(name).second) << name << " stands there twice";
    EXPECT_FALSE(key.ends_with("." + name)) << name << " is what we call it, too";
  }
}

TEST(ForeignKeyNames, ANameOfAnotherTrainerGetsOursWithWhatIsDifferent) {
  struct Case {
    const char *typed, *meant;
  };
  for (const Case& c : {
           Case{"training.per_device_train_batch_size", "'training.local_batch_size'?"},
           {"training.max_steps", "'training.steps'?"},
           {"training.num_train_epochs", "'training.steps', steps, not epochs?"},
           {"optimizer.learning_rate", "'optimizer.lr'?"},
           {"optimizer.adam_beta1", "'optimizer.beta1'?"},
           {"optimizer.adam_epsilon", "'optimizer.eps'?"},
           {"training.weight_decay", "'optimizer.weight_decay'?"},
           {"model.hidden_size", "'model.dim'?"},
           {"model.num_layers", "'model.n_layers'?"},
           {"model.num_attention_heads", "'model.n_heads'?"},
           {"model.num_key_value_heads", "'model.n_kv_heads'?"},
           {"model.intermediate_size", "'model.ffn_dim'?"},
           {"training.gradient_accumulation_steps", "'training.global_batch_size', sequences per step"},
           {"training.warmup_ratio", "'lr_scheduler.warmup_steps', a number of steps?"},
           {"training.lr_scheduler_type", "'lr_scheduler.decay_type'?"},
           {"optimizer.min_lr", "'lr_scheduler.min_lr_factor', a share of optimizer.lr?"},
           {"training.max_grad_norm", "'training.max_norm'?"},
           {"training.bf16", "'training.mixed_precision_param', "},
           {"training.fp16", "'training.mixed_precision_param', "},
           {"training.max_seq_length", "'training.seq_len'?"},
           {"training.save_steps", "'checkpoint.interval'?"},
           {"training.save_total_limit", "'checkpoint.keep_latest_k'?"},
           {"training.logging_steps", "'metrics.log_freq'?"},
           {"training.eval_steps", "'validation.freq'?"},
           {"training.output_dir", "'job.dump_folder'?"},
           {"training.train_file", "'training.dataset_path'?"},
           {"training.resume_from_checkpoint", "'--resume PATH', a start resumes its run folder by itself?"},
           {"model.model_name_or_path", "'--init-from PATH', "},
           {"training.gradient_checkpointing", "'activation_checkpoint.mode', "},
           {"training.random_seed", "'debug.seed'?"},
       }) {
    const auto loaded = load_config_text("", "", {"--" + std::string(c.typed) + "=1"});
    ASSERT_FALSE(loaded.ok()) << c.typed;
    EXPECT_NE(loaded.status().message.find(c.meant), std::string::npos) << loaded.status().message;
  }
}

}  // namespace
}  // namespace titan::recipe::foreign_key_names_test
