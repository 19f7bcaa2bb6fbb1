#include "cli/titan_train/weights.h"

#include <algorithm>

#include "ckpt/base/fs_posix.h"
#include "ckpt/base/quoting.h"
#include "ckpt/base/text.h"
#include "ckpt/read/ema.h"
#include "ckpt/run/run_resolve.h"
#include "cli/kit/flag_values.h"
#include "converters/foreign_view.h"
#include "converters/hf/text_facts.h"
#include "corpus/tokenizer_files.h"
#include "recipe/change/model_source.h"
#include "recipe/change/name_rules.h"
#include "recipe/history/best_step.h"
#include "recipe/keys/config.h"
#include "recipe/keys/key_table.h"
#include "recipe/keys/loader.h"
#include "recipe/model/from_shapes.h"
#include "recipe/model/manifest_dims.h"

namespace titan::cli {

using ckpt::Result;

namespace {

/// The keys of a configuration's section "model" that are set, with their values.
ckpt::Settings said_rows(const recipe::Config& config) {
  ckpt::Settings rows;
  std::vector<std::string> keys = recipe::model_keys();
  keys.emplace_back("model.flavor");
  for (const std::string& key : keys)
    if (const auto value = recipe::get_value(*recipe::find_key(key), config))
      rows.emplace_back(key, recipe::to_toml(*value));
  std::ranges::sort(rows);
  return rows;
}

/// A configuration with only the name rules of the flags.
recipe::Config config_of_flags(const Command& command) {
  recipe::Config config;
  config.checkpoint.initial_load_skip = command.all("skip");
  config.checkpoint.initial_load_rename = command.all("rename");
  config.checkpoint.initial_load_rows = command.value("rows");
  return config;
}

}  // namespace

ckpt::WeightOpener weight_opener(const recipe::Config& config, bool averages) {
  return [config, averages, rows = said_rows(config)](
             ckpt::Fs& fs, const std::string& spec) -> Result<std::unique_ptr<ckpt::WeightSource>> {
    TITAN_ASSIGN_OR_RETURN(const std::string named, recipe::resolve_best(fs, spec));
    const std::string path = convert::resolve_any(fs, named);
    TITAN_ASSIGN_OR_RETURN(const convert::Format* format, convert::detect_format(fs, path));
    TITAN_ASSIGN_OR_RETURN(const std::string folder,
                           format != nullptr ? Result<std::string>(path) : ckpt::resolve_checkpoint(fs, path));
    convert::ImportOptions options{.config = rows};
    TITAN_ASSIGN_OR_RETURN(options.rules, recipe::given_rules(fs, config));
    TITAN_ASSIGN_OR_RETURN(ckpt::CheckpointReader reader, convert::open_any_with(fs, folder, options));
    if (averages) {
      TITAN_ASSIGN_OR_RETURN(reader, ckpt::averages_of(fs, std::move(reader)));
    }
    return ckpt::weights_of(std::move(reader));
  };
}

Result<recipe::NameRules> rules_of(const Command& command) {
  return recipe::given_rules(ckpt::posix_fs(), config_of_flags(command));
}

Result<std::unique_ptr<ckpt::WeightSource>> open_given(const Command& command) {
  return weight_opener(config_of_flags(command), command.has("ema"))(ckpt::posix_fs(), command.positionals[0]);
}

Result<recipe::ModelDims> model_of(const ckpt::WeightSource& source, const std::string& given,
                                   const std::string& verb) {
  const ckpt::Settings rows = recipe::known_model(source.model_config(), source.tensors());
  const std::vector<std::string> unknown = recipe::unknown_model_keys({}, rows);
  TITAN_ASSIGN_OR_RETURN(const convert::Format* format, convert::detect_format(ckpt::posix_fs(), given));
  if (unknown.empty() || format == nullptr) return recipe::stored_dims(rows, source.path());
  return ckpt::incompatible(source.path() + " does not say what model it holds: " + ckpt::joined(unknown))
      .with_hint(
          "titan-ckpt convert " + ckpt::shell_word(given) +
          " NEW --to titan --config FILE.toml, where FILE.toml has model.flavor or model.n_heads, and what is not "
          "torchtitan's default; then titan-train " +
          verb + " NEW");
}

std::optional<std::uint64_t> stored_seq_len(const ckpt::WeightSource& source) {
  constexpr std::uint64_t kMost = 1u << 24;
  if (source.manifest() == nullptr) return std::nullopt;
  const ckpt::Settings& config = source.manifest()->config;
  const auto found = std::ranges::find(config, std::string("training.seq_len"), &ckpt::Settings::value_type::first);
  const auto length = found == config.end() ? std::nullopt : ckpt::number_of<std::uint64_t>(found->second);
  return length && *length >= 1 && *length <= kMost ? length : std::nullopt;
}

Result<Texts> texts_of(const ckpt::WeightSource& source, bool reads, const std::optional<std::string>& tokenizer) {
  const bool trained = source.manifest() != nullptr && recipe::reads_bytes(source.manifest()->config);
  TITAN_ASSIGN_OR_RETURN(const convert::TextFacts facts,
                         convert::read_text_facts(ckpt::posix_fs(), source.model_files()));
  const std::optional<std::uint64_t> length = stored_seq_len(source);
  // The run trained on bytes, perhaps from weights of a model with a tokenizer. That tokenizer's ids mean nothing now.
  if (trained && !facts.byte_tokenizer && !tokenizer) return Texts{.bytes = true, .positions = length};
  Texts texts{.bytes = facts.byte_tokenizer && !tokenizer,
              .others = facts.tokenizer,
              .ends = facts.ends,
              .positions = facts.positions && length ? std::max(facts.positions, length)
                                                     : (facts.positions ? facts.positions : length)};
  corpus::TokenizerFiles files{source.path() + "'s tokenizer.json", facts.tokenizer_json, facts.tokenizer_config};
  if (tokenizer) {
    TITAN_ASSIGN_OR_RETURN(files, corpus::read_tokenizer_files(ckpt::posix_fs(), *tokenizer));
  }
  if (files.json.empty() || (!reads && !texts.ends.empty())) return texts;
  Result<recipe::Tokenizer> read = corpus::parse_tokenizer(files);
  if (!read.ok()) return reads ? Result<Texts>(read.status()) : texts;
  if (texts.ends.empty() && read->eos()) texts.ends = {*read->eos()};
  if (reads) texts.tokenizer = std::make_shared<const recipe::Tokenizer>(std::move(*read));
  return texts;
}

ckpt::Status check_reads_text(const Texts& texts, const std::string& path, const std::string& flag,
                              const std::string& instead) {
  if (texts.bytes || texts.tokenizer) return ckpt::ok_status();
  return ckpt::invalid("`--" + flag + "` takes text, and " + path +
                       (texts.others ? " has a tokenizer of another form than tokenizer.json"
                                     : " does not say that its tokens are bytes, and has no tokenizer"))
      .with_hint("--tokenizer DIR names a folder with the model's tokenizer.json; or " + instead);
}

}  // namespace titan::cli
