#include "converters/hf/written_config.h"

#include <algorithm>

#include "ckpt/base/text.h"
#include "ckpt/plan/lr_settings.h"
#include "converters/companions.h"
#include "converters/hf/hf_checkpoint.h"
#include "converters/hf/hf_config.h"

namespace titan::convert {
namespace {

HfDefaults defaults_of(const ModelDims& model, const Settings& rows, DType weights) {
  HfDefaults defaults;
  defaults.dtype = std::string(ckpt::dtype_name(weights));
  if (const auto length = ckpt::number_of<std::uint64_t>(ckpt::setting(rows, "training.seq_len")))
    defaults.max_positions = defaults.trained_positions = *length;
  if (!model.rope_scaling) return defaults;
  const double scaled = recipe::scaled_length(*model.rope_scaling);
  if (scaled >= 1 && scaled < 1e12)
    defaults.max_positions = std::max(defaults.max_positions, static_cast<std::uint64_t>(scaled));
  return defaults;
}

// transformers 5 requires this for Llama only, even where head_dim is given and nothing depends on it.
bool is_refused(const JsonValue& config, const ModelDims& model) {
  const JsonValue* type = config.find("model_type");
  return type != nullptr && type->text() != nullptr && *type->text() == "llama" && model.dim % model.n_heads != 0;
}

}  // namespace

Result<JsonValue> written_config(Fs& fs, const ModelDims& model, const Settings& rows, DType weights,
                                 const ExportOptions& options, std::vector<std::string>& notes) {
  if (family_for(model, hf_families()) == nullptr)
    return ckpt::unsupported("no architecture of transformers has the parts of this model: model.qkv_bias = " +
                             std::string(model.qkv_bias ? "true" : "false") +
                             " and model.qk_norm = " + (model.qk_norm ? "true" : "false"));
  JsonValue base;
  const auto known = std::ranges::find(options.companions, std::string(kHfConfig), &Companion::name);
  if (known != options.companions.end()) {
    TITAN_ASSIGN_OR_RETURN(const std::string text, read_companion(fs, *known, kMaxHfConfigBytes));
    TITAN_ASSIGN_OR_RETURN(base, parse_json(kHfConfig, text));
  }
  ModelDims written = model;
  written.tied = model.tied && !options.untie;
  if (options.untie && describes(base, model)) base.set("tie_word_embeddings", JsonValue::boolean(false));
  JsonValue config = write_hf_config(written, base, defaults_of(model, rows, weights));
  if (base.is_object() && !describes(base, written))
    notes.push_back(
        "the config.json that came with the model describes another one: a new one was made, "
        "with its special tokens and context where the vocabulary has the same size");
  if (is_refused(config, model))
    notes.push_back("transformers 5 refuses this model, for its hidden_size " + std::to_string(model.dim) +
                    " is not a multiple of its num_attention_heads " + std::to_string(model.n_heads) +
                    "; transformers 4 loads it");
  if (base.is_null())
    notes.push_back(
        "no config.json came with the model: one was made, max_position_embeddings is training.seq_len where that is "
        "known, and bos and eos tokens are not set");
  return config;
}

}  // namespace titan::convert
