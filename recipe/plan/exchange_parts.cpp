#include "recipe/plan/exchange_parts.h"

#include <algorithm>

#include "ckpt/plan/partition.h"
#include "recipe/model/family.h"
#include "recipe/plan/plan_values.h"

namespace titan::recipe {
namespace {

bool is_tied_embedding(const RunPlan& plan, std::size_t parameter) {
  return plan.dims.tied && plan.parameters[parameter].name == kEmbeddingName;
}

/// A group of parameters that is never divided between parts: the embedding, a layer, or the final norm with the head.
struct Unit {
  std::uint32_t group = 0;
  std::uint64_t elements = 0;
  std::vector<std::size_t> parameters;
};

/// The units of one pipeline rank, in model order, without a tied embedding.
std::vector<Unit> units_of(const RunPlan& plan, const std::vector<std::uint32_t>& group_of, std::uint32_t rank) {
  std::vector<Unit> units;
  for (std::size_t i = 0; i < plan.parameters.size(); ++i) {
    if (plan.parameters[i].stage != rank || is_tied_embedding(plan, i)) continue;
    if (units.empty() || units.back().group != group_of[i]) units.push_back({.group = group_of[i]});
    units.back().elements += ckpt::element_count(plan.parameters[i].shape);
    units.back().parameters.push_back(i);
  }
  return units;
}

std::uint64_t elements_of(const std::vector<Unit>& units) {
  std::uint64_t sum = 0;
  for (const Unit& unit : units) sum += unit.elements;
  return sum;
}

std::vector<std::uint32_t> groups_of(const RunPlan& plan) {
  const auto groups = ckpt::group_parameters(plan.parameters);
  return groups.ok() ? groups->group_of : std::vector<std::uint32_t>(plan.parameters.size(), 0);
}

}  // namespace

std::uint32_t most_exchange_parts(const RunPlan& plan) {
  if (plan.mesh.dp == 1) return 1;
  const std::vector<std::uint32_t> group_of = groups_of(plan);
  std::uint64_t parts = ~std::uint64_t{0};
  for (std::uint32_t rank = 0; rank < plan.mesh.pp; ++rank) {
    const std::vector<Unit> units = units_of(plan, group_of, rank);
    const std::uint64_t leaves = elements_of(units) / plan.leaf_elements / plan.mesh.dp;
    parts = std::min({parts, static_cast<std::uint64_t>(units.size()), leaves / kLeavesOfPart});
  }
  return static_cast<std::uint32_t>(std::max<std::uint64_t>(parts, 1));
}

std::vector<std::uint32_t> exchange_parts(const RunPlan& plan) {
  std::vector<std::uint32_t> parts(plan.parameters.size(), 0);
  if (plan.exchange_parts <= 1) return parts;
  const std::vector<std::uint32_t> group_of = groups_of(plan);
  for (std::uint32_t rank = 0; rank < plan.mesh.pp; ++rank) {
    const std::vector<Unit> units = units_of(plan, group_of, rank);
    const auto total = static_cast<double>(elements_of(units));
    const bool tied = plan.dims.tied && rank == plan.rank_of(0);
    std::uint32_t next = tied ? 1 : 0;
    std::uint64_t before = 0, last = 0;
    for (std::size_t i = 0; i < units.size(); ++i) {
      const double middle = static_cast<double>(before) + static_cast<double>(units[i].elements) / 2;
      const auto place = static_cast<std::uint64_t>(middle * plan.exchange_parts / total);
      if (i > 0 && place != last) ++next;
      last = place;
      before += units[i].elements;
      for (const std::size_t parameter : units[i].parameters) parts[parameter] = next;
    }
  }
  return parts;
}

std::uint32_t exchange_part_count(const RunPlan& plan) {
  const std::vector<std::uint32_t> parts = exchange_parts(plan);
  return parts.empty() ? 1 : *std::ranges::max_element(parts) + 1;
}

}  // namespace titan::recipe
