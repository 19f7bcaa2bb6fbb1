#pragma once
// A program's verbs and flags, and the typed command line, as plain data. Parser, help and completions are generated
// from one table, which also has the function that runs each verb.
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ckpt/base/result.h"

namespace titan::ckpt {
class Fs;
}

namespace titan::cli {

struct Answer;
struct Request;

enum class Repeat { kOnce, kMany };

struct Flag {
  std::string name;   ///< long form without dashes, "tensors"
  std::string value;  ///< placeholder of the value ("GLOB"); empty: a switch
  std::string help;
  char letter = 0;  ///< short form
  Repeat repeat = Repeat::kOnce;
  std::string after = {};  ///< allowed only if this is the first positional ("set" of `lr`); empty: always
};

/// What an argument names. kSource: a checkpoint (perhaps a run) that is only read; kTensor: a tensor of the checkpoint
/// in the preceding argument
enum class Names { kWord, kSource, kRun, kDestination, kTensor };
enum class Takes { kOurs, kForeign };  ///< kForeign: also checkpoints of other formats

/// A positional argument.
struct Argument {
  std::string name;  ///< placeholder, "CKPT"
  Names names = Names::kWord;
  Takes takes = Takes::kOurs;
  bool required = true;  ///< optional arguments come last
  bool many = false;     ///< may be repeated; only for the last argument
};

struct Verb {
  std::string name;  ///< "inspect"; a sub-verb ("set" of "lr set") is the first positional
  std::vector<Argument> arguments;
  std::string help;  ///< one line
  std::vector<Flag> flags;
  ckpt::Result<Answer> (*run)(const Request&) = nullptr;
  bool json = true;  ///< answers in JSON with --json; false: --json has no effect

  /// Positions of the arguments that name a checkpoint to read; with `with_runs` also those that name a run.
  std::vector<std::size_t> sources(bool with_runs) const;
};

/// Shell completions that are not in the table.
struct Offers {
  /// The words that may follow RUN@.
  std::vector<std::string> (*steps)(ckpt::Fs& fs, const std::string& run) = nullptr;
  /// The tensors of a checkpoint.
  std::vector<std::string> (*tensors)(ckpt::Fs& fs, const std::string& checkpoint) = nullptr;
};

/// Words that users of other programs type for a verb.
struct VerbHabit {
  std::vector<std::string> words;
  std::string command;  ///< what they mean here, program first
};

struct Program {
  std::string name, help;
  std::vector<Verb> verbs;
  std::vector<Flag> flags;  ///< accepted before and after every verb, in addition to flags_of_every_program()
  std::vector<std::string> (*keys)() =
      nullptr;  ///< names of keys ("section.key"); verbs with --set also accept --section.key=value
  void (*explain)(const Request&, ckpt::Status&) = nullptr;  ///< adds program-specific advice to the error of a verb
  /// The command that was probably meant if the path `path` was typed instead of a verb.
  std::string (*meant_by_path)(const std::string& path) = nullptr;
  std::vector<VerbHabit> habits = {};
  /// Resolves RUN@best to a folder; returns any other text unchanged. `skipped` gets better steps that are damaged.
  ckpt::Result<std::string> (*best)(ckpt::Fs& fs, const std::string& spec, std::vector<std::string>* skipped) = nullptr;
  const char* notices = "";  ///< what --licenses prints
  Offers offers = {};
  std::string (*libraries)() = nullptr;  ///< for --version: ", NAME VERSION" of each library that only this program
                                         ///< links

  const Verb* find(std::string_view verb) const;
};

/// The parsed command line.
struct Command {
  std::string verb;  ///< may be empty with a flag of every program
  std::vector<std::string> positionals;
  std::map<std::string, std::vector<std::string>> values;  ///< by long name; a switch has one empty value
  bool help = false, version = false, licenses = false;
  std::vector<std::string> overrides = {};  ///< arguments that set keys, as typed or translated from flags
  std::vector<std::string> words = {};      ///< the whole command line, program name first, if the program asks for it

  bool has(const std::string& flag) const { return values.count(flag) > 0; }
  std::optional<std::string> value(const std::string& flag) const;
  /// Every value of a flag that may be repeated.
  std::vector<std::string> all(const std::string& flag) const;
};

/// The flags that every program has, and that need no verb: --help, --version, --licenses.
const std::vector<Flag>& flags_of_every_program();

/// Parses the arguments (without the program's name). If a flag of every program is given, nothing else is checked.
/// \error kInvalid: unknown verb or flag (with "did you mean"), missing or surplus arguments.
ckpt::Result<Command> parse_command_line(const Program& program, const std::vector<std::string>& words);

/// An override of a key, with the words as typed: {"a.b", {"--a.b", "1"}}.
struct Override {
  std::string key;
  std::vector<std::string> words;
};
/// Removes --section.key=value and --section.key value from `words` and returns them, since the parser would take a
/// separate value for a positional. `is_switch`: whether a key takes no separate value.
std::vector<Override> take_overrides(std::vector<std::string>& words,
                                     const std::function<bool(const std::string& key)>& is_switch);

/// The text of `--help` for the program, or for one verb. Folded to `width` columns; 0: not folded.
std::string help_text(const Program& program, const std::string& verb = "", std::size_t width = 0);

}  // namespace titan::cli
