#pragma once
// Weights of every format that this program reads, and what is known of the model and the texts that they are for.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ckpt/read/weight_source.h"
#include "cli/kit/command_line.h"
#include "recipe/change/name_rules.h"
#include "recipe/keys/config.h"
#include "recipe/model/dims.h"

namespace titan::recipe {
class Tokenizer;
}

namespace titan::cli {

/// Opens weights of every format that this program reads. To foreign ones apply the rules for names that `config` has
/// (recipe::given_rules), and its keys of the model where the files do not say how many heads there are.
/// `averages`: those that the run kept in place of its parameters.
ckpt::WeightOpener weight_opener(const recipe::Config& config = {}, bool averages = false);

/// What the flags --skip, --rename and --rows of `command` say. \error kInvalid
ckpt::Result<recipe::NameRules> rules_of(const Command& command);
/// The weights that the first word of `command` names, by these rules; with --ema the averages that a run kept. \error
/// kInvalid; as WeightOpener
ckpt::Result<std::unique_ptr<ckpt::WeightSource>> open_given(const Command& command);

/// The model of a checkpoint that was `given` to the verb `verb`. A foreign one that does not say it can be converted
/// with what it lacks. \error kIncompatible, kUnsupported
ckpt::Result<recipe::ModelDims> model_of(const ckpt::WeightSource& source, const std::string& given,
                                         const std::string& verb);

/// training.seq_len of the run that saved the checkpoint, 1 to 2^24; nothing where it is not known.
std::optional<std::uint64_t> stored_seq_len(const ckpt::WeightSource& source);

/// What a checkpoint says of the texts that its model reads and writes.
struct Texts {
  bool bytes = false;   ///< id b is the byte b
  bool others = false;  ///< it came with files of a tokenizer, and they were not asked for or are of another form
  std::shared_ptr<const recipe::Tokenizer> tokenizer;  ///< of texts that are no bytes
  std::vector<std::int64_t> ends;                      ///< tokens that end a text
  std::optional<std::uint64_t> positions;              ///< tokens of the texts that it was made for
};
/// `reads`: a text is given, so that its tokenizer is needed. `tokenizer`: the folder that it is read from, else it is
/// the one that came with the model.
/// \error kCorrupt, kFailed: a file that came with the model cannot be read; kInvalid, kUnsupported: the tokenizer
ckpt::Result<Texts> texts_of(const ckpt::WeightSource& source, bool reads, const std::optional<std::string>& tokenizer);
/// Fails where `flag`, which takes text, is given with a model that reads no bytes and has no tokenizer. \error
/// kInvalid
ckpt::Status check_reads_text(const Texts& texts, const std::string& path, const std::string& flag,
                              const std::string& instead);

}  // namespace titan::cli
