#include "ckpt/plan/partition.h"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <optional>
#include <string_view>

namespace titan::ckpt {
namespace {

using Wide = unsigned __int128;  // squared costs need more than 64 bits
constexpr Wide kNever = ~Wide{0};

/// The sum of costs[i..j) for any i <= j with one subtraction.
class PrefixSums {
 public:
  explicit PrefixSums(const std::vector<std::uint64_t>& costs) : sums_(costs.size() + 1) {
    std::partial_sum(costs.begin(), costs.end(), sums_.begin() + 1);
  }
  std::uint64_t operator()(std::size_t i, std::size_t j) const { return sums_[j] - sums_[i]; }

 private:
  std::vector<std::uint64_t> sums_;
};

bool sum_fits(const std::vector<std::uint64_t>& costs) {
  std::uint64_t sum = 0;
  for (std::uint64_t cost : costs)
    if (__builtin_add_overflow(sum, cost, &sum)) return false;
  return true;
}

/// First pass: the smallest possible cost of the largest stage.
std::uint64_t smallest_bound(const PrefixSums& cost, std::size_t groups, std::uint32_t stages) {
  // best[j]: the cost of the largest stage for groups [0, j) in as many stages as there were rounds so far.
  std::vector<std::uint64_t> best(groups + 1);
  for (std::size_t j = 1; j <= groups; ++j) best[j] = cost(0, j);
  for (std::uint32_t k = 2; k <= stages; ++k) {
    for (std::size_t j = groups; j >= k; --j) {
      std::uint64_t smallest = ~std::uint64_t{0};
      for (std::size_t i = k - 1; i < j; ++i) smallest = std::min(smallest, std::max(best[i], cost(i, j)));
      best[j] = smallest;
    }
  }
  return best[groups];
}

std::optional<std::uint32_t> layer_index(std::string_view name) {
  constexpr std::string_view kPrefix = "layers.";
  if (!name.starts_with(kPrefix)) return std::nullopt;
  std::string_view rest = name.substr(kPrefix.size());
  std::uint32_t index = 0;
  auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), index);
  const std::size_t digits = static_cast<std::size_t>(end - rest.data());
  const bool canonical = digits == 1 || (digits > 1 && rest[0] != '0');
  if (error != std::errc{} || !canonical || digits + 1 >= rest.size() || rest[digits] != '.') return std::nullopt;
  return index;
}

}  // namespace

Result<std::vector<std::uint32_t>> partition_stages(const std::vector<std::uint64_t>& costs, std::uint32_t stages) {
  const std::size_t groups = costs.size();
  if (stages == 0 || groups < stages) {
    return invalid("cannot cut " + std::to_string(groups) + " groups (embedding, each layer, head) into " +
                   std::to_string(stages) + " non-empty stages")
        .with_hint("the largest feasible pipeline degree is " + std::to_string(groups));
  }
  if (!sum_fits(costs))
    return invalid("the costs of the " + std::to_string(groups) + " groups do not add up in 64 bits");
  const PrefixSums cost(costs);
  const std::uint64_t bound = smallest_bound(cost, groups, stages);

  // Second pass, from the right: squares[k][i] is the least sum of squares for groups [i, groups) in k stages <= bound.
  std::vector<std::vector<Wide>> squares(stages + 1, std::vector<Wide>(groups + 1, kNever));
  squares[0][groups] = 0;
  for (std::uint32_t k = 1; k <= stages; ++k) {
    for (std::size_t i = 0; i < groups; ++i) {
      for (std::size_t j = i + 1; j <= groups && cost(i, j) <= bound; ++j) {
        if (squares[k - 1][j] != kNever)
          squares[k][i] = std::min(squares[k][i], Wide{cost(i, j)} * cost(i, j) + squares[k - 1][j]);
      }
    }
  }
  // Choose the cuts from the left, each time the smallest one that still gives the optimum.
  std::vector<std::uint32_t> cuts;
  std::size_t i = 0;
  for (std::uint32_t k = stages; k > 1; --k) {
    std::size_t j = i + 1;
    while (squares[k - 1][j] == kNever || Wide{cost(i, j)} * cost(i, j) + squares[k - 1][j] != squares[k][i]) ++j;
    cuts.push_back(static_cast<std::uint32_t>(j));
    i = j;
  }
  return cuts;
}

