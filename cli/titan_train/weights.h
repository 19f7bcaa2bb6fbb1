#pragma once
// Opens weights of every supported format, and finds out their model's dimensions and tokenizer.
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

/// A function that opens weights of every format that this program reads. For checkpoints of other programs it applies
/// the name rules of `config` (recipe::given_rules), and takes the number of heads from `config` if the files do not
/// record it. `averages`: opens the run's averages of the parameters (EMA) in place of the parameters.
ckpt::WeightOpener weight_opener(const recipe::Config& config, bool averages = false);

/// The rules of the flags --skip, --rename and --rows of `command`. \error kInvalid
ckpt::Result<recipe::NameRules> rules_of(const Command& command);
/// Opens the weights that the first argument of `command` names, with rules_of(command). With --ema: the EMA of the
/// parameters. \error kInvalid: wrong flags; else as WeightOpener
ckpt::Result<std::unique_ptr<ckpt::WeightSource>> open_given(const Command& command);

/// The dimensions of the model in `source`. `given`: the checkpoint as typed, `verb`: the verb, both for the hint: if a
/// checkpoint of another program lacks a dimension, the hint is a `titan-ckpt convert` command that adds the dimension.
/// \error kIncompatible, kUnsupported
ckpt::Result<recipe::ModelDims> model_of(const ckpt::WeightSource& source, const std::string& given,
                                         const std::string& verb);

/// training.seq_len of the run that saved the checkpoint, 1 to 2^24; nullopt if it is not recorded.
std::optional<std::uint64_t> stored_seq_len(const ckpt::WeightSource& source);

/// How a checkpoint's model reads and writes text.
struct Texts {
  bool bytes = false;   ///< the ids are the bytes of the text: id b is the byte b
  bool others = false;  ///< the checkpoint has tokenizer files that were not needed or cannot be used
  std::shared_ptr<const recipe::Tokenizer> tokenizer;  ///< null if not needed, or if `bytes`
  std::vector<std::int64_t> ends;                      ///< ids that end a text (EOS)
  std::optional<std::uint64_t> positions;              ///< the model's context length in tokens
};
/// Reads the Texts of a checkpoint. `reads`: the tokenizer is needed, since the user gives text. `tokenizer`: path of
/// the tokenizer's folder; unset: the one in the checkpoint. \error kCorrupt, kFailed: a file of the checkpoint cannot
/// be read; kInvalid, kUnsupported: the tokenizer cannot be used
ckpt::Result<Texts> texts_of(const ckpt::WeightSource& source, bool reads, const std::optional<std::string>& tokenizer);
/// Checks that `flag`, which takes text, can be used: the model reads bytes, or has a tokenizer. `path`: the
/// checkpoint, `instead`: what to do without a tokenizer, both for the error. \error kInvalid
ckpt::Status check_reads_text(const Texts& texts, const std::string& path, const std::string& flag,
                              const std::string& instead);

}  // namespace titan::cli
