// plan_dcp_import: which tensor becomes what, and with torchtitan's configuration a run that can go on.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "ckpt/model/shape_text.h"
#include "ckpt/plan/lr_settings.h"
#include "converters/dcp/beside.h"
#include "converters/dcp/dcp_checkpoint.h"
#include "converters/dcp/fused_qkv.h"
#include "converters/dcp/hf_model.h"
#include "converters/dcp/layout.h"
#include "converters/dcp/model.h"
#include "converters/dcp/optimizer_groups.h"
#include "converters/dcp/parts.h"
#include "converters/dcp/resume.h"
#include "converters/dcp/stored_step.h"
#include "converters/dcp/torchtitan.h"
#include "converters/file_names.h"
#include "converters/fused_experts.h"
#include "converters/hf/hf_plan.h"
#include "converters/misfit.h"
#include "converters/name_table.h"
#include "converters/skip.h"
#include "converters/widen.h"
#include "recipe/model/family.h"
#include "recipe/model/from_rows.h"
#include "recipe/model/from_shapes.h"
#include "recipe/model/layers.h"
#include "recipe/model/parameters.h"

namespace titan::convert::dcp {
namespace {

using Kind = DcpKey::Kind;
constexpr std::size_t kNamed = 5;  // tensors, in a message

// Norms of heads have the size of one, of which RoPE rotates pairs.
Result<std::uint64_t> size_of_heads(const std::string& path, const recipe::Shapes& shapes) {
  const std::int64_t size = recipe::dims_from_shapes(shapes).dims.head_dim;
  if (size >= 2 && size % 2 == 0) return static_cast<std::uint64_t>(size);
  return ckpt::incompatible(path + ": '" + recipe::name_of(recipe::Part::kQueryNorm) + "' has " + std::to_string(size) +
                            " elements, expected an even number, those of a head");
}

class Planner {
 public:
  Planner(const DcpCheckpoint& source, const ImportOptions& options) : source_(source), options_(options) {}

  Result<ImportPlan> run() {
    TITAN_RETURN_IF_ERROR(take_names());
    TITAN_RETURN_IF_ERROR(sort_in_others());
    for (std::size_t i = 0; i < source_.tensors().size(); ++i) TITAN_RETURN_IF_ERROR(sort_in(i));
    if (parameters_.empty()) return ckpt::incompatible(source_.path() + " holds no parameters of a model");
    TITAN_RETURN_IF_ERROR(order_rows());
    TITAN_RETURN_IF_ERROR(list_parameters());
    if (model_ || (options_.config && !options_.look)) TITAN_RETURN_IF_ERROR(check_model());
    TITAN_RETURN_IF_ERROR(split_fused());
    std::vector<std::string> missing;
    TITAN_RETURN_IF_ERROR(take_slots(missing));
    TITAN_RETURN_IF_ERROR(settle(missing));
    if (options_.widen && !plan_.optimizer_steps.empty()) TITAN_RETURN_IF_ERROR(widen_state(source_, plan_));
    note_values();
    TITAN_RETURN_IF_ERROR(take_files_beside(source_.reader().fs(), source_.path(), layout_.huggingface, plan_));
    TITAN_RETURN_IF_ERROR(take_step());
    if (options_.look) return std::move(plan_);
    TITAN_ASSIGN_OR_RETURN(const std::string beside, optimizer_beside(source_.reader().fs(), source_.path()));
    if (!beside.empty())
      plan_.notes.push_back("the optimizer's state lies beside it, in " + beside + ": " +
                            (beside.ends_with("_0") ? "the folder above holds both"
                                                    : "a folder with links to both, named pytorch_model_fsdp_0 and "
                                                      "optimizer_0, is read whole"));
    if (options_.config && (!layout_.huggingface || says_run(*options_.config))) {
      TITAN_RETURN_IF_ERROR(take_run());
    } else if (layout_.huggingface) {
      plan_.notes.push_back(
          plan_.optimizer_steps.empty()
              ? "the model alone: no optimizer state in the source, so a run cannot go on from this"
              : "model and optimizer: a run cannot go on from this without lr_scheduler, dataloader and train_state "
                "(give --config FILE.toml with optimizer, lr_scheduler and training)");
    } else {
      plan_.notes.push_back(
          "tensors only: the learning rate's curve, head counts, RoPE and eps are not in a DCP directory; a run cannot "
          "go on from this "
          "without lr_scheduler, dataloader and train_state (give --config torchtitan.toml)");
    }
    return std::move(plan_);
  }

