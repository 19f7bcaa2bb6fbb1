#include "libtrain/job/start/init_map.h"

#include <algorithm>
#include <map>
#include <set>

#include "ckpt/base/printed.h"
#include "ckpt/model/dtype.h"
#include "ckpt/model/tensor_meta.h"
#include "ckpt/ops/convert_dtype.h"
#include "recipe/model/family.h"
#include "recipe/model/layers.h"

namespace titan::train {

using ckpt::Result;
using ckpt::Status;

namespace {

/// Weights and parameters that do not match.
struct Mismatch {
  bool rows = false;        ///< a name tells of the other order of rows, and the rules do not give `rows`
  bool same_shape = false;  ///< a weight without a parameter has a missing parameter's shape: only its name may differ
  std::vector<std::string> missing;
};

/// The name of a weight in the file, which rules must use; if Titan's name differs, that follows in parentheses.
std::string shown_name(const ckpt::WeightInfo& weight) {
  return weight.in_file.empty() || weight.in_file == weight.name ? weight.name
                                                                 : weight.in_file + " (here " + weight.name + ")";
}

/// A hint: the one setting that would explain the mismatch, if there is one; else the flags with which a user can give
/// the mapping.
std::string mismatch_hint(const std::vector<std::string>& weights, const std::vector<std::string>& parameters,
                          const Mismatch& mismatch) {
  if (mismatch.rows) return recipe::kRowOrderHint;
  const std::int64_t there = recipe::layers_in(weights), here = recipe::layers_in(parameters);
  if (there > 0 && there != here)
    return "the weights have " + std::to_string(there) + " layers, the model " + std::to_string(here) +
           ": set model.n_layers, or in a config.json next to the weights set num_hidden_layers to " +
           std::to_string(there) + "; or leave layers out with --skip GLOB";
  if (!mismatch.same_shape && mismatch.missing == std::vector<std::string>{std::string(recipe::kHeadName)})
    return "if the head is the embedding, set tie_word_embeddings to true in the config.json next to the weights, or "
           "model.tied_embeddings; else draw it anew with create = [\"" +
           std::string(recipe::kHeadName) + "\"] in a file for --init-map";
  return "set the model.* keys as the checkpoint's (titan-ckpt inspect --config), or say what goes where: titan-train "
         "run has --skip GLOB, --rename FROM=TO and --init-map FILE; its eval and sample, and titan-ckpt convert, the "
         "first two";
}

}  // namespace

Result<WeightMatch> match_weights(const std::vector<ckpt::WeightInfo>& weights,
                                  const std::vector<ckpt::ParameterMeta>& parameters, const recipe::NameRules& rules,
                                  std::uint64_t head_dim) {
  std::map<std::string, std::size_t> index_of;
  for (std::size_t i = 0; i < parameters.size(); ++i) index_of[parameters[i].name] = i;

  WeightMatch found;
  std::vector<std::string> problems, names, wanted;
  std::set<std::vector<std::uint64_t>> unmatched_shapes;
  Mismatch mismatch;
  std::map<std::size_t, std::size_t> taken;  // parameter -> weight
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const std::string& name = weights[i].name;
    names.push_back(name);
    if (recipe::any_match(rules.skip, name)) {
      found.skipped.push_back(i);
      continue;
    }
    const std::string target = recipe::renamed(name, rules);
    const auto place = index_of.find(target);
    const std::string as = shown_name(weights[i]) + (target == name ? "" : " (renamed to " + target + ")");
    if (place == index_of.end()) {
      problems.push_back(as + ": the model has no such parameter, and no rule skips it");
      unmatched_shapes.insert(weights[i].shape);
    } else if (recipe::any_match(rules.create, target)) {
      problems.push_back(as + ": the parameter is to be created, and the weight is there; skip one of them");
    } else if (const auto [other, first] = taken.emplace(place->second, i); !first) {
      problems.push_back(as + ": " + shown_name(weights[other->second]) + " is that parameter already");
    } else if (weights[i].shape != parameters[place->second].shape) {
      problems.push_back(as + ": shape " + ckpt::shape_text(weights[i].shape) + " in the checkpoint, " +
                         ckpt::shape_text(parameters[place->second].shape) + " in the model");
    } else if (!ckpt::is_float(weights[i].dtype)) {
      problems.push_back(as + ": stored as " + std::string(ckpt::dtype_name(weights[i].dtype)) +
                         ", expected a float type");
    } else if (const std::string unsaid = recipe::unknown_row_order(name, target, rules); !unsaid.empty()) {
      problems.push_back(unsaid);
      mismatch.rows = true;
    } else {
      const bool rotate_half = rules.rows == recipe::HeadRows::kRotateHalf && recipe::has_head_rows(target);
      found.loaded.push_back({i, place->second, rotate_half && head_dim != 2 ? head_dim : 0});
    }
  }
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    wanted.push_back(parameters[i].name);
    if (taken.contains(i)) continue;
    if (recipe::any_match(rules.create, parameters[i].name)) {
      found.created.push_back(i);
    } else {
      problems.push_back(parameters[i].name + ": no weight for this parameter, and no rule creates it");
      mismatch.missing.push_back(parameters[i].name);
      mismatch.same_shape = mismatch.same_shape || unmatched_shapes.contains(parameters[i].shape);
    }
  }
  // Rules that match nothing are usually mistyped.
  std::vector<std::string> unused = recipe::unused_rules(names, rules);
  for (const std::string& pattern : rules.create) {
    if (std::ranges::none_of(parameters, [&](const auto& one) { return recipe::matches(pattern, one.name, true); }))
      unused.push_back("rule create \"" + pattern + "\" matches nothing");
  }
  problems.insert(problems.end(), unused.begin(), unused.end());
  if (problems.empty()) return found;
  Status status = ckpt::incompatible("the weights do not fit the model: " + ckpt::counted(problems.size(), "problem"));
  constexpr std::size_t kShown = 20;
  if (problems.size() > kShown) {
    const std::size_t more = problems.size() - kShown;
    problems.resize(kShown);
    problems.push_back("and " + std::to_string(more) + " more");
  }
  status.causes = std::move(problems);
  return status.with_hint(mismatch_hint(names, wanted, mismatch));
}

