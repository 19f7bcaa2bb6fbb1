#include "cli/titan_ckpt/lr_config.h"

#include <cmath>
#define TOML_HEADER_ONLY 1
#include <toml++/toml.h>

namespace titan::cli {
namespace {

using ckpt::Status;

constexpr std::uint64_t kLimit = 16 << 20;

// Values under their dotted keys; the first that is wrong is remembered.
class Keys {
 public:
  Keys(const toml::table& table, std::string path) : table_(table), path_(std::move(path)) {}
  Status status() const { return status_; }

  /// `alias`: another name that the trainer takes.
  bool number(const char* key, double low, double high, double* value, const char* alias = nullptr) {
    const toml::node* node = find(key, alias);
    if (node == nullptr) return false;
    const std::optional<double> found = node->is_number() ? node->value<double>() : std::nullopt;
    if (!found || !(*found >= low && *found <= high)) return wrong(key, "a number of " + text(low) + " to " + text(high));
    *value = *found;
    return true;
  }

  bool count(const char* key, std::uint64_t low, std::uint64_t* value, const char* alias = nullptr) {
    const toml::node* node = find(key, alias);
    if (node == nullptr) return false;
    const std::optional<std::int64_t> found = node->is_integer() ? node->value<std::int64_t>() : std::nullopt;
    if (!found || *found < static_cast<std::int64_t>(low)) return wrong(key, "a whole number of " + std::to_string(low) + " or more");
    *value = static_cast<std::uint64_t>(*found);
    return true;
  }

  bool word(const char* key, std::initializer_list<const char*> known, std::string* value) {
    const toml::node* node = find(key, nullptr);
    if (node == nullptr) return false;
    const std::string found = node->value_or(std::string());
    std::string list;
    for (const char* one : known) {
      if (found == one) {
        *value = found;
        return true;
      }
      list += (list.empty() ? "" : ", ") + std::string(one);
    }
    return wrong(key, "one of " + list);
  }

 private:
  const toml::node* find(const char* key, const char* alias) {
    if (const toml::node* node = table_.at_path(key).node()) return node;
    return alias == nullptr ? nullptr : table_.at_path(alias).node();
  }
  bool wrong(const char* key, const std::string& expected) {
    if (status_.ok()) status_ = ckpt::invalid(path_ + ": " + key + ": expected " + expected);
    return false;
  }
  static std::string text(double value) { return std::to_string(static_cast<long long>(value)); }

  const toml::table& table_;
  std::string path_;
  Status status_;
};

}  // namespace

ckpt::Result<ckpt::LrConfig> read_lr_config(ckpt::Fs& fs, const std::string& path) {
  const auto bytes = ckpt::read_file(fs, path, kLimit);
  if (!bytes.ok()) {
    Status status = bytes.status();
    status.code = ckpt::Code::kInvalid;
    return status;
  }
  toml::table table;
  try {
    table = toml::parse(std::string_view(reinterpret_cast<const char*>(bytes->data()), bytes->size()), std::string_view(path));
  } catch (const toml::parse_error& error) {
    return ckpt::invalid(path + ":" + std::to_string(error.source().begin.line) + ":" + std::to_string(error.source().begin.column) +
                         ": not valid TOML: " + std::string(error.description()));
  }
  ckpt::LrConfig config;
  config.path = path;
  config.training_steps = 10000;
  ckpt::LrSettings& lr = config.settings;
  lr.peak = 8e-4;
  lr.warmup_steps = 200;
  Keys keys(table, path);
  keys.number("optimizer.lr", 0, 1e6, &lr.peak);
  keys.count("training.steps", 1, &config.training_steps);
  keys.count("lr_scheduler.warmup_steps", 0, &lr.warmup_steps, "training.warmup_steps");
  lr.total_steps = config.training_steps;
  keys.count("lr_scheduler.total_steps", 1, &lr.total_steps);
  if (double ratio = 0; keys.number("lr_scheduler.decay_ratio", 0, 1, &ratio)) lr.decay_ratio = ratio;
  keys.word("lr_scheduler.decay_type", {"linear", "sqrt", "cosine"}, &lr.decay_type);
  keys.number("lr_scheduler.min_lr_factor", 0, 1, &lr.min_lr_factor, "lr_scheduler.lr_min");
  std::string from;
  if (keys.word("lr_scheduler.rewarm_from", {"present", "zero"}, &from)) config.rewarm_from_zero = from == "zero";
  if (!keys.status().ok()) return keys.status();
  return config;
}

}  // namespace titan::cli