 private:
  struct Slot {
    std::size_t source = 0;
    RowBlocks blocks;  // of a tensor that others share
  };

  // The names that the rules leave, and whose they are.
  Status take_names() {
    std::vector<std::string> all = tensor_names(), used;
    for (const auto& [name, dtype] : source_.others()) all.push_back(name);
    TITAN_ASSIGN_OR_RETURN(names_, file_names(source_.path(), all, options_));
    plan_.notes = names_.notes;
    for (std::size_t i = 0; i < source_.tensors().size(); ++i)
      if (!names_.skipped[i]) used.push_back(names_.names[i]);
    TITAN_ASSIGN_OR_RETURN(layout_, find_layout(source_.path(), used));
    TITAN_RETURN_IF_ERROR(know_family());
    if (!source_.fused().empty())
      plan_.notes.push_back("experts that are one tensor are taken apart, as save_pretrained does it: " +
                            listed(source_.fused()));
    if (const std::string wrapping = layout_.wrapping(); !wrapping.empty())
      plan_.notes.push_back("the prefix `" + wrapping + "` is taken off the names of the model");
    return {};
  }

  // Some of Hugging Face's names stand for other parts in other families. A config.json that cannot be read is refused
  // where the model is needed.
  Status know_family() {
    if (!layout_.huggingface) return {};
    TITAN_ASSIGN_OR_RETURN(const std::string config, find_config(source_.reader().fs(), source_.path()));
    const Result<recipe::ModelDims> dims = !config.empty() ? read_hf_config_file(source_.reader().fs(), config)
                                           : options_.config
                                               ? recipe::dims_from_rows("the configuration", *options_.config)
                                               : Result<recipe::ModelDims>(ckpt::not_found("no model"));
    if (dims.ok()) layout_.names = huggingface_names().of(*dims);
    return {};
  }

  void add_report(std::size_t source, Fate fate, std::string to = "") {
    const ForeignTensor& tensor = source_.tensors()[source];
    plan_.report.push_back(uncast(tensor.name, fate, tensor.dtype, tensor.shape));
    plan_.report.back().to = std::move(to);
    plan_.report.back().permuted = fate == Fate::kWritten && head_dim_of(source) != 0;
  }

  void leave_out(std::size_t source) { plan_.left_out.push_back(source_.tensors()[source].name); }

  void drop_slots() {
    for (const auto& [name, own] : slots_)
      for (const auto& [slot, one] : own) leave_out(one.source);
    for (const auto& [name, source] : steps_) leave_out(source);
    slots_.clear();
    steps_.clear();
  }

  // Tensors of element types that a checkpoint of ours cannot hold.
  Status sort_in_others() {
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
    return ckpt::unsupported(source_.path() + ": " + what + ", which a checkpoint of ours cannot hold")
        .with_hint("leave out what has no place here with " + skip_flags(refused, all));
  }

  Status sort_in(std::size_t i) {
    const std::string& name = source_.tensors()[i].name;
    const LayoutKey key = layout_.key(names_.names[i]);
    if (names_.skipped[i] || key.derivable) {
      add_report(i, names_.skipped[i] ? Fate::kSkipped : Fate::kDropped);
      if (names_.skipped[i]) leave_out(i);
      return {};
    }
    bool added = true;
    const bool halves = options_.rules.rows
                            ? options_.rules.rows == recipe::HeadRows::kHalves && recipe::has_head_rows(key.parameter)
                            : key.halves;
    if (halves && (key.kind == Kind::kParameter || key.kind == Kind::kSlot)) halves_.insert(i);
    if (key.kind == Kind::kParameter) {
      newer_ = newer_ || key.newer;
      added = parameters_.try_emplace(key.parameter, i).second;
    } else if (key.kind == Kind::kSlot && (key.field == ckpt::kExpAvg || key.field == ckpt::kExpAvgSq)) {
      added = slots_[key.parameter].try_emplace(key.field, Slot{i, {}}).second;
    } else if (key.kind == Kind::kStep) {
      optimizer_ = std::string(split_state_key(name)->before);
      optimizer_.resize(optimizer_.size() - std::string_view("state.").size());
      added = steps_.try_emplace(key.parameter, i).second;
    } else if (key.kind != Kind::kTrainState && key.kind != Kind::kScheduler && key.kind != Kind::kGroup) {
      left_over_.push_back(name);
    } else {
      add_report(i, Fate::kDropped);  // a number: read as a value
    }
    if (!added)
      return ckpt::incompatible(source_.path() + ": two tensors stand for " + key.parameter)
          .with_hint("leave one of them out with --skip");
    return {};
  }

