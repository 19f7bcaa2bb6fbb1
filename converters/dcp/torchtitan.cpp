#include "converters/dcp/torchtitan.h"

#include <algorithm>
#include <charconv>

#include "ckpt/base/toml_text.h"
#include "ckpt/plan/lr_settings.h"

namespace titan::convert::dcp {

using ckpt::Result;
using ckpt::Settings;
using ckpt::Status;

namespace {

const std::string* find(const Settings& rows, std::string_view key) {
  const auto at = std::ranges::find(rows, key, &Settings::value_type::first);
  return at == rows.end() ? nullptr : &at->second;
}

// Reads rows and remembers the first that cannot be read.
class Rows {
 public:
  explicit Rows(const Settings& rows) : rows_(rows) {}
  const Status& status() const { return status_; }

  /// The keys that were looked for.
  std::vector<std::string> asked;

  template <typename T>
  void number(const char* key, T& value) {
    asked.push_back(key);
    const std::string* text = find(rows_, key);
    if (text == nullptr || *text == ckpt::kNotSet) return;
    std::string digits;
    for (const char c : *text)
      if (c != '_' && c != '+') digits.push_back(c);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || end != digits.data() + digits.size()) bad(key, *text, "a number");
  }
  template <typename T>
  void number(const char* key, std::optional<T>& value) {
    asked.push_back(key);
    if (const std::string* text = find(rows_, key); text == nullptr || *text == ckpt::kNotSet) return;
    T read{};
    number(key, read);
    value = read;
  }
  void text(const char* key, std::string& value) {
    asked.push_back(key);
    const std::string* text = find(rows_, key);
    if (text == nullptr || *text == ckpt::kNotSet) return;
    const bool quoted =
        text->size() >= 2 && (text->front() == '"' || text->front() == '\'') && text->back() == text->front();
    if (!quoted || text->find('\\') != std::string::npos) return bad(key, *text, "a plain string");
    value = text->substr(1, text->size() - 2);
  }

 private:
  void bad(const char* key, const std::string& found, const char* expected) {
    if (status_.ok()) status_ = ckpt::invalid(std::string(key) + " is " + found + ", expected " + expected);
  }
  const Settings& rows_;
  Status status_;
};

std::string quoted(const std::string& text) { return ckpt::toml_string(text); }

TorchtitanConfig read_all(Rows& rows) {
  TorchtitanConfig config;
  config.lr.peak = 8e-4;
  config.lr.warmup_steps = 200;
  std::optional<std::uint64_t> total;
  rows.text("optimizer.name", config.optimizer);
  rows.number("optimizer.lr", config.lr.peak);
  rows.number("optimizer.beta1", config.beta1);
  rows.number("optimizer.beta2", config.beta2);
  rows.number("optimizer.eps", config.eps);
  rows.number("optimizer.weight_decay", config.weight_decay);
  rows.number("lr_scheduler.warmup_steps", config.lr.warmup_steps);
  rows.number("lr_scheduler.total_steps", total);
  rows.number("lr_scheduler.decay_ratio", config.lr.decay_ratio);
  rows.text("lr_scheduler.decay_type", config.lr.decay_type);
  rows.number("lr_scheduler.lr_min", config.lr.min_lr_factor);
  rows.number("lr_scheduler.min_lr_factor", config.lr.min_lr_factor);
  rows.number("training.local_batch_size", config.local_batch_size);
  rows.number("training.global_batch_size", config.global_batch_size);
  rows.number("training.seq_len", config.seq_len);
  rows.number("training.steps", config.steps);
  rows.number("training.max_norm", config.max_norm);
  rows.text("training.dtype", config.dtype);
  rows.text("training.mixed_precision_param", config.mixed_precision_param);
  rows.text("training.mixed_precision_reduce", config.mixed_precision_reduce);
  rows.number("debug.seed", config.seed);
  rows.text("model.flavor", config.flavor);
  std::int64_t replicate = 1, shard = -1;
  rows.number("parallelism.data_parallel_replicate_degree", replicate);
  rows.number("parallelism.data_parallel_shard_degree", shard);
  if (replicate > 0 && shard > 0 && replicate < 1'000'000 && shard < 1'000'000)
    config.data_ranks = static_cast<std::uint64_t>(replicate * shard);
  config.lr.total_steps = total.value_or(config.steps);
  return config;
}

}  // namespace

Result<TorchtitanConfig> read_torchtitan(const Settings& settings) {
  Rows rows(settings);
  TorchtitanConfig config = read_all(rows);
  TITAN_RETURN_IF_ERROR(rows.status());
  const std::string& type = config.lr.decay_type;
  if (type != "linear" && type != "sqrt" && type != "cosine")
    return ckpt::invalid("lr_scheduler.decay_type is " + quoted(type) + ", expected linear, sqrt or cosine");
  return config;
}

double next_lr(const ckpt::LrSettings& settings, std::uint64_t step) {
  const std::uint64_t total = settings.total_steps, rest = total - std::min(settings.warmup_steps, total);
  // Without a decay torchtitan's virtual step after the last one is at the peak, where our curve has ended. Nobody
  // applies it.
  if (step == total && ckpt::decay_length(settings.decay_ratio, total, rest, rest) == 0) return settings.peak;
  return ckpt::lr_at(ckpt::schedule_from(settings).phases, step + 1);
}

std::vector<std::string> torchtitan_keys() {
  const Settings none;
  Rows rows(none);
  read_all(rows);
  return rows.asked;
}

Settings curve_rows(const TorchtitanConfig& config, std::uint64_t world) {
  const std::uint64_t global = config.global_batch_size > 0 ? static_cast<std::uint64_t>(config.global_batch_size)
                                                            : config.local_batch_size * world;
  Settings rows = ckpt::lr_rows(config.lr);
  const auto add = [&](const char* key, std::string text) { rows.emplace_back(key, std::move(text)); };
  add("optimizer.name", quoted(config.optimizer));
  add("optimizer.beta1", ckpt::toml_float(config.beta1));
  add("optimizer.beta2", ckpt::toml_float(config.beta2));
  add("optimizer.eps", ckpt::toml_float(config.eps));
  add("optimizer.weight_decay", ckpt::toml_float(config.weight_decay));
  add("training.local_batch_size", std::to_string(config.local_batch_size));
  add("training.global_batch_size", std::to_string(global));
  add("training.seq_len", std::to_string(config.seq_len));
  add("training.max_norm", ckpt::toml_float(config.max_norm));
  add("training.dtype", quoted(config.dtype));
  add("training.mixed_precision_param", quoted(config.mixed_precision_param));
  add("training.mixed_precision_reduce", quoted(config.mixed_precision_reduce));
  std::ranges::sort(rows);
  return rows;
}

}  // namespace titan::convert::dcp
