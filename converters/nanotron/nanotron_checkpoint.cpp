#include "converters/nanotron/nanotron_checkpoint.h"

#include <algorithm>

#include "ckpt/base/text.h"
#include "converters/companions.h"
#include "converters/hf/hf_checkpoint.h"
#include "converters/hf/hf_plan.h"
#include "converters/name_table.h"
#include "converters/skip.h"
#include "converters/widen.h"
#include "recipe/model/family.h"
#include "recipe/model/from_rows.h"

namespace titan::convert::nanotron {
namespace {

constexpr std::uint64_t kMaxJson = std::uint64_t{4} << 20;
constexpr std::string_view kDecoder = "model.decoder.";
constexpr const char* kSlots[] = {ckpt::kExpAvg, ckpt::kExpAvgSq};

Result<JsonValue> read_json(Fs& fs, const std::string& path) {
  TITAN_ASSIGN_OR_RETURN(const std::vector<std::byte> bytes, ckpt::read_file(fs, path, kMaxJson));
  return parse_json(path, ckpt::text_of(bytes));
}

PiecedTensor weights_of(const Parameter& parameter) {
  PiecedTensor out{"'" + parameter.name + "'", parameter.dtype, parameter.shape, {}};
  for (const Shard& shard : parameter.shards)
    for (const ShardBox& box : shard.boxes) out.pieces.push_back({box.offsets, box.sizes, {shard.stored}, box.first});
  return out;
}

std::optional<std::uint64_t> step_of_folder(const std::string& path) {
  return ckpt::number_of<std::uint64_t>(ckpt::base_name(path));
}

// The model's tensors alone, which are the first ones.
class ModelView final : public ForeignCheckpoint {
 public:
  ModelView(const ForeignCheckpoint& whole, std::size_t tensors)
      : whole_(whole),
        tensors_(whole.tensors().begin(), whole.tensors().begin() + static_cast<std::ptrdiff_t>(tensors)) {}
  const std::string& path() const override { return whole_.path(); }
  const std::vector<ForeignTensor>& tensors() const override { return tensors_; }
  Status read(std::size_t tensor, std::uint64_t first, std::span<std::byte> out) const override {
    return whole_.read(tensor, first, out);
  }
  Result<ImportPlan> plan(const ImportOptions& options) const override { return whole_.plan(options); }
  Result<ckpt::VerifyReport> verify(const Progress& progress) const override { return whole_.verify(progress); }

 private:
  const ForeignCheckpoint& whole_;
  const std::vector<ForeignTensor> tensors_;
};

}  // namespace

Status Checkpoint::open() {
  const std::string config = ckpt::join_path(path_, kModelConfig), metadata = ckpt::join_path(path_, kMetadata);
  Result<JsonValue> json = read_json(fs_, config);
  if (!json.ok() && json.status().code == ckpt::Code::kNotFound)
    return ckpt::incompatible(path_ + " has no " + kModelConfig +
                              ": nanotron writes it last, so the checkpoint is not whole");
  TITAN_ASSIGN_OR_RETURN(const JsonValue model, std::move(json));
  TITAN_ASSIGN_OR_RETURN(const JsonValue metas, read_json(fs_, metadata));
  TITAN_ASSIGN_OR_RETURN(position_, read_metadata(metadata, metas));
  TITAN_ASSIGN_OR_RETURN(model_, read_model_config(config, model));
  TITAN_ASSIGN_OR_RETURN(const std::vector<Parameter> parameters,
                         read_parameters(fs_, ckpt::join_path(path_, "model"), files_));
  if (parameters.empty()) return ckpt::corrupt(path_ + " holds no weights");
  TITAN_ASSIGN_OR_RETURN(optimizer_, read_optimizer(fs_, ckpt::join_path(path_, "optimizer"), parameters, files_));
  masters_ = std::all_of(parameters.begin(), parameters.end(), [&](const Parameter& parameter) {
    const auto state = optimizer_.states.find(parameter.name);
    return state != optimizer_.states.end() && state->second.master;
  });
  for (const Parameter& parameter : parameters) {
    PiecedTensor stored = weights_of(parameter);
    TITAN_RETURN_IF_ERROR(check_pieces(stored));
    TITAN_RETURN_IF_ERROR(
        add(parameter, "", masters_ ? *optimizer_.states.at(parameter.name).master : std::move(stored)));
  }
  model_tensors_ = tensors_.size();
  for (const Parameter& parameter : parameters) {
    const auto state = optimizer_.states.find(parameter.name);
    if (state == optimizer_.states.end()) continue;
    TITAN_RETURN_IF_ERROR(add(parameter, ckpt::kExpAvg, state->second.exp_avg));
    TITAN_RETURN_IF_ERROR(add(parameter, ckpt::kExpAvgSq, state->second.exp_avg_sq));
    for (const Part& part : parts_of(parameter.name)) steps_[part.name] = state->second.step;
  }
  return {};
}

// Query, key and value are one projection in nanotron, and so are gate and up.
std::vector<Checkpoint::Part> Checkpoint::parts_of(const std::string& name) const {
  using recipe::Part;
  const auto theirs = [](Part part, std::string_view layer = {}) {
    return recipe::filled_pattern(recipe::kind_of(part).huggingface, layer);
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
    return ckpt::incompatible(path_ + ": '" + parameter.name + "' has " +
                              std::to_string(whole.shape.empty() ? 0 : whole.shape[0]) + " rows, " + kModelConfig +
                              " makes it " + std::to_string(rows))
        .with_hint("take model_config.json from the run that wrote the weights");
  std::uint64_t first = 0;
  for (const Part& part : parts) {
    std::vector<std::uint64_t> shape = whole.shape;
    if (parts.size() > 1) shape[0] = part.rows;
    tensors_.push_back({suffix.empty() ? part.name : kStatePrefix + part.name + "." + suffix, whole.dtype, shape});
    places_.push_back({pieced_.size(), first});
    first += part.rows * row;
  }
  pieced_.push_back(std::move(whole));
  return {};
}

Status Checkpoint::read(std::size_t tensor, std::uint64_t first, std::span<std::byte> out) const {
  const Place& place = places_[tensor];
  return files_.read(pieced_[place.tensor], place.first + first, out);
}

Result<ImportPlan> Checkpoint::plan(const ImportOptions& options) const {
  if (options.config && !options.look)
    TITAN_RETURN_IF_ERROR(
        agreed_rows(path_, recipe::model_rows(model_.dims), *options.config, options.comparison).status());
  if (!model_.interleaved && !options.rules.rows)
    return ckpt::incompatible(ckpt::join_path(path_, kModelConfig) +
                              " has no rope_interleaved: it does not say how rows of queries and keys lie")
        .with_hint("--rows interleaved, where the run was trained by nanotron's old rotary embedding; else --rows hf");
  ImportOptions of_model = options;
  std::vector<std::string> model_globs;
  for (const std::string& glob : options.skip) {
    SkipRules rule({glob});
    bool of_slot = false, of_weights = false;
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      if (!rule.takes(tensors_[i].name)) continue;
      (i < model_tensors_ ? of_weights : of_slot) = true;
    }
    if (of_weights || !of_slot) model_globs.push_back(glob);
  }
  of_model.skip = model_globs;
  const ModelLayout layout{huggingface_names(), "tie_word_embeddings", kModelConfig, ConfigKeys::kHuggingface,
                           model_.interleaved.value_or(false)};
  TITAN_ASSIGN_OR_RETURN(ImportPlan plan,
                         plan_tensors(ModelView(*this, model_tensors_), model_.dims, layout, of_model));
  plan.step = position_.step.value_or(step_of_folder(path_).value_or(0));
  plan.data_ranks =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(std::max<std::uint64_t>(position_.dp, 1), UINT32_MAX));
  plan.notes.push_back("nanotron's fused projections are taken apart, under Hugging Face's names");
  if (masters_)
    plan.notes.push_back("weights are the optimizer's float32 masters, of which the model's files are roundings");
  TITAN_RETURN_IF_ERROR(take_slots(options, plan));
  if (plan.optimizer_steps.empty()) return plan;
  if (options.widen) TITAN_RETURN_IF_ERROR(widen_state(*this, plan));
  if (options.config && !options.look) TITAN_RETURN_IF_ERROR(take_run(*options.config, plan));
  return plan;
}