Result<recipe::NameRules> rules_for_ours(const ckpt::WeightSource& source, const recipe::NameRules& rules) {
  if (source.manifest() == nullptr) return recipe::NameRules{.create = rules.create};
  if (rules.rows != recipe::HeadRows::kRotateHalf) return rules;
  return ckpt::invalid("rows = \"hf\" is for names of other programs, and " + source.path() + " has Titan's")
      .with_hint("leave it out: the rows of a Titan checkpoint are in the model's order");
}

std::vector<std::string> match_lines(const WeightMatch& match, const std::vector<ckpt::WeightInfo>& weights,
                                     const std::vector<ckpt::ParameterMeta>& parameters) {
  std::vector<std::string> lines = {"weights: " + std::to_string(match.loaded.size()) + " loaded, " +
                                    std::to_string(match.skipped.size() + match.left_out.size()) + " skipped, " +
                                    std::to_string(match.created.size()) + " created"};
  for (const WeightMatch::Pair& pair : match.loaded)
    if (weights[pair.weight].name != parameters[pair.parameter].name)
      lines.push_back("  loaded   " + weights[pair.weight].name + " as " + parameters[pair.parameter].name);
  for (const std::size_t i : match.skipped)
    lines.push_back("  skipped  " + weights[i].name + " " + ckpt::shape_text(weights[i].shape));
  for (const std::string& name : match.left_out) lines.push_back("  skipped  " + name);
  for (const std::size_t i : match.created)
    lines.push_back("  created  " + parameters[i].name + " " + ckpt::shape_text(parameters[i].shape));
  return lines;
}

}  // namespace titan::train
