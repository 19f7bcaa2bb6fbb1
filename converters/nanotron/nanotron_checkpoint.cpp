#include "converters/nanotron/nanotron_checkpoint.h"

#include <algorithm>

#include "ckpt/base/path.h"
#include "ckpt/base/text.h"
#include "ckpt/base/toml_text.h"
#include "converters/dcp/torchtitan.h"
#include "converters/hf/hf_plan.h"
#include "converters/json_file.h"
#include "converters/name_map.h"
#include "converters/skip_rules.h"
#include "converters/widen.h"
#include "recipe/keys/config.h"
#include "recipe/model/family.h"
#include "recipe/model/manifest_dims.h"

namespace titan::convert::nanotron {
namespace {

constexpr std::string_view kDecoder = "model.decoder.";

PiecedTensor weights_of(const Parameter& parameter) {
  PiecedTensor out{"'" + parameter.name + "'", parameter.dtype, parameter.shape, {}};
  for (const Shard& shard : parameter.shards)
    for (const ShardBox& box : shard.boxes) out.pieces.push_back({box.offsets, box.sizes, {shard.stored}, box.first});
  return out;
}

std::optional<std::uint64_t> step_of_folder(const std::string& path) {
  return ckpt::number_of<std::uint64_t>(ckpt::base_name(path));
}

}  // namespace

Status Checkpoint::open() {
  const std::string config = ckpt::join_path(path(), kModelConfig), metadata = ckpt::join_path(path(), kMetadata);
  Result<JsonValue> json = read_json_object(fs_, config);
  if (!json.ok() && json.status().code == ckpt::Code::kNotFound)
    return ckpt::incompatible(path() + " has no " + kModelConfig +
                              ": nanotron writes it last, so the checkpoint is not whole");
  TITAN_ASSIGN_OR_RETURN(const JsonValue model, std::move(json));
  TITAN_ASSIGN_OR_RETURN(const JsonValue metas, read_json_object(fs_, metadata));
  TITAN_ASSIGN_OR_RETURN(position_, read_metadata(metadata, metas));
  TITAN_ASSIGN_OR_RETURN(model_, read_model_config(config, model));
  TITAN_ASSIGN_OR_RETURN(const std::vector<Parameter> parameters,
                         read_parameters(fs_, ckpt::join_path(path(), "model"), files_));
  if (parameters.empty()) return ckpt::corrupt(path() + " holds no weights");
  TITAN_ASSIGN_OR_RETURN(optimizer_, read_optimizer(fs_, ckpt::join_path(path(), "optimizer"), parameters, files_));
  for (const Parameter& parameter : parameters) {
    names_.push_back(parameter.name);
    PiecedTensor stored = weights_of(parameter);
    TITAN_RETURN_IF_ERROR(check_pieces(stored));
    const auto state = optimizer_.states.find(parameter.name);
    const bool master = state != optimizer_.states.end() && state->second.master;
    masters_ = masters_ || master;
    if (!master && parameter.dtype != DType::kF32) unmastered_.push_back(parameter.name);
    TITAN_RETURN_IF_ERROR(add(parameter, "", master ? *state->second.master : std::move(stored)));
  }
  end_of_model();
  for (const Parameter& parameter : parameters) {
    const auto state = optimizer_.states.find(parameter.name);
    if (state == optimizer_.states.end()) continue;
    TITAN_RETURN_IF_ERROR(add(parameter, ckpt::kExpAvg, state->second.exp_avg));
    TITAN_RETURN_IF_ERROR(add(parameter, ckpt::kExpAvgSq, state->second.exp_avg_sq));
    for (const Part& part : parts_of(parameter.name)) set_step(part.name, state->second.step);
  }
  return {};
}

// The parts of a nanotron parameter. Query, key and value are one projection there, and so are gate and up.
std::vector<Checkpoint::Part> Checkpoint::parts_of(const std::string& name) const {
  using recipe::Part;
  const auto theirs = [](Part part, std::string_view layer = {}) {
    return recipe::filled_pattern(recipe::kind_of(part).huggingface, {layer, ""});
  };
  if (name == "model.token_position_embeddings.pp_block.token_embedding.weight") return {{theirs(Part::kEmbedding), 0}};
  if (name == "model.final_layer_norm.pp_block.weight") return {{theirs(Part::kFinalNorm), 0}};
  if (name == "model.lm_head.pp_block.weight") return {{theirs(Part::kHead), 0}};
  const std::size_t block = name.find(".pp_block.");
  if (!name.starts_with(kDecoder) || block == std::string::npos) return {{name, 0}};
  const std::string number = name.substr(kDecoder.size(), block - kDecoder.size());
  const std::string layer = "model.layers." + number + ".";
  const std::string rest = name.substr(block + 10), kind = rest.substr(rest.rfind('.') + 1);
  const auto rows = [&](std::int64_t heads) { return static_cast<std::uint64_t>(heads * model_.dims.head_dim); };
  const recipe::ModelDims& dims = model_.dims;
  if (rest == "attn.qkv_proj.weight" || rest == "attn.qkv_proj.bias") {
    const bool bias = kind == "bias";
    return {{theirs(bias ? Part::kQueryBias : Part::kQuery, number), rows(dims.n_heads)},
            {theirs(bias ? Part::kKeyBias : Part::kKey, number), rows(dims.n_kv_heads)},
            {theirs(bias ? Part::kValueBias : Part::kValue, number), rows(dims.n_kv_heads)}};
  }
  if (rest == "mlp.gate_up_proj.weight")
    return {{theirs(Part::kGate, number), static_cast<std::uint64_t>(dims.ffn_dim)},
            {theirs(Part::kUp, number), static_cast<std::uint64_t>(dims.ffn_dim)}};
  if (rest.starts_with("attn.")) return {{layer + "self_attn." + rest.substr(5), 0}};
  return {{layer + rest, 0}};
}

Status Checkpoint::add(const Parameter& parameter, const std::string& suffix, PiecedTensor whole) {
  const std::vector<Part> parts = parts_of(parameter.name);
  std::uint64_t rows = 0, row = 1;
  for (std::size_t d = 1; d < whole.shape.size(); ++d) row *= whole.shape[d];
  for (const Part& part : parts) rows += part.rows;
  if (parts.size() > 1 && (whole.shape.empty() || whole.shape[0] != rows))
    return ckpt::incompatible(path() + ": '" + parameter.name + "' has " +
                              std::to_string(whole.shape.empty() ? 0 : whole.shape[0]) + " rows, " + kModelConfig +
                              " makes it " + std::to_string(rows))
        .with_hint("take model_config.json from the run that wrote the weights");
  std::vector<std::uint64_t> shape = whole.shape;
  const std::size_t pieced = add_pieced(std::move(whole));
  std::uint64_t first = 0;
  for (const Part& part : parts) {
    if (parts.size() > 1) shape[0] = part.rows;
    const auto named = [&](const std::string& name) {
      return suffix.empty() ? name : kStatePrefix + name + "." + suffix;
    };
    add_part(named(part.name), pieced, first, shape);
    in_file_.emplace(named(part.name), named(parameter.name));
    first += part.rows * row;
  }
  return {};
}

Result<ImportOptions> Checkpoint::of_parts(const ImportOptions& options) const {
  ImportOptions out = options;
  out.rules.rename.clear();
  for (std::vector<std::string>* globs : {&out.skip, &out.rules.skip}) {
    std::vector<std::string> skip;
    for (const std::string& glob : *globs) {
      SkipRules rule({glob});
      bool used = false;
      for (const std::string& name : names_) {
        if (!rule.takes(name)) continue;
        used = true;
        for (const Part& part : parts_of(name)) skip.push_back(part.name);
      }
      used = used && std::ranges::none_of(tensors(), [&](const ForeignTensor& one) { return rule.takes(one.name); });
      if (!used) skip.push_back(glob);
    }
    *globs = std::move(skip);
  }
  std::vector<bool> used(options.rules.rename.size(), false);
  for (const std::string& name : names_) {
    const std::size_t rule = recipe::rename_rule(name, options.rules);
    if (rule == used.size()) continue;
    used[rule] = true;
    const std::string target = recipe::renamed(name, options.rules);
    const std::vector<Part> from = parts_of(name), to = parts_of(target);
    if (from.size() != to.size())
      return ckpt::incompatible(path() + ": '" + name + "' cannot be called '" + target + "': it holds " +
                                std::to_string(from.size()) + " tensors, and '" + target + "' " +
                                std::to_string(to.size()));
    for (std::size_t i = 0; i < from.size(); ++i)
      if (from[i].name != to[i].name) out.rules.rename.emplace_back(from[i].name, to[i].name);
  }
  for (std::size_t r = 0; r < used.size(); ++r)
    if (!used[r]) out.rules.rename.push_back(options.rules.rename[r]);
  return out;
}

Status Checkpoint::check_samples(const Settings& given, std::uint64_t data_ranks, std::uint64_t step) const {
  if (!position_.samples) return {};
  TITAN_ASSIGN_OR_RETURN(const recipe::Config config, dcp::read_torchtitan(given));
  const std::uint64_t expected = step * dcp::batch_of(config, data_ranks);
  if (*position_.samples == expected) return {};
  return ckpt::incompatible(ckpt::join_path(path(), kMetadata) + ": consumed_train_samples is " +
                            std::to_string(*position_.samples) + ", but step " + std::to_string(step) +
                            " and training.global_batch_size of the configuration make it " + std::to_string(expected))
      .with_hint("give the batch that this run was trained with: --set training.global_batch_size=N");
}

Result<ImportPlan> Checkpoint::plan(const ImportOptions& asked) const {
  TITAN_ASSIGN_OR_RETURN(ImportPlan plan, plan_of_parts(asked));
  for (TensorReport& line : plan.report)
    if (const auto at = in_file_.find(line.from); at != in_file_.end()) line.from = at->second;
  return plan;
}

Result<ImportPlan> Checkpoint::plan_of_parts(const ImportOptions& asked) const {
  TITAN_ASSIGN_OR_RETURN(const ImportOptions options, of_parts(asked));
  if (options.config && !options.look)
    TITAN_RETURN_IF_ERROR(
        agreed_rows(path(), recipe::model_rows(model_.dims), *options.config, options.comparison).status());
  if (!model_.interleaved && !options.rules.rows)
    return ckpt::incompatible(
               ckpt::join_path(path(), kModelConfig) +
               " has no rope_interleaved: it does not say the order of the rows of query and key projections")
        .with_hint("--rows interleaved, where the run was trained by nanotron's old rotary embedding; else --rows hf");
  const ModelLayout layout{huggingface_names(), "tie_word_embeddings", kModelConfig, ConfigKeys::kHuggingface,
                           model_.interleaved.value_or(false)};
  TITAN_ASSIGN_OR_RETURN(ImportPlan plan, plan_tensors(*model_view(), model_.dims, layout, of_model(options)));
  add_made_config(model_.dims, model_.texts, plan);
  plan.step = position_.step.value_or(step_of_folder(path()).value_or(0));
  plan.data_ranks =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(std::max<std::uint64_t>(position_.dp, 1), UINT32_MAX));
  plan.notes.push_back("nanotron's fused projections are taken apart, under Hugging Face's names");
  if (masters_) note_masters(unmastered_, plan);
  if (!masters_ && !optimizer_.ranks_recorded)
    plan.notes.push_back(
        "which rank's an optimizer file is, is taken from its name: it was not saved under that, and without float32 "
        "masters nothing else in it says so");
  TITAN_RETURN_IF_ERROR(take_slots(options, plan));
  if (plan.optimizer_steps.empty()) return plan;
  if (options.widen) TITAN_RETURN_IF_ERROR(widen_state(*this, plan));
  if (!asks_for_run(options)) return plan;
  if (masters_) TITAN_RETURN_IF_ERROR(check_masters(unmastered_));
  RunFacts facts;
  for (const auto& [name, group] : optimizer_.groups)
    for (const Part& part : parts_of(name)) facts.of[part.name] = group;
  facts.data_ranks = std::max<std::uint64_t>(position_.dp, 1);
  facts.samples = position_.samples;
  if (!position_.samples)
    plan.notes.push_back(std::string(kMetadata) +
                         " does not say consumed_train_samples: tokens are counted from the configuration's batch");
  TITAN_RETURN_IF_ERROR(check_samples(*options.config, facts.data_ranks, plan.step));
  TITAN_RETURN_IF_ERROR(take_run(*options.config, facts, plan));
  plan.notes.push_back("the next step has the learning rate that nanotron stored for it, " +
                       ckpt::toml_float(optimizer_.groups.empty() ? 0 : optimizer_.groups.begin()->second.lr) +
                       "; nanotron itself would begin one step further on in its schedule");
  return plan;
}

}  // namespace titan::convert::nanotron