  // Rows of queries and keys that lie in halves are put into our order, for which the size of a head must be known. To
  // look at them is possible without: they keep their names.
  Status order_rows() {
    recipe::Shapes shapes;
    for (const auto& [name, source] : parameters_) shapes[name] = source_.tensors()[source].shape;
    if (layout_.halves) {
      TITAN_ASSIGN_OR_RETURN(head_dim_, size_of_heads(source_.path(), shapes));
      if (options_.config && !options_.look) {
        TITAN_ASSIGN_OR_RETURN(const std::vector<std::string> further, unsaid_of_run());
        TITAN_ASSIGN_OR_RETURN(model_, model_of(source_.path(), shapes, *options_.config, further));
      }
    } else if (layout_.huggingface || !halves_.empty()) {
      TITAN_ASSIGN_OR_RETURN(const HfModel model,
                             find_hf_model(source_.reader().fs(), source_.path(), shapes, options_));
      head_dim_ = model.head_dim;
      const bool needed = !options_.look || options_.rules.rows;
      if (layout_.huggingface && !options_.look && !model.dims) return model.unknown;
      if (head_dim_ == 0 && needed) return model.unknown;
      // A look takes nothing but heads from a configuration that a user gave.
      by_config_json_ = !model.config_json.empty();
      if (by_config_json_ || (layout_.huggingface && !options_.look)) model_ = model.dims;
    }
    if (head_dim_ == 0 && !halves_.empty()) keep_names();
    for (const std::size_t source : halves_) {
      const std::vector<std::uint64_t>& shape = source_.tensors()[source].shape;
      if (shape.empty() || shape[0] % head_dim_ != 0)
        return ckpt::incompatible(source_.path() + ": '" + source_.tensors()[source].name + "' has the shape " +
                                  ckpt::shape_text(shape) + ", which makes no whole heads of " +
                                  std::to_string(head_dim_) + " rows");
    }
    return {};
  }

  // Every tensor of the model under its own name.
  void keep_names() {
    std::map<std::string, std::size_t> own;
    for (const auto& [name, source] : parameters_) own.emplace(source_.tensors()[source].name, source);
    parameters_ = std::move(own);
    drop_slots();
    halves_.clear();
    plan_.notes.push_back(
        "names stay Hugging Face's: rows of queries and keys cannot be put into Titan's order without the number of "
        "heads (config.json)");
  }

  std::uint64_t head_dim_of(std::size_t source) const {
    return halves_.contains(source) && head_dim_ != 2 ? head_dim_ : 0;
  }

  Status list_parameters() {
    if (model_ && model_->tied) TITAN_RETURN_IF_ERROR(tie());
    std::vector<std::pair<ModelOrder, std::size_t>> order;
    for (const auto& [name, source] : parameters_) order.emplace_back(model_order(name), source);
    std::ranges::sort(order);
    for (const auto& [place, source] : order) {
      const auto index = static_cast<std::uint32_t>(plan_.parameters.size());
      plan_.parameters.push_back({place.name, source_.tensors()[source].shape, 0});
      plan_.tensors.push_back({{index, ""}, source, head_dim_of(source)});
      add_report(source, Fate::kWritten, place.name);
      if (!place.of_model() && !options_.look) left_over_.push_back(source_.tensors()[source].name);
    }
    return {};
  }

  // A head beside a tied embedding must be the embedding.
  Status tie() {
    const auto head = parameters_.find(std::string(recipe::kHeadName)),
               embedding = parameters_.find(std::string(recipe::kEmbeddingName));
    if (head == parameters_.end() || embedding == parameters_.end()) return {};
    TITAN_ASSIGN_OR_RETURN(const bool equal, same_elements(source_, head->second, embedding->second));
    if (!equal)
      return ckpt::incompatible(source_.path() + (by_config_json_ ? ": its config.json" : ": the configuration") +
                                " says that embedding and head are tied, but '" + source_.tensors()[head->second].name +
                                "' differs from '" + source_.tensors()[embedding->second].name + "'")
          .with_hint(
              std::string("set ") +
              (by_config_json_ ? "tie_word_embeddings to false in config.json" : "model.tied_embeddings to false") +
              " if they are two tensors");
    add_report(head->second, Fate::kTied, std::string(recipe::kEmbeddingName));
    parameters_.erase(head);
    return {};
  }

