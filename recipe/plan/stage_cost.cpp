#include "recipe/plan/stage_cost.h"

#include <cmath>
#include <optional>

#include "ckpt/base/nearest.h"
#include "ckpt/base/printed.h"
#include "ckpt/base/text.h"
#include "ckpt/base/toml_text.h"
#include "recipe/model/family.h"

namespace titan::recipe {
namespace {

constexpr const char* kKey = "parallelism.stage_cost";

std::uint64_t size(std::int64_t value) { return static_cast<std::uint64_t>(value); }

/// \source the products of a layer take 2 operations per weight and token; causal attention reads half of `seq_len`
/// tokens on average, once for the scores and once for the values. With sliding windows every layer costs the mean of
/// all
PartCosts flops(const ModelDims& dims, std::int64_t seq_len) {
  return {0, 2 * multiplied_elements(dims) + 2 * size(mean_seen(dims, seq_len)) * extent(Extent::kQueries, dims),
          2 * size(dims.vocab_size) * size(dims.dim)};
}

PartCosts params(const ModelDims& dims) {
  const std::uint64_t table = size(dims.vocab_size) * size(dims.dim);
  return {table, layer_elements(dims), size(dims.dim) + table};
}

Status not_a_model(const std::string& text, const std::string& what) {
  return ckpt::invalid(std::string(kKey) + ": expected flops, params, uniform, measured, or numbers such as " +
                       "\"embedding=0,layer=1,head=3.5\", found " + ckpt::toml_string(text) + what);
}

/// Reads costs that the user gave. \error kInvalid: as part_costs
Result<PartCosts> own_numbers(const std::string& text) {
  constexpr double kUnit = 1e6, kMost = 1e6;
  PartCosts costs{0, 0, 0};
  bool layer = false;
  for (const std::string& item : ckpt::split(text, ',')) {
    const std::size_t equals = item.find('=');
    if (equals == std::string::npos) {
      const std::string meant = ckpt::did_you_mean(text, {"flops", "params", "uniform", "measured"});
      return not_a_model(text, "").with_hint(meant);
    }
    const std::string name = item.substr(0, equals);
    const std::optional<double> number = ckpt::number_of<double>(item.substr(equals + 1));
    if (!number || !(*number >= 0) || *number > kMost)
      return not_a_model(text, ": " + name + " needs a number from 0 to 1000000");
    const auto cost = static_cast<std::uint64_t>(std::llround(*number * kUnit));
    if (name == "embedding") {
      costs.embedding = cost;
    } else if (name == "layer") {
      costs.layer = cost;
      layer = true;
    } else if (name == "head") {
      costs.head = cost;
    } else {
      return not_a_model(text, ": a model has no part " + ckpt::toml_string(name));
    }
  }
  if (!layer || costs.layer == 0) return not_a_model(text, ": a layer must cost something");
  return costs;
}

Result<PartCosts> by_name(const std::string& model, const ModelDims& dims, std::int64_t seq_len) {
  if (model == "flops") return flops(dims, seq_len);
  if (model == "params") return params(dims);
  if (model == "uniform") return PartCosts{1, 1, 1};
  if (model == "measured")
    return ckpt::invalid(std::string(kKey) + " = \"measured\": nothing is measured yet")
        .with_hint("`titan-train plan CONFIG --measure` times a layer, the embedding and the head here");
  return own_numbers(model);
}

}  // namespace

Result<PartCosts> part_costs(const std::string& model, const ModelDims& dims, std::int64_t seq_len) {
  TITAN_ASSIGN_OR_RETURN(const PartCosts costs, by_name(model, dims, seq_len));
  const unsigned __int128 sum = static_cast<unsigned __int128>(costs.layer) * size(dims.n_layers) + costs.embedding +
                                static_cast<unsigned __int128>(costs.head);
  if (sum >> 63 != 0)
    return ckpt::invalid("the costs of the stages (" + std::string(kKey) + " = " + ckpt::toml_string(model) +
                         ") do not add up in 63 bits");
  return costs;
}

std::string cost_table(double embedding, double layer, double head) {
  return ckpt::printed("embedding=%.4f,layer=1,head=%.4f", embedding / layer, head / layer);
}

}  // namespace titan::recipe
