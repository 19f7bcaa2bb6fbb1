#pragma once
// The table of a program's verbs and flags, and the parser of its command line. Help and shell completions are
// generated from the same table, which also has the function that runs each verb.
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

/// How often a flag may be given.
enum class Repeat { kOnce, kMany };

struct Flag {
  std::string name;   ///< long form without dashes, "tensors"
  std::string value;  ///< placeholder of the value ("GLOB"); empty: a switch
  std::string help;
  char letter = 0;  ///< short form: 'o' for -o; 0: none
  Repeat repeat = Repeat::kOnce;
  std::string after = {};  ///< sub-verb that the flag belongs to: "set" for a flag of `lr set`; empty: every one
};

/// What an argument names. kSource: a checkpoint that is only read, or the run that contains it; kRun: a run folder;
/// kDestination: a path to write; kTensor: a tensor of the checkpoint in the preceding argument; kWord: any other word.
enum class Names { kWord, kSource, kRun, kDestination, kTensor };
/// Formats of a checkpoint argument. kTitan: Titan checkpoints; kForeign: also checkpoints of other programs.
enum class Takes { kTitan, kForeign };

/// A positional argument.
struct Argument {
  std::string name;  ///< placeholder, "CKPT"
  Names names = Names::kWord;
  Takes takes = Takes::kTitan;
  bool required = true;  ///< optional arguments come last
  bool many = false;     ///< may be repeated; only for the last argument
};

struct Verb {
  std::string name;  ///< "inspect"; a sub-verb ("set" of "lr set") is the first positional
  std::vector<Argument> arguments;
  std::string help;  ///< one line
  std::vector<Flag> flags;
  ckpt::Result<Answer> (*run)(const Request&) = nullptr;  ///< runs the verb
  bool json = true;                                       ///< answers in JSON with --json; false: --json has no effect

  /// Indexes in `arguments` of the arguments that name a checkpoint to read; with `with_runs` also of the arguments
  /// that name a run.
  std::vector<std::size_t> sources(bool with_runs) const;
};

/// Functions for shell completions that depend on files. Null: no such completions.
struct CompletionSources {
  /// The words that may follow `RUN@`, such as "latest" and step numbers.
  std::vector<std::string> (*steps)(ckpt::Fs& fs, const std::string& run) = nullptr;
  /// The names of a checkpoint's tensors.
  std::vector<std::string> (*tensors)(ckpt::Fs& fs, const std::string& checkpoint) = nullptr;
};

/// Words that other programs use for a verb ("list" for "ls"). A user who types one gets a hint with `command`.
struct VerbAlias {
  std::vector<std::string> words;
  std::string command;  ///< the equivalent command line, program name first
};

/// A program: titan-train or titan-ckpt.
struct Program {
  std::string name, help;
  std::vector<Verb> verbs;
  std::vector<Flag> flags;  ///< accepted before and after every verb, in addition to flags_of_every_program()
  std::vector<std::string> (*keys)() =
      nullptr;  ///< names of keys ("section.key"); verbs with --set also accept --section.key=value
  void (*explain)(const Request&, ckpt::Status&) = nullptr;  ///< adds program-specific advice to the error of a verb
  /// The command line to suggest if the user typed the path `path` instead of a verb.
  std::string (*meant_by_path)(const std::string& path) = nullptr;
  std::vector<VerbAlias> verb_aliases = {};
  /// Resolves RUN@best to a step folder; returns any other text unchanged. Appends to `skipped` a line for each step
  /// that is better than the returned one but cannot be used.
  ckpt::Result<std::string> (*best)(ckpt::Fs& fs, const std::string& spec, std::vector<std::string>* skipped) = nullptr;
  const char* notices = "";  ///< what --licenses prints
  CompletionSources completion_sources = {};
  std::string (*libraries)() = nullptr;  ///< for --version: ", NAME VERSION" of each library that only this program
                                         ///< links

  /// The verb with this name; null if there is none.
  const Verb* find(std::string_view verb) const;
};

/// The parsed command line.
struct Command {
  std::string verb;  ///< empty if only --help, --version or --licenses was given
  std::vector<std::string> positionals;
  std::map<std::string, std::vector<std::string>> values;  ///< by long name; a switch has one empty value
  bool help = false, version = false, licenses = false;
  std::vector<std::string> overrides = {};  ///< arguments that set keys, as typed or translated from flags
  std::vector<std::string> words = {};      ///< the whole command line, program name first; only set by titan-train

  bool has(const std::string& flag) const { return values.count(flag) > 0; }
  /// The last value of the flag `flag` (long name); nullopt if it was not given.
  std::optional<std::string> value(const std::string& flag) const;
  /// All values of a flag that may be repeated, in the order typed.
  std::vector<std::string> all(const std::string& flag) const;
};

/// The flags that every program has and that need no verb: --help, --version, --licenses.
const std::vector<Flag>& flags_of_every_program();

/// Parses `words`, the arguments without the program's name. With --help, --version or --licenses, missing arguments
/// and unknown flags are no error. \error kInvalid: an unknown verb or flag (with a hint "did you mean"), a missing or
/// surplus argument, a missing value, a flag that is repeated without being allowed to
ckpt::Result<Command> parse_command_line(const Program& program, const std::vector<std::string>& words);

/// A configuration key that was set on the command line, with the words as typed: {"a.b", {"--a.b", "1"}}.
struct Override {
  std::string key;
  std::vector<std::string> words;
};
/// Removes each `--section.key=value` and `--section.key value` from `words`, and returns what was removed. Call this
/// before parse_command_line(), which would take a separate value for a positional argument. `is_switch`: whether a key
/// takes no separate value (a boolean).
std::vector<Override> take_overrides(std::vector<std::string>& words,
                                     const std::function<bool(const std::string& key)>& is_switch);

/// The text of `--help` for the program, or for the verb `verb`, wrapped at `width` columns; 0: not wrapped.
std::string help_text(const Program& program, const std::string& verb = "", std::size_t width = 0);

}  // namespace titan::cli
