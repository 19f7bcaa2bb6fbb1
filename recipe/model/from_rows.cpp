#include "recipe/model/from_rows.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "ckpt/base/toml_text.h"
#include "ckpt/plan/lr_settings.h"

namespace titan::recipe {
namespace {

constexpr std::pair<const char*, std::int64_t ModelDims::*> kSizes[] = {
    {"model.dim", &ModelDims::dim},
    {"model.n_layers", &ModelDims::n_layers},
    {"model.n_heads", &ModelDims::n_heads},
    {"model.n_kv_heads", &ModelDims::n_kv_heads},
    {"model.head_dim", &ModelDims::head_dim},
    {"model.ffn_dim", &ModelDims::ffn_dim},
    {"model.vocab_size", &ModelDims::vocab_size},
};

template <typename T>
bool parse_whole(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}
bool parse(std::string_view text, std::int64_t& value) { return parse_whole(text, value) && value >= 0; }
bool parse(std::string_view text, double& value) { return parse_whole(text, value); }
bool parse(std::string_view text, bool& value) {
  value = text == "true";
  return value || text == "false";
}
bool parse(std::string_view text, std::optional<RopeScaling>& value) {
  if (text.size() < 2 || !text.starts_with('"') || !text.ends_with('"')) return false;
  text = text.substr(1, text.size() - 2);
  value = read_rope_scaling(text);
  return value || text == kPlainRope;
}

// Takes values out of rows and remembers what was wrong.
class Taker {
 public:
  explicit Taker(const ckpt::Settings& rows) : rows_(rows) {}
  // Accepted settings say of keys that were left open that they were.
  const std::string* find(std::string_view key) const {
    const auto at = std::ranges::find(rows_, key, &ckpt::Settings::value_type::first);
    return at == rows_.end() || at->second == ckpt::kNotSet ? nullptr : &at->second;
  }
  template <typename T>
  void take(const char* key, T& value, bool required) {
    const std::string* text = find(key);
    if (text == nullptr) {
      if (required) missing_ += (missing_.empty() ? "" : ", ") + std::string(key);
    } else if (!parse(*text, value) && wrong_.empty()) {
      wrong_ = std::string(key) + " is " + *text;
    }
  }
  const std::string& missing() const { return missing_; }
  const std::string& wrong() const { return wrong_; }

 private:
  const ckpt::Settings& rows_;
  std::string missing_, wrong_;
};

}  // namespace

std::vector<std::string> model_keys() {
  std::vector<std::string> keys(std::begin(kModelDimensions), std::end(kModelDimensions));
  keys.insert(keys.end(), std::begin(kModelSwitches), std::end(kModelSwitches));
  return keys;
}

ckpt::Settings model_rows(const ModelDims& dims) {
  ckpt::Settings rows;
  for (const auto& [key, member] : kSizes) rows.emplace_back(key, std::to_string(dims.*member));
  rows.emplace_back("model.norm_eps", ckpt::toml_float(dims.norm_eps));
  rows.emplace_back("model.rope_theta", ckpt::toml_float(dims.rope_theta));
  rows.emplace_back("model.tied_embeddings", dims.tied ? "true" : "false");
  if (dims.qkv_bias) rows.emplace_back("model.qkv_bias", "true");
  if (dims.rope_scaling)
    rows.emplace_back("model.rope_scaling", ckpt::toml_string(rope_scaling_text(*dims.rope_scaling)));
  std::ranges::sort(rows);
  return rows;
}

Result<ModelDims> dims_from_rows(const std::string& what, const ckpt::Settings& rows) {
  ModelDims dims;
  Taker taker(rows);
  for (const auto& [key, member] : kSizes) taker.take(key, dims.*member, member != &ModelDims::head_dim);
  // As titan-train reads its configuration. Without dim or heads it is those that are asked for.
  const bool heads = dims.dim > 0 && dims.n_heads > 0;
  if (taker.find("model.head_dim") == nullptr && heads && dims.dim % dims.n_heads == 0)
    dims.head_dim = dims.dim / dims.n_heads;
  else if (heads)
    taker.take("model.head_dim", dims.head_dim, true);
  taker.take("model.norm_eps", dims.norm_eps, true);
  taker.take("model.rope_theta", dims.rope_theta, true);
  taker.take("model.tied_embeddings", dims.tied, false);
  taker.take("model.qkv_bias", dims.qkv_bias, false);
  taker.take("model.rope_scaling", dims.rope_scaling, false);
  if (!taker.missing().empty())
    return ckpt::incompatible(what + " does not say what its model is: " + taker.missing() + " missing")
        .with_hint("a configuration file can say it: --config FILE.toml with these keys under [model]");
  if (!taker.wrong().empty())
    return ckpt::incompatible(what + ": " + taker.wrong() + ", which has another type than expected");
  if (const Status checked = check_dims(dims); !checked.ok()) return ckpt::incompatible(what + ": " + checked.message);
  return dims;
}

Result<ModelDims> stored_dims(const ckpt::Settings& rows, const std::string& path) {
  std::string missing;
  for (const char* key : kModelDimensions)
    if (!ckpt::has_setting(rows, key)) missing += (missing.empty() ? "" : ", ") + std::string(key);
  if (missing.empty()) return dims_from_rows(path, rows);
  return ckpt::incompatible(path + " does not say what model it holds: its configuration has no " + missing)
      .with_hint(
          "convert the original with a configuration that says it: titan-ckpt convert ORIGINAL NEW --to titan "
          "--config FILE.toml, with these keys under [model] or a model.flavor");
}

}  // namespace titan::recipe
