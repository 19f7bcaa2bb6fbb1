#include "converters/nanotron/nanotron_checkpoint.h"

#include <algorithm>
#include <map>

#include "ckpt/base/files.h"
#include "ckpt/base/fs.h"
#include "ckpt/base/path.h"
#include "ckpt/base/text.h"
#include "ckpt/plan/lr_settings.h"
#include "converters/hf/families.h"
#include "converters/hf/safetensors.h"
#include "converters/hf/written_config.h"
#include "converters/model_only.h"
#include "converters/nanotron/model_config.h"
#include "converters/unsupported_parts.h"
#include "recipe/model/family.h"
#include "recipe/model/manifest_dims.h"

namespace titan::convert::nanotron {
namespace {

constexpr const char* kVersion = "1.4";  // newer programs read it; older ones refuse newer versions
constexpr const char* kWholeFile = "_pp-rank-0-of-1_tp-rank-0-of-1";

/// One nanotron parameter: Titan's parameters concatenated by rows.
struct Fused {
  std::string folder, suffix;  // "model/decoder/0/pp_block/attn/qkv_proj", "weight"
  std::vector<std::uint32_t> parameters;
  std::vector<std::uint64_t> head_dims;  // per parameter; not 0: rows are reordered to rotate-half order
  std::vector<std::uint64_t> shape;
  DType from = DType::kF32, to = DType::kF32;
  bool sharded = true;
};

/// The nanotron parameter that contains one of Titan's: folder below the block, and position in it.
struct Target {
  recipe::Part part;
  const char* theirs;  // the folder; nullptr: made from Hugging Face's name
  std::size_t place;
  bool rotate_half;  // rows are reordered to rotate-half order
};
using recipe::Part;
constexpr Target kTargets[] = {{Part::kEmbedding, "token_position_embeddings/pp_block/token_embedding", 0, false},
                               {Part::kQuery, "attn/qkv_proj", 0, true},
                               {Part::kQueryBias, "attn/qkv_proj", 0, true},
                               {Part::kKey, "attn/qkv_proj", 1, true},
                               {Part::kKeyBias, "attn/qkv_proj", 1, true},
                               {Part::kValue, "attn/qkv_proj", 2, false},
                               {Part::kValueBias, "attn/qkv_proj", 2, false},
                               {Part::kAttentionOut, nullptr, 0, false},
                               {Part::kGate, "mlp/gate_up_proj", 0, false},
                               {Part::kUp, "mlp/gate_up_proj", 1, false},
                               {Part::kDown, nullptr, 0, false},
                               {Part::kAttentionNorm, nullptr, 0, false},
                               {Part::kFeedForwardNorm, nullptr, 0, false},
                               {Part::kFinalNorm, "final_layer_norm/pp_block", 0, false},
                               {Part::kHead, "lm_head/pp_block", 0, false}};

// The folder made from Hugging Face's name: "attn/out" from "model.layers.#.self_attn.out.weight".
std::string as_huggingface(const recipe::ParameterKind& kind) {
  constexpr std::string_view kLayer = "model.layers.#.", kAttention = "self_attn.";
  std::string_view rest = kind.huggingface.substr(kLayer.size());
  std::string folder = rest.starts_with(kAttention) ? "attn/" : "";
  if (!folder.empty()) rest.remove_prefix(kAttention.size());
  folder += rest.substr(0, rest.rfind('.'));
  std::ranges::replace(folder, '.', '/');
  return folder;
}

struct Placed {
  std::string folder, suffix;
  const Target* target;
};
std::optional<Placed> place_of(const std::string& name) {
  const std::optional<recipe::NamedPart> named = recipe::part_of(name);
  if (!named) return std::nullopt;
  const Target* at = std::ranges::find(kTargets, named->kind->part, &Target::part);
  if (at == std::end(kTargets)) return std::nullopt;
  const std::string theirs = at->theirs != nullptr ? at->theirs : as_huggingface(*named->kind);
  const std::string block = named->kind->in_layer() ? "decoder/" + std::to_string(named->layer) + "/pp_block/" : "";
  return Placed{"model/" + block + theirs, name.substr(name.rfind('.') + 1), at};
}

std::string dotted(const Fused& fused) {
  std::string name = fused.folder + "." + fused.suffix;
  std::replace(name.begin(), name.end(), '/', '.');
  return name;
}

class Writer final : public ModelWriter {
 public:
  using ModelWriter::ModelWriter;

  Status plan(Fs& fs);
  Status write(Fs& fs, const std::string& folder, const Progress& progress) override;

 private:
  Status check_model() override;
  Status add(std::uint32_t parameter) override;
  JsonValue model_config(std::uint64_t positions) const;
  JsonValue metadata() const;
  Status write_fused(Fs& fs, const std::string& path, const Fused& fused, const Progress& progress);

