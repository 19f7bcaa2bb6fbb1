#include "converters/megatron/parts_view.h"

#include <algorithm>
#include <map>
#include <set>

#include "ckpt/model/tensor_meta.h"
#include "converters/dcp/torchtitan.h"
#include "converters/file_names.h"
#include "converters/hf/hf_plan.h"
#include "converters/name_map.h"
#include "converters/widen.h"
#include "recipe/keys/config.h"

namespace titan::convert::megatron {
namespace {

std::uint64_t width_of(const ForeignTensor& tensor) { return ckpt::element_count(std::span(tensor.shape).subspan(1)); }

}  // namespace

Result<PartsView> PartsView::of(const ForeignCheckpoint& raw, const RuledNames& ruled, const recipe::ModelDims& model) {
  PartsView out(raw);
  const std::vector<ForeignTensor>& tensors = raw.tensors();
  std::set<std::string_view> mastered;
  for (std::size_t i = 0; i < tensors.size(); ++i)
    if (!ruled.skipped[i] && split_state(tensors[i].name).slot == kMasterSlot) mastered.insert(ruled.names[i]);
  out.masters_ = !mastered.empty();
  for (const bool of_model : {true, false}) {
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      StateName state{split_state(tensors[i].name).slot, ruled.names[i]};
      const bool stored = state.slot.empty() && !mastered.contains(state.name),
                 weights = stored || state.slot == kMasterSlot;
      const bool moments = state.slot == ckpt::kExpAvg || state.slot == ckpt::kExpAvgSq;
      if (ruled.skipped[i] || (of_model ? !weights : !moments)) continue;
      if (of_model && stored && tensors[i].dtype != ckpt::DType::kF32) out.unmastered_.emplace_back(state.name);
      if (of_model) state.slot = {};
      TITAN_RETURN_IF_ERROR(out.add(i, state, model));
    }
    if (of_model) out.of_model_ = out.tensors_.size();
  }
  return out;
}

// A tensor that does not belong to the model keeps its name, so that the plan reports it.
Status PartsView::add(std::size_t raw, const StateName& name, const recipe::ModelDims& model) {
  const ForeignTensor& stored = raw_->tensors()[raw];
  TITAN_ASSIGN_OR_RETURN(std::vector<Part> parts, parts_of(path(), std::string(name.name), stored.shape, model));
  if (parts.empty()) parts.push_back({std::string(name.name), stored.shape, {}});
  for (Part& part : parts) {
    if (const auto at = raw_of_.emplace(part.name, raw).first; name.slot.empty() && at->second != raw)
      return duplicate_mapping(path(), part.name, std::string(split_state(raw_->tensors()[at->second].name).name),
                               std::string(split_state(stored.name).name));
    const std::string full = name.slot.empty() ? part.name : kStatePrefix + part.name + "." + std::string(name.slot);
    tensors_.push_back({full, stored.dtype, std::move(part.shape)});
    places_.push_back({raw, part.blocks});
  }
  return {};
}

Status PartsView::read(std::size_t tensor, std::uint64_t first, std::span<std::byte> out) const {
  const auto& [raw, blocks] = places_[tensor];
  if (blocks.rows == 0) return raw_->read(raw, first, out);
  const ForeignTensor& whole = raw_->tensors()[raw];
  const std::uint64_t unit = ckpt::dtype_size(whole.dtype), width = width_of(whole), block = blocks.rows * width;
  for (std::uint64_t at = first; !out.empty();) {
    const std::uint64_t count = std::min<std::uint64_t>(block - at % block, out.size() / unit);
    const std::uint64_t row = at / block * blocks.period + blocks.first;
    TITAN_RETURN_IF_ERROR(raw_->read(raw, row * width + at % block, out.first(count * unit)));
    out = out.subspan(count * unit);
    at += count;
  }
  return {};
}

ImportPlan PartsView::of_raw(ImportPlan plan) const {
  std::map<std::string_view, std::size_t> of_part;
  for (std::size_t i = 0; i < tensors_.size(); ++i) of_part.emplace(tensors_[i].name, places_[i].raw);
  for (TensorReport& line : plan.report)
    if (const auto at = of_part.find(line.from); at != of_part.end()) line.from = raw_->tensors()[at->second].name;
  for (TensorPlan& tensor : plan.tensors) {
    const Place& place = places_[tensor.source];
    tensor.blocks = place.blocks;
    tensor.source = place.raw;
  }
  return plan;
}

