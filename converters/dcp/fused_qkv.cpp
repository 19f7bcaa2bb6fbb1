#include "converters/dcp/fused_qkv.h"

#include "ckpt/model/tensor_meta.h"
#include "converters/name_map.h"
#include "recipe/model/family.h"

namespace titan::convert::dcp {
namespace {

using recipe::Part;

constexpr std::string_view kFused = "wqkv", kLayers = "layers.";
constexpr Part kParts[][3] = {{Part::kQuery, Part::kKey, Part::kValue},
                              {Part::kQueryBias, Part::kKeyBias, Part::kValueBias}};

// "layers.0.attention.qkv_linear.wqkv.weight" for torchtitan's name of one of its parts.
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

ckpt::Result<FusedShape> fused_shape(const std::string& path, const std::string& name,
                                     const std::vector<ckpt::ParameterMeta>& parts, std::uint64_t head_dim) {
  if (head_dim == 0)
    return ckpt::incompatible(path + ": moments of queries, keys and values are one tensor in torchtitan 0.3.0, '" +
                              name + "': the number of heads says which rows are whose")
        .with_hint("give --config FILE.toml with model.n_heads, or leave the optimizer out: --skip 'optimizer.*'");
  const auto rows = [&](std::size_t part) { return parts[part].shape.empty() ? 0 : parts[part].shape[0]; };
  const std::uint64_t kv_heads = rows(1) / head_dim;
  FusedShape fused{parts[0].shape, kv_heads};
  for (std::size_t part = 0; part < parts.size(); ++part) {
    const std::uint64_t share = kv_heads == 0 ? 0 : rows(part) / kv_heads;
    if (share == 0 || rows(part) != share * kv_heads || share % head_dim != 0 || (part > 0 && share != head_dim))
      return ckpt::incompatible(path + ": tensor '" + parts[part].name + "' has the shape " +
                                ckpt::shape_text(parts[part].shape) + ", which makes no whole heads of " +
                                std::to_string(head_dim) + " rows for " + std::to_string(kv_heads) + " heads of keys");
    if (part > 0) fused.shape[0] += rows(part);
  }
  return fused;
}

std::optional<std::string> fused_home(const std::string& name) {
  const std::optional<MappedName> theirs = torchtitan_names().theirs(name);
  if (!theirs || !theirs->name.starts_with(kLayers)) return std::nullopt;
  std::string fused = fused_name(theirs->name);
  return is_fused_qkv(fused) ? std::optional(std::move(fused)) : std::nullopt;
}

}  // namespace titan::convert::dcp
