#include "converters/hf/written_config.h"

#include <algorithm>

#include "ckpt/base/text.h"
#include "ckpt/plan/lr_settings.h"
#include "converters/companions.h"
#include "converters/hf/hf_checkpoint.h"
#include "converters/hf/hf_config.h"
#include "recipe/model/manifest_dims.h"
#include "recipe/text/tokenizer.h"

namespace titan::convert {

namespace {

// The note if the context length is a guess, with what would make it known.
constexpr const char* kContextUnknown =
    "nothing says for what length of texts the model was made (--config FILE.toml with training.seq_len does)";

constexpr std::uint64_t kGuessedContext = 2048;  // used if no file gives the context length
constexpr const char *kBos = "bos_token_id", *kEos = "eos_token_id", *kContext = "max_position_embeddings";

// training.seq_len of the run, or of the user's configuration; 0: unknown.
std::uint64_t trained_length(const Settings& rows, const std::optional<Settings>& given) {
  for (const Settings* settings : {&rows, given ? &*given : nullptr})
    if (settings != nullptr)
      if (const auto length = ckpt::number_of<std::uint64_t>(ckpt::setting(*settings, "training.seq_len")))
        return *length;
  return 0;
}

HfDefaults defaults_of(const ModelDims& model, std::uint64_t trained, DType weights) {
  HfDefaults defaults;
  defaults.dtype = std::string(ckpt::dtype_name(weights));
  defaults.max_positions = defaults.trained_positions = trained;
  if (!model.rope_scaling) return defaults;
  const double scaled = recipe::scaled_length(*model.rope_scaling);
  if (scaled >= 1 && scaled < 1e12)
    defaults.max_positions = std::max(defaults.max_positions, static_cast<std::uint64_t>(scaled));
  return defaults;
}

// The begin- and end-of-text tokens of the tokenizer that came with the model. Both are empty if there is no tokenizer,
// or one that cannot be read. \error kCorrupt (the file does not match its digest), kFailed
struct TokenizerEnds {
  std::optional<std::uint32_t> begin, end;
};
Result<TokenizerEnds> tokenizer_ends(Fs& fs, const std::vector<Companion>& companions) {
  constexpr std::uint64_t kMostBytes = std::uint64_t{64} << 20;
  TITAN_ASSIGN_OR_RETURN(const std::string json, read_companion(fs, companions, kHfTokenizer, kMostBytes));
  TITAN_ASSIGN_OR_RETURN(const std::string config, read_companion(fs, companions, "tokenizer_config.json", kMostBytes));
  if (json.empty()) return TokenizerEnds{};
  const Result<recipe::Tokenizer> tokenizer = recipe::Tokenizer::parse(kHfTokenizer, json, config);
  return tokenizer.ok() ? TokenizerEnds{tokenizer->bos(), tokenizer->eos()} : TokenizerEnds{};
}

// Adds the tokens that begin and end a text, if the configuration lacks them.
Status fill_special_tokens(Fs& fs, const ModelDims& model, const ExportOptions& options, JsonValue& config) {
  constexpr const char* kGeneration = "generation_config.json";
  TITAN_ASSIGN_OR_RETURN(const std::string text,
                         read_companion(fs, options.companions, kGeneration, kMaxHfConfigBytes));
  const Result<JsonValue> generation = parse_json(kGeneration, text);
  JsonValue begin, end;
  if (generation.ok() && generation->is_object()) {
    if (const JsonValue* said = generation->find(kBos)) begin = *said;
    if (const JsonValue* said = generation->find(kEos)) end = *said;
  }
  if (end.is_null()) {
    TITAN_ASSIGN_OR_RETURN(const TokenizerEnds own, tokenizer_ends(fs, options.companions));
    const auto token = [&](const std::optional<std::uint32_t>& id) {
      return id && *id < model.vocab_size ? JsonValue::integer(*id) : JsonValue();
    };
    end = token(own.end);
    if (begin.is_null()) begin = token(own.begin);
  }
  if (!end.is_null()) config.set(kEos, std::move(end));
  if (!begin.is_null() && config.find(kBos) == nullptr) config.set(kBos, std::move(begin));
  return {};
}

// "model.qkv_bias = true and model.qk_norm = true": the parts that Llama lacks.
std::string parts_text(const ModelDims& model) {
  constexpr std::size_t kShown = 4, kLong = 40;
  std::vector<std::string> parts;
  const ckpt::Settings rows = recipe::model_rows(model);
  for (const char* key : recipe::kModelSwitches)
    if (const std::string value = ckpt::setting(rows, key); value != ckpt::kNotSet && value != "false")
      parts.push_back(std::string(key) + " = " + (value.size() > kLong ? value.substr(0, kLong) + "..." : value));
  const std::size_t all = parts.size();
  parts.resize(std::min(all, kShown));
  return ckpt::joined(parts, " and ") + (all > kShown ? " and " + std::to_string(all - kShown) + " more" : "");
}

// transformers 4 reads the scaling of OLMo 2's RoPE as two members, under other names than in all other models.
bool is_refused_by_4(const ModelDims& model) { return model.post_norm && model.rope_scaling; }

// For Llama alone, transformers 5 requires that n_heads divides dim, even if head_dim is given and nothing depends on
// it.
bool is_refused(const JsonValue& config, const ModelDims& model) {
  const JsonValue* type = config.find("model_type");
  return type != nullptr && type->text() != nullptr && *type->text() == "llama" && model.dim % model.n_heads != 0;
}

}  // namespace

Result<WrittenConfig> written_config(Fs& fs, const ModelDims& model, const Settings& rows, DType weights,
                                     const ExportOptions& options, std::vector<std::string>& notes) {
  if (family_for(model, hf_families()) == nullptr)
    return ckpt::unsupported("no architecture of transformers has the parts of this model: " + parts_text(model));
  TITAN_ASSIGN_OR_RETURN(const std::string text, read_companion(fs, options.companions, kHfConfig, kMaxHfConfigBytes));
  JsonValue base;
  if (!text.empty()) {
    TITAN_ASSIGN_OR_RETURN(base, parse_json(kHfConfig, text));
  }
  ModelDims written = model;
  written.tied = model.tied && !options.untie;
  if (options.untie && describes(base, model)) base.set("tie_word_embeddings", JsonValue::boolean(false));
  const std::uint64_t trained = trained_length(rows, options.config);
  WrittenConfig out{write_hf_config(written, base, defaults_of(model, trained, weights))};
  JsonValue& config = out.json;
  // The tokenizer's ids have no meaning for a model that was trained on bytes after its weights were loaded.
  if (config.find(kEos) == nullptr && !recipe::reads_bytes(rows))
    TITAN_RETURN_IF_ERROR(fill_special_tokens(fs, model, options, config));
  const bool says_context = config.find(kContext) != nullptr;
  if (says_context) out.context = config.find(kContext)->as_u64().value_or(0);
  out.context_known = out.context > 0;
  if (!out.context_known) out.context = kGuessedContext;
  if (says_context) config.set(kContext, JsonValue::integer(out.context));
  if (base.is_object() && !describes(base, written))
    notes.push_back(
        "the config.json that came with the model describes another one: a new one was made, "
        "with its special tokens and context where the vocabulary has the same size");
  if (is_refused(config, model))
    notes.push_back("transformers 5 refuses this model, for its hidden_size " + std::to_string(model.dim) +
                    " is not a multiple of its num_attention_heads " + std::to_string(model.n_heads) +
                    "; transformers 4 loads it");
  if (is_refused_by_4(model))
    notes.emplace_back("transformers 4 refuses this model, for it reads scaled RoPE of OLMo 2 otherwise than all else");
  if (base.is_null())
    notes.push_back("no config.json came with the model: one was made" +
                    std::string(config.find(kEos) == nullptr ? ", in which bos and eos tokens are not set" : ""));
  if (!out.context_known && says_context)
    notes.push_back(std::string(kContext) + " is " + std::to_string(out.context) + ", a guess: " + kContextUnknown);
  return out;
}

Result<std::uint64_t> written_context(Fs& fs, const ModelDims& model, const Settings& rows,
                                      const ExportOptions& options, const char* key, std::vector<std::string>& notes) {
  std::vector<std::string> unused;
  TITAN_ASSIGN_OR_RETURN(const WrittenConfig config, written_config(fs, model, rows, DType::kF32, options, unused));
  if (!config.context_known)
    notes.push_back(std::string(key) + " is " + std::to_string(config.context) + ", a guess: " + kContextUnknown);
  return config.context;
}

}  // namespace titan::convert
