#include "recipe/plan/given_stages.h"

#include <algorithm>

#include "ckpt/base/nearest.h"
#include "ckpt/base/text.h"
#include "ckpt/base/toml_text.h"
#include "ckpt/plan/stage_layout.h"

namespace titan::recipe {
namespace {

using ckpt::Result;
using ckpt::Status;

constexpr const char* kLayout = "parallelism.pipeline_parallel_layout";
constexpr const char* kModules = "parallelism.module_fqns_per_model_part";
constexpr const char* kFirst = "parallelism.pipeline_parallel_first_stage_less_layers";
constexpr const char* kLast = "parallelism.pipeline_parallel_last_stage_less_layers";

std::vector<std::uint32_t> layers_between(const std::vector<std::uint32_t>& cuts, std::uint32_t layers) {
  std::vector<std::uint32_t> of_stage;
  std::uint32_t first = 1;
  for (const std::uint32_t cut : cuts) {
    of_stage.push_back(cut - first);
    first = cut;
  }
  // The layers after the last cut. There may be none: the last stage then has only the head.
  of_stage.push_back(layers + 1 - first);
  return of_stage;
}

/// torchtitan's names of a model's modules, in order.
std::vector<std::string> module_names(std::uint32_t layers) {
  std::vector<std::string> names = {"tok_embeddings"};
  for (std::uint32_t i = 0; i < layers; ++i) names.push_back("layers." + std::to_string(i));
  names.insert(names.end(), {"norm", "output"});
  return names;
}

/// The stage of each module, in the order of module_names. \error kInvalid: as written_stages
Result<std::vector<std::uint32_t>> stages_of_modules(const std::vector<std::string>& parts,
                                                     const std::vector<std::string>& names) {
  std::vector<std::optional<std::uint32_t>> found(names.size());
  const std::string key = std::string(kModules) + ": ";
  for (std::uint32_t stage = 0; stage < parts.size(); ++stage) {
    std::vector<std::string> words = ckpt::split(parts[stage], ' ');
    std::erase(words, "");
    if (words.empty())
      return ckpt::invalid(key + "stage " + std::to_string(stage) + " is empty")
          .with_hint("each stage needs at least one of tok_embeddings, layers.N, norm, output");
    for (const std::string& word : words) {
      const auto at = std::ranges::find(names, word);
      if (at == names.end())
        return ckpt::invalid(key + "stage " + std::to_string(stage) + " has " + ckpt::toml_string(word) +
                             "; the model's modules are tok_embeddings, layers.0 to " + names[names.size() - 3] +
                             ", norm and output")
            .with_hint(ckpt::did_you_mean(word, names));
      std::optional<std::uint32_t>& place = found[static_cast<std::size_t>(at - names.begin())];
      if (place)
        return ckpt::invalid(key + word + " is on stage " + std::to_string(*place) + " and on stage " +
                             std::to_string(stage));
      place = stage;
    }
  }
  std::vector<std::uint32_t> stages;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!found[i]) return ckpt::invalid(key + names[i] + " is on no stage");
    stages.push_back(*found[i]);
  }
  return stages;
}

Result<std::vector<std::uint32_t>> layers_of_modules(const std::vector<std::string>& parts, std::uint32_t layers) {
  const std::vector<std::string> names = module_names(layers);
  TITAN_ASSIGN_OR_RETURN(const std::vector<std::uint32_t> stages, stages_of_modules(parts, names));
  const std::string key = std::string(kModules) + ": ";
  const auto last = static_cast<std::uint32_t>(parts.size() - 1);
  // Head and loss stay together, so that no logits have to be sent.
  for (const std::size_t i : {names.size() - 2, names.size() - 1})
    if (stages[i] != last)
      return ckpt::invalid(key + names[i] + " is on stage " + std::to_string(stages[i]) + "; it must be on the last, " +
                           std::to_string(last));
  if (stages.front() != 0)
    return ckpt::invalid(key + "tok_embeddings is on stage " + std::to_string(stages.front()) +
                         "; it must be on stage 0");
  std::vector<std::uint32_t> of_stage(parts.size(), 0);
  for (std::uint32_t i = 0; i < layers; ++i) {
    if (i > 0 && stages[i + 1] < stages[i])
      return ckpt::invalid(key + names[i + 1] + " is on stage " + std::to_string(stages[i + 1]) + ", before " +
                           names[i] + " on stage " + std::to_string(stages[i]))
          .with_hint("the layers of a stage follow those of the stage before it");
    ++of_stage[stages[i + 1]];
  }
  return of_stage;
}