  // The setting that a run needs beyond the model, where neither checkpoint nor configuration says it.
  Result<std::vector<std::string>> unsaid_of_run() const {
    if (slots_.empty()) return std::vector<std::string>{};
    TITAN_ASSIGN_OR_RETURN(const recipe::Config config, read_torchtitan(*options_.config));
    const Result<Value> stored = source_.reader().value("dataloader.world_size");
    const bool absent = !stored.ok() && stored.status().code == ckpt::Code::kNotFound && data_ranks(config) == 0;
    return absent ? std::vector<std::string>{"parallelism.data_parallel_shard_degree"} : std::vector<std::string>{};
  }

  Status check_model() {
    recipe::Shapes shapes;
    for (const ckpt::ParameterMeta& parameter : plan_.parameters) shapes[parameter.name] = parameter.shape;
    if (!model_) {
      TITAN_ASSIGN_OR_RETURN(const std::vector<std::string> further, unsaid_of_run());
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
      if (found->second != parameter.shape && by_config_json_)
        return shape_misfit(source_.path(), source_.tensors()[parameters_.at(parameter.name)].name, found->second,
                            parameter, model, ConfigKeys::kHuggingface);
      if (found->second != parameter.shape)
        return ckpt::incompatible(source_.path() + ": tensor '" + parameter.name + "' has the shape " +
                                  ckpt::shape_text(found->second) + ", the rest of the model makes it " +
                                  ckpt::shape_text(parameter.shape));
      shapes.erase(found);
    }
    for (const auto& [name, shape] : shapes)
      if (model_order(name).of_model() && !options_.look)
        left_over_.push_back(name);  // a layer too many, say; other names are there already
    plan_.config = recipe::model_rows(model);
    return {};
  }

  // What a configuration says otherwise, where that explains that the parameter is not there.
  std::string why_missing(const std::string& parameter) const {
    const ConfigKeys keys = by_config_json_ ? ConfigKeys::kHuggingface : ConfigKeys::kOurs;
    if (parameter == recipe::kHeadName)
      return std::string("set ") +
             (by_config_json_ ? "tie_word_embeddings to true in config.json" : "model.tied_embeddings to true") +
             " if the head is the embedding";
    std::vector<std::string> names;
    for (const auto& [name, source] : parameters_) names.push_back(name);
    return layers_misfit(recipe::layers_in(names), *model_, keys);
  }

  // Moments of queries, keys and values that lie in one tensor, of which the number of heads says the order.
  Status split_fused() {
    std::vector<std::string> fused;
    for (const auto& [name, own] : slots_)
      if (is_fused_qkv(name)) fused.push_back(name);
    if (fused.empty()) return {};
    const std::uint64_t head_dim = layout_.halves ? head_dim_
                                   : model_       ? static_cast<std::uint64_t>(model_->head_dim)
                                                  : 0;
    if (head_dim == 0 && options_.look) {
      drop_slots();
      plan_.notes.push_back("the optimizer's state is not shown: queries, keys and values are one tensor there");
      return {};
    }
    if (head_dim == 0)
      return ckpt::incompatible(source_.path() +
                                ": the optimizer's state of queries, keys and values is one tensor, '" + fused.front() +
                                "': the number of heads says which rows are whose")
          .with_hint("give --config FILE.toml with model.n_heads, or take the model alone: --skip 'optimizer.*'");
    for (const std::string& name : fused) {
      const auto rows = [&](std::size_t part) -> std::uint64_t {
        const auto at = parameters_.find(fused_parts(name, 1, 0)[part].parameter);
        return at == parameters_.end() ? 0 : source_.tensors()[at->second].shape.at(0);
      };
      const std::uint64_t group = rows(1) == 0 ? 1 : rows(0) / rows(1);
      for (const FusedPart& part : fused_parts(name, group, head_dim)) {
        for (const auto& [slot, one] : slots_.at(name)) slots_[part.parameter][slot] = {one.source, part.blocks};
        if (const auto step = steps_.find(name); step != steps_.end()) steps_[part.parameter] = step->second;
      }
      slots_.erase(name);
      steps_.erase(name);
    }
    return {};
  }

