#include "recipe/plan/stage_rules.h"

#include <algorithm>
#include <functional>
#include <optional>

#include "ckpt/base/integers.h"
#include "ckpt/base/printed.h"
#include "ckpt/base/text.h"
#include "ckpt/base/toml_text.h"
#include "ckpt/plan/partition.h"
#include "recipe/plan/given_stages.h"
#include "recipe/plan/plan_values.h"
#include "recipe/plan/stage_split.h"

namespace titan::recipe {
namespace {

using ckpt::Result;
using ckpt::Status;

constexpr const char* kPins = "parallelism.stage_pins";

/// One rule that a configuration sets for the division.
struct Rule {
  std::string key, value;
  std::function<void(SplitProblem&)> set;
  /// Alternatives for the rule's value, for hints: the one at `distance` from the set value, as text in `value`, and
  /// the change of the problem that it makes. nullopt: there is none.
  std::function<std::optional<std::function<void(SplitProblem&)>>(std::uint32_t distance, std::string* value)> other;
  std::string name() const { return key + " " + value; }
};

Rule least_rule(std::uint32_t least, std::uint32_t layers) {
  Rule rule{"parallelism.min_layers_per_stage",
            std::to_string(least),
            [least](SplitProblem& p) { p.min_layers = least; },
            {}};
  // No stage can have more than all layers.
  rule.other = [from = std::min(least, layers + 1)](
                   std::uint32_t distance, std::string* value) -> std::optional<std::function<void(SplitProblem&)>> {
    if (distance >= from) return std::nullopt;
    *value = std::to_string(from - distance);
    return [n = from - distance](SplitProblem& p) { p.min_layers = n; };
  };
  return rule;
}

Rule most_rule(std::uint32_t most, std::uint32_t layers) {
  Rule rule{
      "parallelism.max_layers_per_stage", std::to_string(most), [most](SplitProblem& p) { p.max_layers = most; }, {}};
  rule.other = [most, layers](std::uint32_t distance,
                              std::string* value) -> std::optional<std::function<void(SplitProblem&)>> {
    if (most + distance > layers) return std::nullopt;
    *value = std::to_string(most + distance);
    return [n = most + distance](SplitProblem& p) { p.max_layers = n; };
  };
  return rule;
}

Rule pin_rule(const StagePin& pin) {
  return {kPins,
          ckpt::toml_string("layers." + std::to_string(pin.layer) + "=" + std::to_string(pin.stage)),
          [pin](SplitProblem& p) { p.pins.push_back(pin); },
          {}};
}

/// "layers.4=1": the layer and its stage.
Result<StagePin> read_pin(const std::string& word, std::uint32_t layers, std::uint32_t stages) {
  const std::string prefix = "layers.";
  const std::size_t equals = word.find('=');
  std::optional<std::uint32_t> layer, stage;
  if (word.starts_with(prefix) && equals != std::string::npos) {
    layer = ckpt::number_of<std::uint32_t>(std::string_view(word).substr(prefix.size(), equals - prefix.size()));
    stage = ckpt::number_of<std::uint32_t>(std::string_view(word).substr(equals + 1));
  }
  const std::string found = std::string(kPins) + ": ";
  if (!layer || !stage)
    return ckpt::invalid(found + "expected a layer and its stage such as \"layers.4=1\", found " +
                         ckpt::toml_string(word));
  if (*layer >= layers)
    return ckpt::invalid(found + ckpt::toml_string(word) +
                         " names a layer that is not there; the model has layers.0 to layers." +
                         std::to_string(layers - 1));
  if (*stage >= stages)
    return ckpt::invalid(found + ckpt::toml_string(word) + " names a stage that is not there; there are stages 0 to " +
                         std::to_string(stages - 1));
  return StagePin{*layer, *stage};
}

Result<std::vector<Rule>> rules_of(const Config::Parallelism& keys, const StageQuestion& question) {
  std::vector<Rule> rules;
  if (keys.min_layers_per_stage)
    rules.push_back(least_rule(static_cast<std::uint32_t>(*keys.min_layers_per_stage), question.layers));
  if (keys.max_layers_per_stage)
    rules.push_back(most_rule(static_cast<std::uint32_t>(*keys.max_layers_per_stage), question.layers));
  if (!keys.stage_pins.empty() && question.chunks > 1)
    return ckpt::invalid(std::string(kPins) + " needs one stage on each rank; schedule " +
                         facts_of(question.schedule).name + " has " + std::to_string(question.chunks))
        .with_hint("write all stages down: parallelism.pipeline_parallel_layout");
  for (const std::string& word : keys.stage_pins) {
    TITAN_ASSIGN_OR_RETURN(const StagePin pin, read_pin(word, question.layers, question.ranks * question.chunks));
    rules.push_back(pin_rule(pin));
  }
  if (!question.most_of_rank.empty())
    rules.push_back({"parallelism.memory_limit",
                     keys.memory_limit.value_or(""),
                     [most = question.most_of_rank](SplitProblem& p) { p.most_of_rank = most; },
                     {}});
  return rules;
}

SplitProblem problem_of(const StageQuestion& question) {
  SplitProblem problem;
  problem.ranks = question.ranks;
  problem.chunks = question.chunks;
  problem.placement = facts_of(question.schedule).placement;
  problem.layers = question.layers;
  problem.costs = question.costs;
  return problem;
}

std::optional<std::vector<std::uint32_t>> split_with(SplitProblem problem, const std::vector<Rule>& rules) {
  for (const Rule& rule : rules) rule.set(problem);
  return split_layers(problem);
}

/// The smallest set of rules that no split can satisfy together: rules that are not needed for the contradiction are
/// left out.
std::vector<Rule> contradicting(const SplitProblem& problem, std::vector<Rule> rules) {
  for (std::size_t i = 0; i < rules.size();) {
    std::vector<Rule> fewer = rules;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
    if (split_with(problem, fewer)) {
      ++i;
    } else {
      rules = fewer;
    }
  }
  return rules;
}

/// The nearest value of one of the rules `some` with which a split satisfies `all`, and the largest possible degree.
std::string nearest_fix(const SplitProblem& problem, const std::vector<Rule>& all, const std::vector<Rule>& some) {
  std::string fix;
  const auto or_else = [&](const std::string& what) { fix += (fix.empty() ? "" : ", or ") + what; };
  for (const Rule& rule : some) {
    std::string value;
    for (std::uint32_t distance = 1; rule.other; ++distance) {
      const auto set = rule.other(distance, &value);
      if (!set) break;
      std::vector<Rule> changed = all;
      for (Rule& one : changed)
        if (one.name() == rule.name()) one.set = *set;
      if (!split_with(problem, changed)) continue;
      or_else("--" + rule.key + "=" + value);
      break;
    }
  }
  const bool by_degree =
      std::ranges::none_of(all, [](const Rule& rule) { return rule.key == "parallelism.memory_limit"; });
  SplitProblem fewer = problem;
  while (by_degree && --fewer.ranks > 0) {
    if (!split_with(fewer, all)) continue;
    or_else("--parallelism.pipeline_parallel_degree=" + std::to_string(fewer.ranks) + ", the largest feasible");
    break;
  }
  if (some.size() > 1) or_else("leave one of them out");
  if (fix.empty()) return "leave it out";
  return (fix.starts_with("--") ? "set " : "") + fix;
}

Status refuse(const SplitProblem& problem, const std::vector<Rule>& rules) {
  const std::vector<Rule> some = contradicting(problem, rules);
  std::string names;
  for (std::size_t i = 0; i < some.size(); ++i)
    names += (i == 0 ? "" : i + 1 == some.size() ? " and " : ", ") + some[i].name();
  const std::string split =
      "cut of " + std::to_string(problem.layers) + " layers into " + std::to_string(problem.stages()) + " stages";
  const std::string message = some.size() == 1 ? "no " + split + " keeps to " + names
                                               : names + " contradict each other: no " + split + " keeps to " +
                                                     (some.size() == 2 ? "both" : "all of them");
  return ckpt::invalid(message).with_hint(nearest_fix(problem, rules, some));
}

Status more_stages_than_parts(const StageQuestion& question) {
  const std::uint32_t parts = question.layers + 2, most = parts / question.chunks;
  const std::string of_a_rank = question.chunks == 1 ? ""
                                                     : " with " + std::to_string(question.chunks) + " stages a rank (" +
                                                           facts_of(question.schedule).name + ")";
  return ckpt::invalid("parallelism.pipeline_parallel_degree " + std::to_string(question.ranks) + of_a_rank +
                       " asks for more stages than the model has parts: embedding + " +
                       std::to_string(question.layers) + " layers + head = " + std::to_string(parts) +
                       "; the largest feasible degree is " + std::to_string(most))
      .with_hint("set --parallelism.pipeline_parallel_degree=" + std::to_string(most) + " or less" +
                 (question.chunks == 1 ? "" : ", or a schedule with one stage a rank, such as 1F1B"));
}

/// Checks that stages listed in the configuration satisfy the rules.
Status check_given(const GivenStages& given, const SplitProblem& problem, const std::vector<Rule>& rules) {
  for (const Rule& rule : rules) {
    SplitProblem limited = problem;
    rule.set(limited);
    std::uint32_t first = 0;
    std::vector<std::uint32_t> of_rank(problem.ranks, 0);
    for (std::uint32_t stage = 0; stage < given.layers.size(); ++stage) {
      const std::uint32_t layers = given.layers[stage], rank = rank_of_stage(problem.placement, problem.ranks, stage);
      of_rank[rank] += layers;
      const bool pinned_elsewhere = std::ranges::any_of(limited.pins, [&](const StagePin& pin) {
        return pin.stage != stage && pin.layer >= first && pin.layer < first + layers;
      });
      const bool fits = limited.most_of_rank.empty() || of_rank[rank] <= limited.most_of_rank[rank];
      if (layers < limited.min_layers || layers > limited.max_layers || pinned_elsewhere || !fits)
        return ckpt::invalid(given.key + " and " + rule.name() + " contradict each other: stage " +
                             std::to_string(stage) + " has " +
                             (layers == 0   ? "no layer"
                              : layers == 1 ? "layers." + std::to_string(first) + " alone"
                                            : "layers." + std::to_string(first) + " to layers." +
                                                  std::to_string(first + layers - 1)))
            .with_hint("leave one of them out");
      first += layers;
    }
  }
  return ckpt::ok_status();
}

}  // namespace

Result<std::uint32_t> chunks_of(const Config::Parallelism& keys, const ScheduleFacts& facts, std::uint32_t layers) {
  TITAN_ASSIGN_OR_RETURN(const std::optional<GivenStages> written, written_stages(keys, layers));
  if (!written && !keys.pipeline_parallel_layers_per_stage) return facts.least_chunks;
  const auto pp = static_cast<std::uint64_t>(keys.pipeline_parallel_degree);
  std::uint64_t stages = written ? written->layers.size() : 0;
  std::string name = written ? written->key : "";
  if (keys.pipeline_parallel_layers_per_stage) {
    const StageWeights weights = stage_weights(keys);
    const std::int64_t each = *keys.pipeline_parallel_layers_per_stage, all = layers + weights.first + weights.last;
    const auto made = static_cast<std::uint64_t>(ckpt::ceil_div(all, each));
    const std::string per_stage = "parallelism.pipeline_parallel_layers_per_stage " + std::to_string(each);
    if (written && made != stages)
      return ckpt::invalid(name + " and " + per_stage + " contradict each other: the first has " +
                           std::to_string(stages) + " stages, the second makes " + std::to_string(made))
          .with_hint("leave one of them out");
    if (!written && made % pp != 0)
      return ckpt::invalid(per_stage + " makes " + std::to_string(made) + " stages of " + std::to_string(layers) +
                           " layers, embedding and head, which is not a multiple of pipeline_parallel_degree " +
                           std::to_string(pp))
          .with_hint("leave it out: schedule " + std::string(facts.name) + " then has " +
                     std::to_string(facts.least_chunks) + " on each rank");
    if (!written) name = per_stage;
    stages = made;
  }
  if (stages % pp != 0)
    return ckpt::invalid(name + " has " + ckpt::counted(stages, "stage") +
                         ", which is not a multiple of parallelism.pipeline_parallel_degree " + std::to_string(pp))
        .with_hint("schedule " + std::string(facts.name) + " takes " + std::to_string(facts.least_chunks * pp) +
                   " stages");
  const auto chunks = static_cast<std::uint32_t>(stages / pp);
  Status fits =
      check_shape(facts.kind, {static_cast<std::uint32_t>(pp), chunks,
                               facts.kind == ScheduleKind::kDualPipeV ? static_cast<std::uint32_t>(stages) : 1});
  fits.message = name + ": " + fits.message;
  if (!fits.ok()) return fits;
  return chunks;
}

Result<StageChoice> choose_stages(const Config::Parallelism& keys, const StageQuestion& question) {
  const SplitProblem problem = problem_of(question);
  if (problem.stages() > question.layers + 2) return more_stages_than_parts(question);
  TITAN_ASSIGN_OR_RETURN(std::optional<GivenStages> given, written_stages(keys, question.layers));
  if (!given && has_stage_weights(keys)) {
    TITAN_ASSIGN_OR_RETURN(given, weighted_stages(keys, question.layers, problem.stages()));
  }
  TITAN_ASSIGN_OR_RETURN(const std::vector<Rule> rules, rules_of(keys, question));
  if (given) {
    TITAN_RETURN_IF_ERROR(check_given(*given, problem, rules));
    return StageChoice{given->layers, given->key};
  }
  if (const auto best = split_with(problem, rules)) return StageChoice{*best, ""};
  return refuse(problem, rules);
}

Status set_stages(const std::vector<std::uint32_t>& layers_of_stage, RunPlan& plan) {
  TITAN_ASSIGN_OR_RETURN(const ckpt::ModelGroups groups, ckpt::group_parameters(plan.parameters));
  plan.stage_cuts = cuts_of_layers(layers_of_stage);
  plan.stages.clear();
  for (std::size_t i = 0; i < plan.parameters.size(); ++i) {
    const auto cut = std::ranges::upper_bound(plan.stage_cuts, groups.group_of[i]);
    const auto stage = static_cast<std::uint32_t>(cut - plan.stage_cuts.begin());
    plan.parameters[i].stage = plan.rank_of(stage);
    if (plan.chunks > 1) plan.stages.push_back(stage);
  }
  return ckpt::ok_status();
}

}  // namespace titan::recipe