Result<ModelGroups> group_parameters(const std::vector<ParameterMeta>& parameters) {
  ModelGroups groups;
  std::vector<std::optional<std::uint32_t>> layers;  // per parameter
  std::vector<bool> present;
  for (const ParameterMeta& parameter : parameters) {
    layers.push_back(layer_index(parameter.name));
    if (layers.back()) {
      // A gap is found below. A huge index must not cause a large allocation.
      const std::uint32_t layer = *layers.back();
      if (layer >= parameters.size())
        return invalid(parameter.name + ": layer " + std::to_string(layer) + " in a model of " +
                       std::to_string(parameters.size()) + " parameters: layers must be numbered from 0 without gaps");
      if (layer >= present.size()) present.resize(layer + 1);
      present[layer] = true;
    }
  }
  if (auto gap = std::find(present.begin(), present.end(), false); gap != present.end())
    return invalid("layers must be numbered from 0 without gaps: layers." + std::to_string(gap - present.begin()) +
                   ".* is missing, layers." + std::to_string(present.size() - 1) + ".* is there");
  groups.layers = static_cast<std::uint32_t>(present.size());
  const std::uint32_t head = groups.layers + 1;
  groups.costs.assign(head + 1, 0);

  std::uint64_t embedding = 0;
  std::optional<std::uint64_t> output;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const ParameterMeta& parameter = parameters[i];
    std::uint64_t elements = 0;
    if (!checked_elements(parameter.shape, &elements))
      return invalid(parameter.name + ": the shape has more than 2^63 elements");
    if (layers[i]) {
      groups.group_of.push_back(*layers[i] + 1);
      std::uint64_t& cost = groups.costs[*layers[i] + 1];
      if (parameter.shape.size() == 2 && __builtin_add_overflow(cost, elements, &cost))
        return invalid(parameter.name + ": the cost of its layer does not fit in 64 bits");
    } else if (parameter.name.starts_with("tok_embeddings.")) {
      groups.group_of.push_back(0);
      if (parameter.name == "tok_embeddings.weight") embedding = elements;
    } else if (parameter.name.starts_with("norm.") || parameter.name.starts_with("output.")) {
      groups.group_of.push_back(head);
      if (parameter.name == "output.weight") output = elements;
    } else {
      return invalid(parameter.name + ": expected tok_embeddings.*, layers.<i>.*, norm.* or output.*");
    }
  }
  groups.costs[head] = output.value_or(embedding);  // a tied head multiplies by the embedding
  return groups;
}

Status assign_stages(std::vector<ParameterMeta>& parameters, std::uint32_t pp) {
  if (pp == 1) {
    for (ParameterMeta& parameter : parameters) parameter.stage = 0;
    return ok_status();
  }
  TITAN_ASSIGN_OR_RETURN(ModelGroups groups, group_parameters(parameters));
  TITAN_ASSIGN_OR_RETURN(std::vector<std::uint32_t> cuts, partition_stages(groups.costs, pp));
  std::vector<std::uint32_t> stage_of;
  std::vector<std::uint32_t> held(pp, 0);
  for (std::uint32_t group : groups.group_of) {
    const auto stage = std::upper_bound(cuts.begin(), cuts.end(), group) - cuts.begin();
    stage_of.push_back(static_cast<std::uint32_t>(stage));
    ++held[static_cast<std::size_t>(stage)];
  }
  for (std::uint32_t stage = 0; stage < pp; ++stage) {
    if (held[stage] == 0)
      return invalid("pipeline stage " + std::to_string(stage) + " of " + std::to_string(pp) +
                     " would hold no parameter")
          .with_hint("use a smaller pipeline degree");
  }
  for (std::size_t i = 0; i < parameters.size(); ++i) parameters[i].stage = stage_of[i];
  return ok_status();
}

}  // namespace titan::ckpt