  // Whether a tensor of an optimizer has the elements of `parameter`.
  bool fits(const Slot& slot, const ckpt::ParameterMeta& parameter) const {
    std::vector<std::uint64_t> shape = source_.tensors()[slot.source].shape;
    const RowBlocks& blocks = slot.blocks;
    if (blocks.rows != 0 && (shape.empty() || shape[0] % blocks.period != 0)) return false;
    if (blocks.rows != 0) shape[0] = shape[0] / blocks.period * blocks.rows;
    return shape == parameter.shape;
  }

  // `missing`: what parameters lack although others have it.
  Status take_slots(std::vector<std::string>& missing) {
    if (slots_.empty() && steps_.empty()) return {};
    for (std::uint32_t p = 0; p < plan_.parameters.size(); ++p) {
      const ckpt::ParameterMeta& parameter = plan_.parameters[p];
      for (const char* slot : {ckpt::kExpAvg, ckpt::kExpAvgSq}) {
        const auto& own = slots_[parameter.name];
        const auto at = own.find(slot);
        if (at == own.end()) {
          missing.push_back("optimizer.state." + parameter.name + "." + slot);
          continue;
        }
        const std::size_t source = at->second.source;
        const std::string& stored = source_.tensors()[source].name;
        if (!fits(at->second, parameter))
          return ckpt::incompatible(source_.path() + ": '" + stored +
                                    "' has another shape than its parameter: it is the state of another model")
              .with_hint("take the model alone: --skip 'optimizer.*'");
        const bool fused = at->second.blocks.rows != 0;
        plan_.tensors.push_back({{p, slot},
                                 source,
                                 head_dim_of(fused ? parameters_.at(parameter.name) : source),
                                 false,
                                 at->second.blocks});
        add_report(source, Fate::kWritten, parameter.name + "." + slot);
        if (slot == std::string_view(ckpt::kExpAvg)) groups_.emplace_back(split_state_key(stored)->parameter);
      }
      slots_.erase(parameter.name);
      const auto step = steps_.find(parameter.name);
      if (step == steps_.end()) {
        missing.push_back("optimizer.state." + parameter.name + ".step");
        plan_.optimizer_steps.push_back(0);
        continue;
      }
      const std::string& name = source_.stored_name(step->second);
      TITAN_ASSIGN_OR_RETURN(const Value value, source_.reader().value(name));
      if (!(value.number() >= 0) || value.number() != std::floor(value.number()) || value.number() > 0x1p53)
        return ckpt::corrupt(source_.path() + ": '" + name + "' is " + value.to_string());
      plan_.optimizer_steps.push_back(static_cast<std::uint64_t>(value.number()));
      add_report(step->second, Fate::kWritten, parameter.name + ".step");
      steps_.erase(step);
    }
    for (const auto& [name, own] : slots_)
      for (const auto& [slot, one] : own) left_over_.push_back(source_.tensors()[one.source].name);
    for (const auto& [name, source] : steps_) left_over_.push_back(source_.tensors()[source].name);
    return {};
  }

  // A conversion needs a place for every tensor. A look shows what is there.
  Status settle(const std::vector<std::string>& missing) {
    if (options_.look) {
      plan_.left_out.insert(plan_.left_out.end(), left_over_.begin(), left_over_.end());
      return {};
    }
    if (!left_over_.empty()) {
      return ckpt::incompatible(source_.path() + ": no place in a checkpoint of ours for " + listed(left_over_))
          .with_hint("leave them out with " + skip_flags(left_over_, tensor_names()));
    }
    if (missing.empty()) return {};
    const bool head = std::ranges::all_of(
        missing, [](const std::string& name) { return name.find(recipe::kHeadName) != std::string::npos; });
    return ckpt::incompatible(source_.path() + ": optimizer state is missing: " + listed(missing))
        .with_hint(head ? "if the head is the embedding: --set model.tied_embeddings=true"
                        : "take the model alone: --skip 'optimizer.*'");
  }

  std::vector<std::string> tensor_names() const {
    std::vector<std::string> names;
    for (const ForeignTensor& tensor : source_.tensors()) names.push_back(tensor.name);
    return names;
  }

