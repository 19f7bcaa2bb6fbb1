#include "converters/hf/made_config.h"

#include <algorithm>

#include "converters/hf/hf_checkpoint.h"
#include "converters/hf/hf_config.h"

namespace titan::convert {
namespace {

constexpr std::uint64_t kMostPositions = std::uint64_t{1} << 40;  // larger values are not a length

}  // namespace

void add_made_config(const recipe::ModelDims& model, const TextSettings& said, ImportPlan& plan) {
  const auto token = [&](const std::optional<std::uint64_t>& id) {
    return id && *id < static_cast<std::uint64_t>(model.vocab_size) ? JsonValue::integer(*id) : JsonValue();
  };
  const bool context = said.context && *said.context > 0 && *said.context < kMostPositions;
  const JsonValue begin = token(said.begin), end = token(said.end);
  const bool there =
      std::ranges::find(plan.companions, std::string(kHfConfig), &Companion::name) != plan.companions.end();
  if (there || family_for(model, hf_families()) == nullptr || (!context && begin.is_null() && end.is_null())) return;
  JsonValue config = write_hf_config(model, {}, {.max_positions = context ? *said.context : 0});
  if (!context) config.remove("max_position_embeddings");
  config.set("bos_token_id", begin);
  config.set("eos_token_id", end);
  plan.companions.push_back({"", kHfConfig, {}, config.write()});
}

}  // namespace titan::convert