  std::map<std::string, Fused> fused_;  // by folder and suffix
  JsonValue config_, metadata_;
};

Status Writer::plan(Fs& fs) {
  TITAN_RETURN_IF_ERROR(plan_model(/*untie=*/false));
  TITAN_ASSIGN_OR_RETURN(const std::uint64_t positions,
                         written_context(fs, model_, manifest_.config, options_, "max_position_embeddings", notes_));
  config_ = model_config(positions);
  metadata_ = metadata();
  notes_.push_back("the weights alone: start nanotron with load_optimizer and load_lr_scheduler false");
  return {};
}

Status Writer::check_model() {
  if (const char* part = newer_part(recipe::model_rows(model_)))
    return ckpt::unsupported(source_.path() + ": a model with " + part + " is not written for nanotron yet")
        .with_hint(huggingface_writes(model_));
  const char* lack = model_.rope_scaling                              ? "RoPE that is scaled"
                     : model_.qk_norm                                 ? "norms of queries and keys"
                     : model_.head_dim * model_.n_heads != model_.dim ? "heads of another width than dim / n_heads"
                                                                      : nullptr;
  if (lack != nullptr) return ckpt::unsupported(source_.path() + ": nanotron's model has no " + lack);
  return check_dtype();
}

Status Writer::add(std::uint32_t parameter) {
  const ckpt::ParameterRecord& record = manifest_.parameters[parameter];
  const std::string& name = record.meta.name;
  const DType from = record.model->dtype, to = options_.dtype && ckpt::is_float(from) ? *options_.dtype : from;
  const std::optional<Placed> placed = place_of(name);
  if (!placed) return no_place(name);
  Fused& fused = fused_[placed->folder + "." + placed->suffix];
  const std::uint64_t head_dim =
      placed->target->rotate_half && model_.head_dim > 2 ? static_cast<std::uint64_t>(model_.head_dim) : 0;
  if (fused.parameters.size() != placed->target->place || (!fused.parameters.empty() && fused.from != from))
    return ckpt::incompatible(source_.path() + ": '" + name +
                              "' is fused with others in nanotron, of which some are missing or of another type");
  if (fused.parameters.empty()) {
    fused = {placed->folder,    placed->suffix, {}, {},
             record.meta.shape, from,           to, record.meta.shape.size() > 1 || placed->suffix == "bias"};
  } else {
    fused.shape[0] += record.meta.shape[0];
  }
  fused.parameters.push_back(parameter);
  fused.head_dims.push_back(head_dim);
  report_.push_back({.from = name,
                     .to = dotted(fused),
                     .from_dtype = from,
                     .to_dtype = to,
                     .shape = record.meta.shape,
                     .permuted = head_dim != 0});
  bytes_ += ckpt::element_count(record.meta.shape) * ckpt::dtype_size(to);
  return {};
}

JsonValue Writer::model_config(std::uint64_t positions) const {
  JsonValue config = JsonValue::object();
  const auto size = [&](const char* key, std::int64_t value) {
    config.set(key, JsonValue::integer(static_cast<std::uint64_t>(value)));
  };
  config.set(model_.qkv_bias ? "is_qwen2_config" : "is_llama_config", JsonValue::boolean(true));
  config.set("bos_token_id", JsonValue());
  config.set("eos_token_id", JsonValue());
  config.set("pad_token_id", JsonValue());
  config.set("hidden_act", JsonValue::string("silu"));
  size("hidden_size", model_.dim);
  config.set("initializer_range", JsonValue::real(0.02));
  size("intermediate_size", model_.ffn_dim);
  config.set("max_position_embeddings", JsonValue::integer(positions));
  size("num_attention_heads", model_.n_heads);
  size("num_hidden_layers", model_.n_layers);
  size("num_key_value_heads", model_.n_kv_heads);
  size("pretraining_tp", 1);
  config.set("rms_norm_eps", JsonValue::real(model_.norm_eps));
  config.set("rope_interleaved", JsonValue::boolean(false));
  config.set("rope_scaling", JsonValue());
  config.set("rope_theta", JsonValue::real(model_.rope_theta));
  config.set("tie_word_embeddings", JsonValue::boolean(model_.tied));
  config.set("use_cache", JsonValue::boolean(true));
  size("vocab_size", model_.vocab_size);
  return config;
}

JsonValue Writer::metadata() const {
  const auto length = ckpt::number_of<std::uint64_t>(ckpt::setting(manifest_.config, "training.seq_len"));
  const auto train = source_.train_state();
  const std::uint64_t samples = train.ok() && length && *length > 0 ? train->tokens / *length : 0;
  JsonValue stage = JsonValue::object(), metas = JsonValue::object(), out = JsonValue::object();
  stage.set("name", JsonValue::string("training"));
  stage.set("start_training_step", JsonValue::integer(1));
  stage.set("consumed_train_samples", JsonValue::integer(samples));
  metas.set("consumed_train_samples", JsonValue::integer(samples));
  metas.set("last_train_step", JsonValue::integer(manifest_.step));
  metas.set("last_stage_idx", JsonValue::integer(0));
  metas.set("data_stages", JsonValue::list({stage}));
  for (const char* degree : {"tp", "dp", "cp"}) out.set(degree, JsonValue::integer(1));
  out.set("version", JsonValue::string(kVersion));
  out.set("metas", std::move(metas));
  return out;
}

Status Writer::write(Fs& fs, const std::string& folder, const Progress& progress) {
  done_ = 0;
  const std::string root = ckpt::join_path(folder, "model");
  TITAN_RETURN_IF_ERROR(fs.make_dir(root));
  std::vector<std::string> folders{root};
  for (const auto& [key, fused] : fused_) {
    std::string below = root;
    for (const std::string& part : ckpt::split(fused.folder, '/')) {
      below = ckpt::join_path(below, part);
      if (std::find(folders.begin(), folders.end(), below) != folders.end()) continue;
      TITAN_RETURN_IF_ERROR(fs.make_dir(below));
      folders.push_back(below);
    }
    const std::string name = "model_" + fused.suffix + (fused.sharded ? kWholeFile : "") + ".safetensors";
    TITAN_RETURN_IF_ERROR(write_fused(fs, ckpt::join_path(below, name), fused, progress));
  }
  for (auto at = folders.rbegin(); at != folders.rend(); ++at) TITAN_RETURN_IF_ERROR(fs.sync_dir(*at));
  const auto put = [&](const char* name, const JsonValue& json) {
    const std::string text = json.write();
    return ckpt::write_new_file(fs, ckpt::join_path(folder, name), std::as_bytes(std::span(text)));
  };
  TITAN_RETURN_IF_ERROR(put(kMetadata, metadata_));
  return put(kModelConfig, config_);
}

// The text of a shard's slices. A shard holds the whole parameter, so there is one slice per fused part, with equal
// local and global positions.
std::string slices_of(const CheckpointReader& source, const Fused& fused) {
  std::string text;
  std::uint64_t at = 0;
  for (const std::uint32_t parameter : fused.parameters) {
    const std::uint64_t rows = source.manifest().parameters[parameter].meta.shape[0];
    std::string slice = std::to_string(at) + "," + std::to_string(at + rows) + ",None";
    for (std::size_t d = 1; d < fused.shape.size(); ++d) slice += "|None,None,None";
    text += (text.empty() ? "" : ";") + slice + "#" + slice;
    at += rows;
  }
  return text;
}

std::string shape_as_python(const std::vector<std::uint64_t>& shape) {
  return "(" + ckpt::joined(shape, ", ", [](std::uint64_t extent) { return std::to_string(extent); }) +
         (shape.size() == 1 ? ",)" : ")");
}

Status Writer::write_fused(Fs& fs, const std::string& path, const Fused& fused, const Progress& progress) {
  std::vector<SafetensorsEntry> entries{{"data", fused.to, fused.shape}};
  std::vector<std::pair<std::string, std::string>> words;
  if (fused.sharded)
    words = {{"version", kVersion},
             {"unsharded_shape", shape_as_python(fused.shape)},
             {"local_global_slices_pairs", slices_of(source_, fused)}};
  const std::string header = encode_safetensors_header(entries, words);
  TITAN_ASSIGN_OR_RETURN(const std::unique_ptr<ckpt::File> file, fs.create(path));
  TITAN_RETURN_IF_ERROR(file->pwrite(0, std::as_bytes(std::span(header))));
  WriteBehind behind(*file);
  std::uint64_t offset = header.size();
  for (std::size_t i = 0; i < fused.parameters.size(); ++i) {
    const auto make = [&](std::uint64_t at, Block data) {
      return cast_block(fused.from, fused.to, dotted(fused), at, std::move(data));
    };
    TITAN_RETURN_IF_ERROR(
        write_elements(behind, offset, {fused.parameters[i], ""}, fused.head_dims[i], 1, make, progress));
    offset += ckpt::element_count(manifest_.parameters[fused.parameters[i]].meta.shape) * ckpt::dtype_size(fused.to);
  }
  TITAN_RETURN_IF_ERROR(behind.finish());
  TITAN_RETURN_IF_ERROR(file->datasync());
  return file->close();
}

}  // namespace

Result<std::unique_ptr<ForeignWriter>> create_nanotron(Fs& fs, const CheckpointReader& source,
                                                       const ExportOptions& options) {
  return planned<Writer>(fs, source, options);
}

}  // namespace titan::convert::nanotron
