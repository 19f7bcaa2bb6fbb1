#pragma once
// Opens weights of every supported format, with facts about their model and its texts.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ckpt/read/weight_source.h"
#include "cli/kit/command_line.h"
#include "recipe/change/name_rules.h"
#include "recipe/model/dims.h"

namespace titan::recipe {
struct Config;
class Tokenizer;
}  // namespace titan::recipe

namespace titan::cli {

/// Opens weights of every format that this program reads. For foreign ones it applies the name rules of `config`
/// (recipe::given_rules), and the model keys of `config` if the files do not have the number of heads. `averages`:
/// opens the parameter averages that the run kept, in place of its parameters.
ckpt::WeightOpener weight_opener(const recipe::Config& config, bool averages = false);

/// The rules of the flags --skip, --rename and --rows of `command`. \error kInvalid
ckpt::Result<recipe::NameRules> rules_of(const Command& command);
/// Opens the weights that the first argument of `command` names, with rules_of(command); with --ema the EMA.
/// \error kInvalid; as WeightOpener
ckpt::Result<std::unique_ptr<ckpt::WeightSource>> open_given(const Command& command);

/// The model of a checkpoint that was `given` to the verb `verb`. If a foreign checkpoint lacks part of it, the error
/// hints at a conversion that adds it. \error kIncompatible, kUnsupported
ckpt::Result<recipe::ModelDims> model_of(const ckpt::WeightSource& source, const std::string& given,
                                         const std::string& verb);

/// training.seq_len of the run that saved the checkpoint, 1 to 2^24; nothing if it is not known.
std::optional<std::uint64_t> stored_seq_len(const ckpt::WeightSource& source);

/// What a checkpoint says about its model's texts.
struct Texts {
  bool bytes = false;   ///< id b is the byte b
  bool others = false;  ///< it came with tokenizer files that were not asked for or have another form
  std::shared_ptr<const recipe::Tokenizer> tokenizer;  ///< for texts that are not bytes
  std::vector<std::int64_t> ends;                      ///< tokens that end a text
  std::optional<std::uint64_t> positions;              ///< the model's context length in tokens
};
/// Reads them. `reads`: text is given, so the tokenizer is needed. `tokenizer`: the tokenizer's folder; unset: the one
/// that came with the model. \error kCorrupt, kFailed: a file that came with the model cannot be read; kInvalid,
/// kUnsupported: the tokenizer
ckpt::Result<Texts> texts_of(const ckpt::WeightSource& source, bool reads, const std::optional<std::string>& tokenizer);
/// Fails if `flag`, which takes text, is given for a model without a tokenizer that does not read bytes.
/// \error kInvalid
ckpt::Status check_reads_text(const Texts& texts, const std::string& path, const std::string& flag,
                              const std::string& instead);

}  // namespace titan::cli
