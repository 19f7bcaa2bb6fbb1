#include "recipe/change/permission.h"

#include <algorithm>
#include <map>

#include "ckpt/plan/lr_settings.h"
#include "recipe/keys/key_table.h"
#include "recipe/keys/suggest.h"

namespace titan::recipe {
namespace {

const std::map<std::string, ChangeEffect, std::less<>> kEffects = {
    {"optimizer.weight_decay", ChangeEffect::kInPlace},
    {"optimizer.beta1", ChangeEffect::kInPlace},
    {"optimizer.beta2", ChangeEffect::kInPlace},
    {"optimizer.eps", ChangeEffect::kInPlace},
    {"training.max_norm", ChangeEffect::kInPlace},
    {"training.local_batch_size", ChangeEffect::kInPlace},
    {"training.mixed_precision_param", ChangeEffect::kInPlace},
    {"training.reduction", ChangeEffect::kInPlace},
    {"training.global_batch_size", ChangeEffect::kGlobalBatch},
    {"training.seq_len", ChangeEffect::kNewEpoch},
    {"training.sample_stride", ChangeEffect::kNewEpoch},
    {"training.shuffle", ChangeEffect::kNewEpoch},
    {"training.dataset", ChangeEffect::kNewEpoch},
    {"training.dataset_path", ChangeEffect::kNewEpoch},
    {"training.token_dtype", ChangeEffect::kNewEpoch},
};

/// Rows that permission for one key opens besides the row of that name: they are derived from it.
std::vector<std::string> opened_rows(const std::string& key, const Config& config) {
  if (key == "training.steps") return {"lr_scheduler.total_steps"};
  if (key == "parallelism.pipeline_parallel_microbatch_size") return {"training.local_batch_size"};
  if (key == "training.dataset" || key == "training.dataset_path")
    return {"training.dataset", "training.dataset_path", "training.token_dtype", "model.tokenizer"};
  if (key == "training.seq_len" && !config.training.sample_stride) return {key, "training.sample_stride"};
  if (key == "lr_scheduler.*")
    return {"lr_scheduler.decay_ratio", "lr_scheduler.decay_type", "lr_scheduler.min_lr_factor",
            "lr_scheduler.total_steps", "lr_scheduler.warmup_steps"};
  return {key};
}

const std::vector<std::string> kPermittedAtTransfer = {"model.norm_eps", "model.rope_scaling", "model.rope_theta"};

std::vector<std::string> allowed_names() {
  std::vector<std::string> names = {"training.steps", "parallelism.pipeline_parallel_microbatch_size",
                                    "lr_scheduler.*"};
  for (const auto& [key, effect] : kEffects) names.push_back(key);
  for (const auto& [key, value] : ckpt::lr_rows({})) names.push_back(key);
  std::ranges::sort(names);
  return names;
}

Status refuse(const std::string& name) {
  std::string listed;
  for (const std::string& allowed : allowed_names()) listed += (listed.empty() ? "" : ", ") + allowed;
  const Key* key = find_key(name);
  if (key == nullptr) {
    const std::string near = suggest_key(name);
    return ckpt::invalid("--allow " + name + ": unknown key")
        .with_hint(near.empty() ? "keys that can be allowed: " + listed : "did you mean `" + near + "`?");
  }
  if (key->cls != KeyClass::kCurve || key->slot == nullptr)
    return ckpt::invalid("--allow " + name + ": this key (class " + class_name(key->cls) +
                         ") needs no permission to change")
        .with_hint("leave it out of --allow");
  return ckpt::invalid("--allow " + name + ": this key can never change within a run")
      .with_hint("start a new run from the weights with --init-from PATH; keys that can be allowed: " + listed);
}

}  // namespace

ChangeEffect change_effect(const std::string& key) {
  if (ckpt::is_lr_key(key)) return ChangeEffect::kSchedule;
  const auto found = kEffects.find(key);
  return found == kEffects.end() ? ChangeEffect::kNever : found->second;
}

TransferRule transfer_rule(const std::string& key) {
  if (std::ranges::find(kPermittedAtTransfer, key) != kPermittedAtTransfer.end()) return TransferRule::kPermission;
  const bool heads = key == "model.n_heads" || key == "model.n_kv_heads" || key == "model.head_dim";
  return heads ? TransferRule::kNever : TransferRule::kShapes;
}

Result<Permission> read_permission(const Config& config, const std::vector<std::string>& allow) {
  Permission permission;
  std::vector<std::string> names = allowed_names();
  const bool with_weights = config.checkpoint.initial_load_path && config.checkpoint.initial_load_model_only;
  // Always, so that a job script may keep the words when --init-from is dropped: a run that goes on looks at none of
  // them.
  names.insert(names.end(), kPermittedAtTransfer.begin(), kPermittedAtTransfer.end());
  std::ranges::sort(names);
  const auto open = [&](const std::string& key) {
    for (const std::string& row : opened_rows(key, config)) permission.allow.insert(row);
  };
  for (const std::string& words : allow) {
    for (std::size_t at = 0; at <= words.size();) {
      const std::size_t comma = std::min(words.find(',', at), words.size());
      std::string name = words.substr(at, comma - at);
      at = comma + 1;
      name.erase(0, name.find_first_not_of(' '));
      name.erase(name.find_last_not_of(' ') + 1);
      std::ranges::replace(name, '-', '_');
      name = canonical_name(name);
      if (name.empty()) return ckpt::invalid("--allow " + words + ": expected KEY[,KEY...]");
      if (!std::ranges::binary_search(names, name)) {
        if (with_weights && name.starts_with("model.") && find_key(name) != nullptr)
          return ckpt::invalid("--allow " + name +
                               ": with --init-from only model.norm_eps, model.rope_scaling and model.rope_theta may "
                               "differ from the weights'")
              .with_hint("leave the key out of the configuration: then it is the checkpoint's");
        return refuse(name);
      }
      open(name);
    }
  }
  if (config.checkpoint.on_drift == "policy") {
    for (const char* key : {"training.steps", "lr_scheduler.*", "optimizer.lr"}) open(key);
  }
  if (config.lr_scheduler.on_change) {
    TITAN_ASSIGN_OR_RETURN(permission.on_change, ckpt::parse_policy(*config.lr_scheduler.on_change));
  }
  permission.rewarm_from_zero = config.lr_scheduler.rewarm_from == "zero";
  permission.exclude = config.checkpoint.exclude_from_loading;
  std::ranges::sort(permission.exclude);
  return permission;
}

std::string allow_name(const std::string& key, const Config& config) {
  if (key == "lr_scheduler.total_steps" && !config.lr_scheduler.total_steps) return "training.steps";
  if (key == "training.dataset_path" || key == "training.token_dtype" || key == "model.tokenizer")
    return "training.dataset";
  if (key == "training.sample_stride" && !config.training.sample_stride) return "training.seq_len";
  return key;
}

}  // namespace titan::recipe