Status named(Status status, const std::string& key) {
  status.message = key + ": " + status.message;
  return status;
}

Status both_say(const std::string& a, const std::string& b) {
  return ckpt::invalid(a + " and " + b + " both say what the stages are").with_hint("leave one of them out");
}

}  // namespace

bool has_stage_weights(const Config::Parallelism& keys) {
  return keys.pipeline_parallel_first_stage_less_layers || keys.pipeline_parallel_last_stage_less_layers;
}

StageWeights stage_weights(const Config::Parallelism& keys) {
  return {keys.pipeline_parallel_first_stage_less_layers.value_or(1),
          keys.pipeline_parallel_last_stage_less_layers.value_or(1)};
}

Result<std::optional<GivenStages>> written_stages(const Config::Parallelism& keys, std::uint32_t layers) {
  const bool modules = !keys.module_fqns_per_model_part.empty();
  const std::string weights = keys.pipeline_parallel_first_stage_less_layers ? kFirst : kLast;
  if (keys.pipeline_parallel_layout && modules) return both_say(kLayout, kModules);
  if (keys.pipeline_parallel_layout && has_stage_weights(keys)) return both_say(kLayout, weights);
  if (modules && has_stage_weights(keys)) return both_say(kModules, weights);
  if (keys.pipeline_parallel_layout) {
    const auto cuts = ckpt::parse_stage_layout(*keys.pipeline_parallel_layout, layers);
    if (!cuts.ok()) return named(cuts.status(), kLayout);
    return std::optional(GivenStages{kLayout, layers_between(*cuts, layers)});
  }
  if (!modules) return std::optional<GivenStages>();
  TITAN_ASSIGN_OR_RETURN(std::vector<std::uint32_t> of_stage,
                         layers_of_modules(keys.module_fqns_per_model_part, layers));
  return std::optional(GivenStages{kModules, std::move(of_stage)});
}

Result<GivenStages> weighted_stages(const Config::Parallelism& keys, std::uint32_t layers, std::uint32_t stages) {
  const StageWeights weights = stage_weights(keys);
  const std::int64_t all = layers + weights.first + weights.last, share = all / stages, more = all % stages;
  const std::string key = keys.pipeline_parallel_first_stage_less_layers ? kFirst : kLast;
  if (share == 0)
    return ckpt::invalid(key + ": " + std::to_string(layers) + " layers, " + std::to_string(weights.first) +
                         " for the embedding and " + std::to_string(weights.last) + " for the head do not fill " +
                         std::to_string(stages) + " stages");
  for (const auto& [name, weight] : {std::pair{kFirst, weights.first}, std::pair{kLast, weights.last}})
    if (weight > share)
      return ckpt::invalid(std::string(name) + " " + std::to_string(weight) + " is more than a stage's share of " +
                           std::to_string(share) + " (" + std::to_string(all) + " for " + std::to_string(stages) +
                           " stages)")
          .with_hint("set --" + std::string(name) + "=" + std::to_string(share) +
                     ", or leave it out: stages are then cut by cost");
  GivenStages given{key, {}};
  for (std::uint32_t stage = 0; stage < stages; ++stage) {
    std::int64_t own = share + (stage < more ? 1 : 0);
    if (stage == 0) own -= weights.first;
    if (stage + 1 == stages) own -= weights.last;
    given.layers.push_back(static_cast<std::uint32_t>(own));
  }
  return given;
}

}  // namespace titan::recipe
