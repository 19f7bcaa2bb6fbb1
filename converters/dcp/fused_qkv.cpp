#include "converters/dcp/fused_qkv.h"

#include "converters/name_table.h"
#include "recipe/model/family.h"

namespace titan::convert::dcp {
namespace {

using recipe::Part;

constexpr std::string_view kFused = "wqkv", kLayers = "layers.";
constexpr Part kParts[][3] = {{Part::kQuery, Part::kKey, Part::kValue},
                              {Part::kQueryBias, Part::kKeyBias, Part::kValueBias}};

// "layers.0.attention.qkv_linear.wqkv.weight" of the name that torchtitan has for a part of it.
std::string fused_name(std::string part) {
  const std::size_t end = part.rfind('.'), begin = part.rfind('.', end - 1) + 1;
  return part.replace(begin, end - begin, kFused);
}

}  // namespace

bool is_fused_qkv(const std::string& name) { return !fused_parts(name, 1, 0).empty(); }

std::vector<FusedPart> fused_parts(const std::string& name, std::uint64_t group, std::uint64_t head_dim) {
  if (!name.starts_with(kLayers)) return {};
  const std::string layer = name.substr(kLayers.size(), name.find('.', kLayers.size()) - kLayers.size());
  const std::uint64_t period = (group + 2) * head_dim;
  for (const auto& [query, key, value] : kParts) {
    const auto ours = [&](Part part) { return recipe::filled_pattern(recipe::kind_of(part).ours, {layer, ""}); };
    const auto theirs = torchtitan_names().theirs(ours(query));
    if (!theirs || fused_name(theirs->name) != name) continue;
    return {{ours(query), {group * head_dim, period, 0}},
            {ours(key), {head_dim, period, group * head_dim}},
            {ours(value), {head_dim, period, (group + 1) * head_dim}}};
  }
  return {};
}

}  // namespace titan::convert::dcp
