#include "cli/titan_ckpt/lr_config.h"

#include <algorithm>
#include <charconv>

#include "ckpt/base/toml_text.h"
#include "cli/titan_ckpt/toml_rows.h"

namespace titan::cli {
namespace {

using ckpt::Status;

// Values under their dotted keys; the first that is wrong is remembered.
class Keys {
 public:
  Keys(const ckpt::Settings& rows, std::string path) : rows_(rows), path_(std::move(path)) {}
  Status status() const { return status_; }

  /// `alias`: another name that the trainer takes.
  bool number(const char* key, double low, double high, double* value, const char* alias = nullptr) {
    const std::string* text = find(key, alias);
    if (text == nullptr) return false;
    double found = 0;
    if (!parse(*text, found) || !(found >= low && found <= high))
      return wrong(key, "a number of " + whole(low) + " to " + whole(high));
    *value = found;
    return true;
  }

  bool count(const char* key, std::uint64_t low, std::uint64_t* value, const char* alias = nullptr) {
    const std::string* text = find(key, alias);
    if (text == nullptr) return false;
    std::uint64_t found = 0;
    if (!parse(*text, found) || found < low) return wrong(key, "a whole number of " + std::to_string(low) + " or more");
    *value = found;
    return true;
  }

  bool word(const char* key, std::initializer_list<const char*> known, std::string* value) {
    const std::string* text = find(key, nullptr);
    if (text == nullptr) return false;
    std::string list;
    for (const char* one : known) {
      if (*text == ckpt::toml_string(one)) {
        *value = one;
        return true;
      }
      list += (list.empty() ? "" : ", ") + std::string(one);
    }
    return wrong(key, "one of " + list);
  }

 private:
  const std::string* find(const char* key, const char* alias) const {
    const auto at = std::ranges::find(rows_, key, &ckpt::Settings::value_type::first);
    if (at != rows_.end()) return &at->second;
    return alias == nullptr ? nullptr : find(alias, nullptr);
  }
  template <typename T>
  static bool parse(const std::string& text, T& value) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size();
  }
  bool wrong(const char* key, const std::string& expected) {
    if (status_.ok()) status_ = ckpt::invalid(path_ + ": " + key + ": expected " + expected);
    return false;
  }
  static std::string whole(double value) { return std::to_string(static_cast<long long>(value)); }

  const ckpt::Settings& rows_;
  std::string path_;
  Status status_;
};

}  // namespace

ckpt::Result<ckpt::LrConfig> read_lr_config(ckpt::Fs& fs, const std::string& path) {
  TITAN_ASSIGN_OR_RETURN(const ckpt::Settings rows, read_toml_rows(fs, path));
  ckpt::LrConfig config;
  config.path = path;
  config.training_steps = 10000;
  ckpt::LrSettings& lr = config.settings;
  lr.peak = 8e-4;
  lr.warmup_steps = 200;
  Keys keys(rows, path);
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
