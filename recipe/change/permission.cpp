#include "recipe/change/permission.h"

#include <algorithm>

#include "ckpt/base/text.h"
#include "recipe/keys/config.h"
#include "recipe/keys/key_table.h"

namespace titan::recipe {
namespace {

// Stands for all keys of the LR schedule in that section.
constexpr const char* kScheduleKeys = "lr_scheduler.*";

/// Whether `key` is unset, so that its row is derived from another key.
bool follows(const Key& key, const Config& config) { return !key.unset_follows.empty() && !get_value(key, config); }

/// The rows of accepted settings that may differ if `name` is allowed.
std::vector<std::string> opened_rows(const std::string& name, const Config& config) {
  std::vector<std::string> rows;
  if (name == kScheduleKeys) {
    for (const Key& key : key_table())
      if (key.effect == ChangeEffect::kSchedule && key.name.starts_with("lr_scheduler.")) rows.push_back(key.name);
    return rows;
  }
  const Key& key = *find_key(name);
  rows.push_back(key.acts_through.empty() ? name : key.acts_through);
  for (const std::string& other : key.opens) {
    const Key& row = *find_key(other);
    if (row.unset_follows.empty() || follows(row, config)) rows.push_back(other);
  }
  return rows;
}

template <typename Test>
std::vector<std::string> names_of_keys(Test test) {
  std::vector<std::string> names;
  for (const Key& key : key_table())
    if (test(key)) names.push_back(key.name);
  return names;
}

std::vector<std::string> allowed_names() {
  std::vector<std::string> names = names_of_keys([](const Key& key) { return key.effect != ChangeEffect::kNever; });
  names.push_back(kScheduleKeys);
  std::ranges::sort(names);
  return names;
}

Status refuse(const std::string& name) {
  const std::string listed = ckpt::joined(allowed_names());
  const Key* key = find_key(name);
  if (key == nullptr) {
    const std::string near = suggest_key(name);
    return ckpt::invalid("--allow " + name + ": unknown key")
        .with_hint(near.empty() ? "keys that can be allowed: " + listed : "did you mean `" + near + "`?");
  }
  if (key->cls != KeyClass::kCurve || key->value_in == nullptr)
    return ckpt::invalid("--allow " + name + ": this key (class " + class_name(key->cls) +
                         ") needs no permission to change")
        .with_hint("leave it out of --allow");
  return ckpt::invalid("--allow " + name + ": this key can never change within a run")
      .with_hint("start a new run from the weights with --init-from PATH; keys that can be allowed: " + listed);
}

}  // namespace

ChangeEffect change_effect(const std::string& key) {
  const Key* found = find_key(key);
  return found == nullptr ? ChangeEffect::kNever : found->effect;
}

Result<Permission> read_permission(const Config& config, const std::vector<std::string>& allow) {
  Permission permission;
  std::vector<std::string> names = allowed_names();
  const bool with_weights = config.checkpoint.initial_load_path && config.checkpoint.initial_load_model_only;
  // These names are always accepted, so that a job script can keep them when --init-from is removed. A resumed run
  // ignores them.
  const std::vector<std::string> with_init_from =
      names_of_keys([](const Key& key) { return key.transfer == TransferRule::kPermission; });
  names.insert(names.end(), with_init_from.begin(), with_init_from.end());
  std::ranges::sort(names);
  const auto open = [&](const std::string& key) {
    for (const std::string& row : opened_rows(key, config)) permission.allow.insert(row);
  };
  for (const std::string& words : allow) {
    for (std::string name : ckpt::split(words, ',')) {
      name.erase(0, name.find_first_not_of(' '));
      name.erase(name.find_last_not_of(' ') + 1);
      std::ranges::replace(name, '-', '_');
      name = canonical_name(name);
      if (name.empty()) return ckpt::invalid("--allow " + words + ": expected KEY[,KEY...]");
      if (!std::ranges::binary_search(names, name)) {
        if (with_weights && name.starts_with("model.") && find_key(name) != nullptr)
          return ckpt::invalid("--allow " + name + ": with --init-from only " + ckpt::joined(with_init_from) +
                               " may differ from the weights'")
              .with_hint("leave the key out of the configuration: then it is the checkpoint's");
        return refuse(name);
      }
      open(name);
    }
  }
  if (config.checkpoint.on_drift == "policy") {
    for (const char* key : {"training.steps", kScheduleKeys, "optimizer.lr"}) open(key);
  }
  if (config.lr_scheduler.on_change) {
    TITAN_ASSIGN_OR_RETURN(permission.on_change, ckpt::parse_policy(*config.lr_scheduler.on_change));
  }
  permission.rewarm_from_zero = config.lr_scheduler.rewarm_from == "zero";
  permission.exclude = config.checkpoint.exclude_from_loading;
  std::ranges::sort(permission.exclude);
  return permission;
}

std::string typed_name(const std::string& key, const Config& config) {
  const Key* found = find_key(key);
  return found != nullptr && found->value_in && follows(*found, config) ? found->unset_follows : key;
}

std::string allow_name(const std::string& key, const Config& config) {
  const Key* found = find_key(key);
  const std::string typed = typed_name(key, config);
  return typed != key || found == nullptr || found->allow_as.empty() ? typed : found->allow_as;
}

}  // namespace titan::recipe
