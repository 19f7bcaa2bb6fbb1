#pragma once
// A program's verbs and flags as plain data, and what a user typed as plain data. One table makes parser, help and
// completions, and says which function runs a verb.
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
  std::string after = {};  ///< goes with this first positional only ("set" of `lr`); empty: with any
};

/// kSource: a checkpoint, perhaps a run, that is only read; kTensor: one of the checkpoint before it
enum class Names { kWord, kSource, kRun, kDestination, kTensor };
enum class Takes { kOurs, kForeign };  ///< kForeign: also checkpoints of other formats

/// A positional.
struct Argument {
  std::string name;  ///< placeholder, "CKPT"
  Names names = Names::kWord;
  Takes takes = Takes::kOurs;
  bool required = true;  ///< those that are not stand last
  bool many = false;     ///< the last one: may be given more than once
};

struct Verb {
  std::string name;  ///< "inspect"; two words for a verb of a verb is one verb with a first positional
  std::vector<Argument> arguments;
  std::string help;  ///< one line
  std::vector<Flag> flags;
  Answer (*run)(const Request&) = nullptr;
  bool json = true;  ///< answers as JSON with --json; else that flag says nothing here

  /// The places of arguments that name a checkpoint to read, or (with_runs) a run.
  std::vector<std::size_t> sources(bool with_runs) const;
};

/// What a shell offers that is in no table.
struct Offers {
  /// What may follow RUN@.
  std::vector<std::string> (*steps)(ckpt::Fs& fs, const std::string& run) = nullptr;
  /// The tensors of a checkpoint.
  std::vector<std::string> (*tensors)(ckpt::Fs& fs, const std::string& checkpoint) = nullptr;
};

/// Words that people type for a verb because another program calls it so.
struct VerbHabit {
  std::vector<std::string> words;
  std::string command;  ///< what they mean here, program first
};

struct Program {
  std::string name, help;
  std::vector<Verb> verbs;
  std::vector<Flag> flags;  ///< understood before and after every verb; those of every program are added
  std::vector<std::string> (*keys)() =
      nullptr;  ///< "section.key"s that verbs with --set take as --section.key=value, too
  void (*explain)(const Request&, ckpt::Status&) = nullptr;  ///< adds to the error of a verb what this program knows
  /// The command that was probably meant where `path` stands in place of the verb.
  std::string (*meant_by_path)(const std::string& path) = nullptr;
  std::vector<VerbHabit> habits = {};
  /// The folder that RUN@best stands for; any other text as it is. `skipped`: better steps that are damaged.
  ckpt::Result<std::string> (*best)(ckpt::Fs& fs, const std::string& spec, std::vector<std::string>* skipped) = nullptr;
  const char* notices = "";  ///< what --licenses prints
  Offers offers = {};
  std::string (*libraries)() = nullptr;  ///< for --version, ", NAME VERSION" of each that this program alone has

  const Verb* find(std::string_view verb) const;
};

/// What was typed.
struct Command {
  std::string verb;  ///< may be empty with a flag of every program
  std::vector<std::string> positionals;
  std::map<std::string, std::vector<std::string>> values;  ///< by long name; a switch has one empty value
  bool help = false, version = false, licenses = false;
  std::vector<std::string> overrides = {};  ///< words about keys, as typed or as flags mean them
  std::vector<std::string> words = {};      ///< the whole line, the program's name first, where the program keeps it

  bool has(const std::string& flag) const { return values.count(flag) > 0; }
  std::optional<std::string> value(const std::string& flag) const;
  /// Every value of a flag that may be repeated.
  std::vector<std::string> all(const std::string& flag) const;
};

/// The flags that every program has, and that need no verb: --help, --version, --licenses.
const std::vector<Flag>& flags_of_every_program();

/// Reads the arguments (without the program's name). With one of the flags of every program nothing else is checked.
/// \error kInvalid: unknown verb or flag (with "did you mean"), missing or surplus arguments.
ckpt::Result<Command> parse_command_line(const Program& program, const std::vector<std::string>& words);

/// One override and the words that it was typed as: {"a.b", {"--a.b", "1"}}.
struct Override {
  std::string key;
  std::vector<std::string> words;
};
/// Takes --section.key=value and --section.key value out of `words`: the parser would take a separate value for an
/// argument. `is_switch`: keys that have no separate value.
std::vector<Override> take_overrides(std::vector<std::string>& words,
                                     const std::function<bool(const std::string& key)>& is_switch);

/// Text of `--help`: of the program, or of one verb. Folded to `width` columns, 0: not.
std::string help_text(const Program& program, const std::string& verb = "", std::size_t width = 0);

}  // namespace titan::cli