Status Checkpoint::take_slots(const ImportOptions& options, ImportPlan& plan) const {
  SkipRules skip(options.skip);
  std::map<std::string, std::size_t> by_name;
  for (std::size_t i = model_tensors_; i < tensors_.size(); ++i) {
    if (!skip.takes(tensors_[i].name)) {
      by_name[tensors_[i].name] = i;
      continue;
    }
    plan.report.push_back(uncast(tensors_[i].name, Fate::kSkipped, tensors_[i].dtype, tensors_[i].shape));
    plan.left_out.push_back(tensors_[i].name);
  }
  if (by_name.empty()) return {};
  const std::size_t parameters = plan.parameters.size();
  std::vector<std::string> missing;
  for (std::uint32_t p = 0; p < parameters; ++p) {
    const TensorPlan weights = plan.tensors[p];
    const std::string& theirs = tensors_[weights.source].name;
    for (const char* slot : kSlots) {
      const auto at = by_name.find(kStatePrefix + theirs + "." + slot);
      if (at == by_name.end()) {
        missing.push_back(kStatePrefix + theirs + "." + slot);
        continue;
      }
      plan.tensors.push_back({{p, slot}, at->second, weights.head_dim});
      plan.report.push_back(uncast(at->first, Fate::kWritten, tensors_[at->second].dtype, tensors_[at->second].shape));
      plan.report.back().to = plan.parameters[p].name + "." + slot;
      plan.report.back().permuted = weights.head_dim != 0;
      by_name.erase(at);
    }
    const auto step = steps_.find(theirs);
    plan.optimizer_steps.push_back(step == steps_.end() ? 0 : static_cast<std::uint64_t>(std::max(step->second, 0.0)));
  }
  for (const auto& [name, source] : by_name) plan.left_out.push_back(name);
  if (missing.empty()) return {};
  if (!options.look)
    return ckpt::incompatible(path_ + ": optimizer state is missing: " + listed(missing))
        .with_hint("take the model alone: --skip 'optimizer.*'");
  plan.tensors.resize(parameters);
  plan.optimizer_steps.clear();
  return {};
}

Result<ckpt::VerifyReport> Checkpoint::verify(const Progress& progress) const {
  constexpr std::uint64_t kChunk = std::uint64_t{1} << 20;
  ckpt::VerifyReport report;
  report.note = kSafetensorsNote;
  std::uint64_t total = 0;
  for (const ForeignTensor& tensor : tensors_) total += tensor.bytes();
  std::vector<std::byte> buffer(std::min(kChunk, total));
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    const std::uint64_t size = ckpt::dtype_size(tensors_[i].dtype), elements = ckpt::element_count(tensors_[i].shape);
    for (std::uint64_t at = 0; at < elements; at += kChunk / size) {
      const std::uint64_t count = std::min(kChunk / size, elements - at);
      TITAN_RETURN_IF_ERROR(read(i, at, std::span(buffer).first(count * size)));
      report.bytes += count * size;
      if (progress) TITAN_RETURN_IF_ERROR(progress(report.bytes, total));
    }
    ++report.leaves;
  }
  return report;
}

}  // namespace titan::convert::nanotron