  // Where neither a value nor a folder's name says the step, Adam's counts do.
  Status take_step() {
    TITAN_ASSIGN_OR_RETURN(std::optional<std::uint64_t> step, stored_step(source_.reader()));
    const std::vector<std::uint64_t>& counts = plan_.optimizer_steps;
    if (!step && !counts.empty() && std::ranges::count(counts, counts.front()) == std::ssize(counts))
      step = counts.front();
    plan_.step = step.value_or(0);
    if (!step && !options_.look) plan_.notes.push_back("the step is not in the checkpoint: step 0 is written");
    return {};
  }

  // Notes values beside tensors, except those that every run of torchtitan has.
  void note_values() {
    std::vector<std::string> names;
    for (const BytesEntry& entry : source_.reader().metadata().values) {
      const Kind kind = layout_.key(entry.name).kind;
      if (kind == Kind::kParameter || kind == Kind::kSlot || kind == Kind::kStep) names.push_back(entry.name);
    }
    if (names.empty()) return;
    if (!options_.look)
      plan_.notes.push_back("dropped: " + listed(names) +
                            (names.size() == 1 ? " (it is no tensor)" : " (they are no tensors)"));
    plan_.left_out.insert(plan_.left_out.end(), names.begin(), names.end());
  }

  Status take_run() {
    if (plan_.optimizer_steps.empty()) {
      plan_.notes.push_back("the model alone: no optimizer state in the source, so a run cannot go on from this");
      return {};
    }
    TITAN_ASSIGN_OR_RETURN(const recipe::Config config, read_torchtitan(*options_.config));
    TITAN_ASSIGN_OR_RETURN(
        const ResumedRun run,
        layout_.huggingface
            ? check_plain_resume(
                  source_.reader(), optimizer_,
                  [&](const std::string& name) {
                    return layout_.key(optimizer_ + "state." + first_expert(name) + ".exp_avg").parameter;
                  },
                  plan_.parameters, plan_.optimizer_steps, config, plan_.notes)
            : check_resume(source_.reader(), {plan_.parameters, groups_, newer_}, plan_.optimizer_steps, config));
    if (run.train.step != plan_.step)
      return ckpt::incompatible(source_.path() + ": Adam's count is " + std::to_string(run.train.step) +
                                ", but the folder's name says step " + std::to_string(plan_.step))
          .with_hint(kTensorsAlone);
    plan_.lr = run.lr;
    plan_.train = run.train;
    plan_.data_ranks = static_cast<std::uint32_t>(std::min<std::uint64_t>(run.world, UINT32_MAX));
    if (!layout_.huggingface && !source_.reader().value("dataloader.world_size").ok()) {
      plan_.notes.push_back(
          "tokens: " + std::to_string(run.world) +
          " data ranks, taken from the configuration's parallelism (dataloader.world_size is not in the source)");
    }
    std::string model;
    for (const auto& [key, value] : plan_.config) model += (model.empty() ? "" : ", ") + key + " = " + value;
    plan_.notes.push_back("titan-train's configuration must make this model: " + model);
    plan_.train->accepted = ckpt::with_rows(curve_rows(config, run.world), plan_.config);
    plan_.config = plan_.train->accepted;
    plan_.notes.push_back(std::string("the data position cannot be translated") +
                          (layout_.huggingface ? "" : " (torchtitan's iterator is pickled)") +
                          ": it is absent, the first run needs --allow training.dataset and begins at sample 0");
    return {};
  }

  const DcpCheckpoint& source_;
  const ImportOptions& options_;
  FileNames names_;
  Layout layout_;
  ImportPlan plan_;
  std::optional<recipe::ModelDims> model_;
  bool by_config_json_ = false;   // it is said by a config.json beside the files
  std::uint64_t head_dim_ = 0;    // where rows lie in halves
  std::set<std::size_t> halves_;  // tensors whose rows do
  bool newer_ = false;
  std::string optimizer_;  // what stands before "state." in its names
  std::map<std::string, std::size_t> parameters_, steps_;
  std::map<std::string, std::map<std::string, Slot>> slots_;
  std::vector<std::string> groups_;  // names of the parameters in the optimizer, where all have state
  std::vector<std::string> left_over_;
};

}  // namespace

Result<ImportPlan> plan_dcp_import(const DcpCheckpoint& source, const ImportOptions& options) {
  return Planner(source, options).run();
}

}  // namespace titan::convert::dcp
