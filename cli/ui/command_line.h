#pragma once
// A program's verbs and flags as plain data, and what a user typed as plain data. One table makes parser and help.
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ckpt/base/result.h"

namespace titan::ui {

enum class Built { kYes, kNotYet };  ///< kNotYet: known, answered with "not supported yet"
enum class Repeat { kOnce, kMany };

struct Flag {
  std::string name;   ///< long form without dashes, "tensors"
  std::string value;  ///< placeholder of the value ("GLOB"); empty: a switch
  std::string help;
  char letter = 0;  ///< short form
  Built built = Built::kYes;
  Repeat repeat = Repeat::kOnce;
  std::string after = {};  ///< goes with this first positional only ("set" of `lr`); empty: with any
};

struct Verb {
  std::string name;  ///< "inspect"; two words for a verb of a verb is one verb with a first positional
  std::vector<std::string> positionals;  ///< placeholders, all required: {"CKPT", "TENSOR"}
  std::string help;                      ///< one line
  std::vector<Flag> flags;
  Built built = Built::kYes;
  bool overrides = false;              ///< takes --section.key=value
  std::vector<std::string> more = {};  ///< placeholders that may follow the required ones
};

struct Program {
  std::string name, help;
  std::vector<Verb> verbs;
  std::vector<Flag> flags;  ///< understood before and after every verb; help and version are added
};

/// What was typed.
struct Command {
  std::string verb;  ///< empty with help or version
  std::vector<std::string> positionals;
  std::map<std::string, std::vector<std::string>> values;      ///< by long name; a switch has one empty value
  std::vector<std::pair<std::string, std::string>> overrides;  ///< {"section.key", "value"} in order
  bool help = false, version = false;

  bool has(const std::string& flag) const { return values.count(flag) > 0; }
  std::optional<std::string> value(const std::string& flag) const;
};

/// Reads the arguments (without the program's name). With help or version nothing else is checked.
/// \error kInvalid: unknown verb or flag (with "did you mean"), missing or surplus arguments; kUnsupported: not built
/// yet.
ckpt::Result<Command> parse_command_line(const Program& program, const std::vector<std::string>& words);

/// Text of `--help`: of the program, or of one verb.
std::string help_text(const Program& program, const std::string& verb = "");

}  // namespace titan::ui