TrainedParts::TrainedParts(Fs& fs, const PartsView& parts, const CommonState& common)
    : TrainedSource(fs, parts.path()), parts_(parts), common_(common) {
  add_whole(parts, parts.of_model());
  if (!common.optimizer) return;
  for (std::size_t i = 0; i < parts.of_model(); ++i) set_step(tensors()[i].name, common.optimizer->count);
}

Result<ImportPlan> TrainedParts::plan_model(const ImportOptions& options, const recipe::ModelDims& model) const {
  const bool interleaved = common_.arguments && common_.arguments->interleaved;
  const ModelLayout layout{huggingface_names(), "untie_embeddings_and_output_weights", "the run's arguments",
                           ConfigKeys::kTitan, interleaved};
  TITAN_ASSIGN_OR_RETURN(ImportPlan plan, plan_tensors(*model_view(), model, layout, of_model(options)));
  if (common_.arguments) add_made_config(model, common_.arguments->texts, plan);
  plan.step = common_.step.value_or(0);
  if (common_.arguments)
    plan.data_ranks = static_cast<std::uint32_t>(std::min<std::uint64_t>(common_.arguments->data_ranks, UINT32_MAX));
  plan.notes.push_back("Megatron's fused projections are taken apart, under Hugging Face's names");
  if (parts_.masters()) note_masters(parts_.unmastered(), plan);
  TITAN_RETURN_IF_ERROR(take_optimizer(options, plan));
  return plan;
}

Status TrainedParts::take_optimizer(const ImportOptions& options, ImportPlan& plan) const {
  TITAN_RETURN_IF_ERROR(take_slots(options, plan));
  if (plan.optimizer_steps.empty()) return {};
  for (const TensorPlan& tensor : plan.tensors)
    if (const ForeignTensor& stored = tensors()[tensor.source]; stored.shape != plan.parameters[tensor.ref.index].shape)
      return ckpt::corrupt(path() + ": '" + stored.name + "' has the shape " + ckpt::shape_text(stored.shape) +
                           ", the weights have " + ckpt::shape_text(plan.parameters[tensor.ref.index].shape));
  if (options.widen) TITAN_RETURN_IF_ERROR(widen_state(*this, plan));
  if (!asks_for_run(options)) return {};
  if (!common_.optimizer)
    return ckpt::incompatible(path() + " has moments of an optimizer, but does not say its settings")
        .with_hint(kModelAlone);
  TITAN_RETURN_IF_ERROR(check_masters(parts_.unmastered()));
  TITAN_ASSIGN_OR_RETURN(const recipe::Config config, dcp::read_torchtitan(*options.config));
  RunFacts facts;
  facts.data_ranks = 0;
  std::uint64_t batch = 0;
  if (common_.arguments) {
    facts.data_ranks = common_.arguments->data_ranks;
    facts.samples = common_.arguments->samples;
    facts.clip = common_.arguments->clip;
    facts.length = common_.arguments->texts.context;
    batch = common_.arguments->batch.value_or(0);
  }
  const std::uint64_t given = dcp::batch_of(config, std::max<std::uint64_t>(facts.data_ranks, 1));
  if (batch == 0) batch = given;
  if (batch != given)
    return ckpt::incompatible(path() + ": a step of the run has " + std::to_string(batch) +
                              " samples (global_batch_size), the configuration says " + std::to_string(given))
        .with_hint("add: --set training.global_batch_size=" + std::to_string(batch));
  for (const TensorPlan& tensor : plan.tensors) {
    const ForeignTensor& stored = tensors()[tensor.source];
    const OptimizerState& state = *common_.optimizer;
    facts.of[stored.name] = stored.shape.size() == 1 ? state.undecayed.value_or(state.decayed) : state.decayed;
  }
  if (common_.scheduler) {
    // Counts the steps that the loss scaler skipped: they advance neither Adam nor the schedule.
    const double count = common_.optimizer->count, made = common_.scheduler->position / static_cast<double>(batch);
    if (count < static_cast<double>(plan.step) && made == count)
      facts.skipped = plan.step - static_cast<std::uint64_t>(count);
    TITAN_ASSIGN_OR_RETURN(facts.phases, phases_of(path(), *common_.scheduler, plan.step, batch));
    TITAN_RETURN_IF_ERROR(
        check_curve(path(), *common_.scheduler, plan.step, batch, recipe::lr_settings(config), facts.skipped));
  }
  return take_run(*options.config, facts, plan);
}

}  // namespace titan::convert::megatron
