// plan_dcp_import: what each tensor is converted to.
#include <algorithm>
#include <map>

#include "ckpt/base/path.h"
#include "ckpt/model/tensor_meta.h"
#include "converters/dcp/dcp_companions.h"
#include "converters/dcp/dcp_planner.h"
#include "converters/dcp/hf_model.h"
#include "converters/dcp/model.h"
#include "converters/dcp/shards.h"
#include "converters/dcp/torchtitan.h"
#include "converters/fused_experts.h"
#include "converters/hf/hf_plan.h"
#include "converters/widen.h"
#include "recipe/model/family.h"
#include "recipe/model/layers.h"
#include "recipe/model/parameters.h"

namespace titan::convert::dcp {
namespace {

constexpr std::size_t kNamed = 5;  // most tensors that a message names

std::size_t count_shards(const DcpReader& reader) {
  const std::vector<std::string>& files = reader.metadata().files;
  return static_cast<std::size_t>(
      std::ranges::count_if(files, [](const std::string& file) { return is_shard(ckpt::base_name(file)); }));
}

// The head size of a model with norms of queries and keys: a norm has one weight per row of a head. The size must be
// even, because RoPE rotates pairs.
Result<std::uint64_t> size_of_heads(const std::string& path, const recipe::Shapes& shapes) {
  const std::int64_t size = recipe::dims_from_shapes(shapes).dims.head_dim;
  if (size >= 2 && size % 2 == 0) return static_cast<std::uint64_t>(size);
  return ckpt::incompatible(path + ": '" + recipe::name_of(recipe::Part::kQueryNorm) + "' has " + std::to_string(size) +
                            " elements, expected an even number, those of a head");
}

}  // namespace

Result<ImportPlan> Planner::run() {
  TITAN_RETURN_IF_ERROR(take_names());
  TITAN_RETURN_IF_ERROR(sort_in_others());
  for (std::size_t i = 0; i < source_.tensors().size(); ++i) TITAN_RETURN_IF_ERROR(sort_in(i));
  if (parameters_.empty()) return ckpt::incompatible(source_.path() + " holds no parameters of a model");
  TITAN_RETURN_IF_ERROR(split_experts());
  TITAN_RETURN_IF_ERROR(order_rows());
  TITAN_RETURN_IF_ERROR(list_parameters());
  TITAN_RETURN_IF_ERROR(check_left_out());
  if (model_ || (options_.config && !options_.look)) TITAN_RETURN_IF_ERROR(check_model());
  TITAN_RETURN_IF_ERROR(split_fused());
  std::vector<std::string> missing;
  TITAN_RETURN_IF_ERROR(take_slots(missing));
  TITAN_RETURN_IF_ERROR(settle(missing));
  if (options_.widen && !plan_.optimizer_steps.empty()) TITAN_RETURN_IF_ERROR(widen_state(source_, plan_));
  note_values();
  TITAN_RETURN_IF_ERROR(take_dcp_companions(source_.reader().fs(), source_.path(), layout_.huggingface, plan_));
  TITAN_RETURN_IF_ERROR(take_step());
  if (options_.look) return std::move(plan_);
  TITAN_ASSIGN_OR_RETURN(const std::string note, sibling_optimizer_note(source_.reader().fs(), source_.path()));
  if (!note.empty()) plan_.notes.push_back(note);
  if (options_.config && (!layout_.huggingface || has_run_settings(*options_.config))) {
    TITAN_RETURN_IF_ERROR(take_run());
  } else if (layout_.huggingface) {
    plan_.notes.push_back(
        plan_.optimizer_steps.empty()
            ? "the model alone: no optimizer state in the source, so a run cannot continue from this"
            : "model and optimizer: a run cannot continue from this without lr_scheduler, dataloader and train_state "
              "(give --config FILE.toml with optimizer, lr_scheduler and training)");
  } else {
    plan_.notes.push_back(
        "tensors only: the learning rate's curve, head counts, RoPE and eps are not in a DCP directory; a run cannot "
        "continue from this "
        "without lr_scheduler, dataloader and train_state (give --config torchtitan.toml)");
  }
  return std::move(plan_);
}

Status Planner::take_names() {
  std::vector<std::string> all = tensor_names(), used;
  std::vector<bool> renamed;
  for (const auto& [name, dtype] : source_.others()) all.push_back(name);
  TITAN_ASSIGN_OR_RETURN(names_, file_names(source_.path(), all, options_));
  plan_.notes = names_.notes;
  for (std::size_t i = 0; i < source_.tensors().size(); ++i) {
    if (names_.skipped[i]) continue;
    used.push_back(names_.names[i]);
    renamed.push_back(names_.names[i] != without_wrappers(all[i]));
  }
  TITAN_ASSIGN_OR_RETURN(layout_, find_layout(source_.path(), used, renamed));
  TITAN_RETURN_IF_ERROR(know_family());
  if (const std::string wrapping = layout_.wrapping(); !wrapping.empty())
    plan_.notes.push_back("the prefix `" + wrapping + "` is taken off the names of the model");
  return {};
}

Status Planner::know_family() {
  if (!layout_.huggingface) return {};
  TITAN_ASSIGN_OR_RETURN(const std::string config, find_config(source_.reader().fs(), source_.path()));
  const Result<recipe::ModelDims> dims = !config.empty() ? read_hf_config_file(source_.reader().fs(), config)
                                         : options_.config
                                             ? recipe::dims_from_rows("the configuration", *options_.config)
                                             : Result<recipe::ModelDims>(ckpt::not_found("no model"));
  if (dims.ok()) layout_.names = huggingface_names().of(*dims);
  return {};
}

void Planner::add_report(std::size_t source, Fate fate, std::string to) {
  const ForeignTensor& tensor = source_.tensors()[source];
  plan_.report.push_back(uncast(tensor.name, fate, tensor.dtype, tensor.shape));
  plan_.report.back().to = std::move(to);
  plan_.report.back().permuted = fate == Fate::kWritten && head_dim_of(source) != 0;
}

Status Planner::sort_in_others() {
  std::vector<std::string> refused;
  std::string what;
  std::size_t i = source_.tensors().size();
  for (const auto& [name, dtype] : source_.others()) {
    const bool skipped = names_.skipped[i];
    if (const LayoutKey key = layout_.key(names_.names[i++]); key.derivable) {
      plan_.notes.push_back("dropped: " + name + " (it follows from the configuration)");
    } else if (skipped || options_.look) {
      plan_.left_out.push_back(name);
    } else {
      refused.push_back(name);
      if (refused.size() <= kNamed)
        what += (what.empty() ? "tensor '" : ", tensor '") + name + "' has the element type " + dtype;
    }
  }
  if (refused.empty()) return {};
  std::vector<std::string> all = tensor_names();
  all.insert(all.end(), refused.begin(), refused.end());
  if (refused.size() > kNamed) what += " and " + std::to_string(refused.size() - kNamed) + " more";
  return ckpt::unsupported(source_.path() + ": " + what + ", which a Titan checkpoint cannot have")
      .with_hint("leave these tensors out with " + skip_flags(refused, all));
}

Status Planner::sort_in(std::size_t i) {
  const std::string& name = source_.tensors()[i].name;
  const LayoutKey key = layout_.key(names_.names[i]);
  if (names_.skipped[i] || key.derivable) {
    add_report(i, names_.skipped[i] ? Fate::kSkipped : Fate::kDropped);
    if (names_.skipped[i]) leave_out(i);
    skips_slots_ = skips_slots_ || (names_.skipped[i] && key.kind == Kind::kSlot);
    if (names_.skipped[i] && key.kind == Kind::kParameter && model_order(key.parameter).of_model())
      skipped_.emplace(key.parameter, name);
    return {};
  }
  if (key.kind == Kind::kSlot || key.kind == Kind::kStep)
    if (const auto file = split_state_key(name), now = split_state_key(names_.names[i]); file && now)
      renamed_.try_emplace(std::string(file->parameter), now->parameter);
  std::size_t other = i;
  const bool rotate_half =
      options_.rules.rows ? options_.rules.rows == recipe::HeadRows::kRotateHalf && recipe::has_head_rows(key.parameter)
                          : key.rotate_half;
  const bool moment = key.kind == Kind::kSlot && (key.field == ckpt::kExpAvg || key.field == ckpt::kExpAvgSq);
  if (rotate_half && (key.kind == Kind::kParameter || moment)) rotate_half_.insert(i);
  if (key.kind == Kind::kParameter) {
    newer_ = newer_ || key.newer;
    other = parameters_.try_emplace(key.parameter, Source{i}).first->second.source;
  } else if (moment) {
    other = slots_[key.parameter].try_emplace(key.field, Source{i}).first->second.source;
  } else if (key.kind == Kind::kStep) {
    optimizer_ = std::string(split_state_key(name)->before);
    optimizer_.resize(optimizer_.size() - std::string_view("state.").size());
    other = steps_.try_emplace(key.parameter, i).first->second;
  } else if (key.kind != Kind::kTrainState && key.kind != Kind::kScheduler && key.kind != Kind::kGroup) {
    left_over_.push_back(name);
  } else {
    add_report(i, Fate::kDropped);  // a number, which is read as a value
  }
  return other == i ? Status{} : duplicate_mapping(source_.path(), key.parameter, source_.tensors()[other].name, name);
}

Status Planner::split_experts() {
  std::vector<std::string> fused;
  const std::map<std::string, Source> whole = parameters_;
  for (const auto& [name, own] : whole) {
    const std::vector<ExpertPart> parts = expert_parts(name, source_.tensors()[own.source].shape);
    if (parts.empty()) continue;
    fused.push_back(source_.tensors()[own.source].name);
    parameters_.erase(name);
    for (const ExpertPart& part : parts) {
      const std::string parameter = layout_.key(part.name).parameter;
      const auto [at, first] = parameters_.try_emplace(parameter, Source{own.source, part.blocks});
      if (!first)
        return duplicate_mapping(source_.path(), parameter, source_.tensors()[at->second.source].name, fused.back());
    }
  }
  if (!fused.empty()) plan_.notes.push_back(taken_apart(fused));
  const std::map<std::string, std::map<std::string, Source>> moments = slots_;
  for (const auto& [name, own] : moments) {
    const std::vector<ExpertPart> parts = expert_parts(name, source_.tensors()[own.begin()->second.source].shape);
    const auto step = steps_.find(name);
    for (const ExpertPart& part : parts) {
      const std::string parameter = layout_.key("state." + part.name + ".step").parameter;
      for (const auto& [slot, one] : own) slots_[parameter][slot] = {one.source, part.blocks};
      if (step != steps_.end()) steps_[parameter] = step->second;
    }
    if (parts.empty()) continue;
    slots_.erase(name);
    steps_.erase(name);
  }
  return {};
}

std::vector<std::uint64_t> Planner::shape_of(const Source& slot) const {
  std::vector<std::uint64_t> shape = source_.tensors()[slot.source].shape;
  const RowBlocks& blocks = slot.blocks;
  if (blocks.rows == 0 || shape.empty()) return shape;
  if (shape.size() > 2) {
    shape[1] *= shape[0];
    shape.erase(shape.begin());
  }
  shape[0] = shape[0] % blocks.period == 0 ? shape[0] / blocks.period * blocks.rows : 0;
  return shape;
}

Status Planner::order_rows() {
  recipe::Shapes shapes;
  for (const auto& [name, slot] : parameters_) shapes[name] = shape_of(slot);
  if (layout_.rotate_half) {
    TITAN_ASSIGN_OR_RETURN(head_dim_, size_of_heads(source_.path(), shapes));
    if (options_.config && !options_.look) {
      TITAN_ASSIGN_OR_RETURN(const std::vector<std::string> further, missing_run_settings());
      TITAN_ASSIGN_OR_RETURN(model_, model_of(source_.path(), shapes, *options_.config, further));
    }
  } else if (layout_.huggingface || !rotate_half_.empty()) {
    TITAN_ASSIGN_OR_RETURN(const HfModel model, find_hf_model(source_.reader().fs(), source_.path(), shapes, options_));
    head_dim_ = model.head_dim;
    const bool needed = !options_.look || options_.rules.rows;
    if (layout_.huggingface && !options_.look && !model.dims) return model.unknown;
    if (head_dim_ == 0 && needed) return model.unknown;
    // With `look`, only the number of heads is taken from the user's configuration.
    by_config_json_ = !model.config_json.empty();
    if (by_config_json_) hf_keys_ = keys_of_hf_config(source_.reader().fs(), model.config_json, *model.dims);
    if (by_config_json_ || (layout_.huggingface && !options_.look)) model_ = model.dims;
  }
  if (head_dim_ == 0 && !rotate_half_.empty()) keep_names();
  for (const std::size_t source : rotate_half_) {
    const std::vector<std::uint64_t>& shape = source_.tensors()[source].shape;
    if (shape.empty() || shape[0] % head_dim_ != 0)
      return ckpt::incompatible(source_.path() + ": '" + source_.tensors()[source].name + "' has the shape " +
                                ckpt::shape_text(shape) + ", which makes no whole heads of " +
                                std::to_string(head_dim_) + " rows");
  }
  return {};
}

void Planner::keep_names() {
  std::map<std::string, Source> own;
  std::map<std::string, std::map<std::string, Source>> slots;
  std::map<std::string, std::size_t> steps;
  for (const auto& [name, slot] : parameters_) {
    const std::string& kept = source_.tensors()[slot.source].name;
    own.emplace(kept, Source{slot.source});
    if (!options_.whole_moments) continue;
    if (const auto moments = slots_.extract(name))
      for (const auto& [field, one] : moments.mapped()) slots[kept].try_emplace(field, Source{one.source});
    if (const auto step = steps_.extract(name)) steps.try_emplace(kept, step.mapped());
  }
  parameters_ = std::move(own);
  drop_slots();
  slots_ = std::move(slots);
  steps_ = std::move(steps);
  rotate_half_.clear();
  plan_.notes.push_back(
      "names stay Hugging Face's: rows of queries and keys cannot be put into Titan's order without the number of "
      "heads (config.json)");
}

std::uint64_t Planner::head_dim_of(std::size_t source) const {
  return rotate_half_.contains(source) && head_dim_ != 2 ? head_dim_ : 0;
}

Status Planner::list_parameters() {
  if (model_ && model_->tied) TITAN_RETURN_IF_ERROR(tie());
  std::vector<ModelOrder> order;
  for (const auto& [name, slot] : parameters_) order.push_back(model_order(name));
  std::ranges::sort(order);
  for (const ModelOrder& place : order) {
    const Source& slot = parameters_.at(place.name);
    const auto index = static_cast<std::uint32_t>(plan_.parameters.size());
    plan_.parameters.push_back({place.name, shape_of(slot), 0});
    plan_.tensors.push_back({{index, ""}, slot.source, head_dim_of(slot.source), false, slot.blocks});
    add_report(slot.source, Fate::kWritten, place.name);
    plan_.report.back().shape = plan_.parameters.back().shape;
    if (!place.of_model() && !options_.look) left_over_.push_back(source_.tensors()[slot.source].name);
  }
  return {};
}

// Allowed are whole layers at the end, and parameters that another tensor provides. Whether the head may be missing is
// decided by the model, if it is known.
Status Planner::check_left_out() const {
  std::vector<std::string> names, left_out;
  for (const auto& [name, slot] : parameters_) names.push_back(name);
  const auto layers = static_cast<std::uint64_t>(recipe::layers_in(names));
  for (const auto& [name, stored] : skipped_) {
    const std::optional<recipe::NamedPart> part = recipe::part_of(name);
    const bool beyond = layers > 0 && part->kind->in_layer() && part->layer >= layers,
               decided = name == recipe::kHeadName && (model_ || options_.config);
    if (!parameters_.contains(name) && !beyond && !decided) left_out.push_back(stored);
  }
  return options_.look || left_out.empty() ? Status{} : part_of_model(source_.path(), left_out);
}

Status Planner::tie() {
  const auto head = parameters_.find(std::string(recipe::kHeadName)),
             embedding = parameters_.find(std::string(recipe::kEmbeddingName));
  if (head == parameters_.end() || embedding == parameters_.end()) return {};
  const std::size_t source = head->second.source;
  TITAN_ASSIGN_OR_RETURN(const bool equal, same_elements(source_, source, embedding->second.source));
  if (!equal)
    return ckpt::incompatible(source_.path() + (by_config_json_ ? ": its config.json" : ": the configuration") +
                              " says that embedding and head are tied, but '" + source_.tensors()[source].name +
                              "' differs from '" + source_.tensors()[embedding->second.source].name + "'")
        .with_hint(
            std::string("set ") +
            (by_config_json_ ? "tie_word_embeddings to false in config.json" : "model.tied_embeddings to false") +
            " if they are two tensors");
  add_report(source, Fate::kTied, std::string(recipe::kEmbeddingName));
  parameters_.erase(head);
  return {};
}

Status Planner::check_model() {
  recipe::Shapes shapes;
  for (const ckpt::ParameterMeta& parameter : plan_.parameters) shapes[parameter.name] = parameter.shape;
  if (!model_) {
    TITAN_ASSIGN_OR_RETURN(const std::vector<std::string> further, missing_run_settings());
    TITAN_ASSIGN_OR_RETURN(model_, model_of(source_.path(), shapes, *options_.config, further));
  }
  const recipe::ModelDims& model = *model_;
  const std::vector<ckpt::ParameterMeta> expected = recipe::model_parameters(model);
  for (const ckpt::ParameterMeta& parameter : expected) {
    const auto found = shapes.find(parameter.name);
    if (found == shapes.end()) {
      if (options_.look) continue;
      const auto theirs = layout_.huggingface ? layout_.names.theirs(parameter.name) : std::nullopt;
      return ckpt::incompatible(source_.path() + ": tensor '" + (theirs ? theirs->name : parameter.name) +
                                "' is missing")
          .with_hint(why_missing(parameter.name));
    }
    if (found->second != parameter.shape && by_config_json_) {
      Status mismatch = shape_mismatch(source_.path(), source_.tensors()[parameters_.at(parameter.name).source].name,
                                       found->second, parameter, model, hf_keys_);
      const std::size_t shards = count_shards(source_.reader());
      if (shards == 0 || found->second >= parameter.shape) return mismatch;
      // Shards do not record how many there are. If the last ones were not copied, every tensor is shorter than in the
      // model.
      return mismatch.with_hint("if the run had more ranks than the " + std::to_string(shards) +
                                " of these shards, copy those of the others, too");
    }
    if (found->second != parameter.shape)
      return ckpt::incompatible(source_.path() + ": tensor '" + parameter.name + "' has the shape " +
                                ckpt::shape_text(found->second) + ", the rest of the model makes it " +
                                ckpt::shape_text(parameter.shape));
    shapes.erase(found);
  }
  for (const auto& [name, shape] : shapes)
    if (model_order(name).of_model() && !options_.look)
      left_over_.push_back(source_.tensors()[parameters_.at(name).source].name);  // a layer too many, say
  plan_.config = recipe::model_rows(model);
  return {};
}

std::string Planner::why_missing(const std::string& parameter) const {
  const ConfigKeys keys = by_config_json_ ? hf_keys_ : ConfigKeys::kTitan;
  if (parameter == recipe::kHeadName)
    return std::string("set ") +
           (by_config_json_ ? "tie_word_embeddings to true in config.json" : "model.tied_embeddings to true") +
           " if the head is the embedding";
  std::vector<std::string> names;
  for (const auto& [name, slot] : parameters_) names.push_back(name);
  return layers_mismatch(recipe::layers_in(names), *model_, keys);
}

std::vector<std::string> Planner::tensor_names() const {
  std::vector<std::string> names;
  for (const ForeignTensor& tensor : source_.tensors()) names.push_back(tensor.name);
  return names;
}

Result<ImportPlan> plan_dcp_import(const DcpCheckpoint& source, const ImportOptions& options) {
  return Planner(source, options).run();
}

}  // namespace titan::convert::dcp
