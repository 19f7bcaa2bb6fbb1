#include "cli/kit/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <deque>

#include "ckpt/base/fs.h"
#include "ckpt/base/fs_posix.h"
#include "ckpt/base/nearest.h"

namespace titan::cli {

namespace {

using ckpt::Result;
using ckpt::Status;

std::vector<Flag> flags_of(const Program& program, const Verb* verb) {
  std::vector<Flag> flags;
  if (verb != nullptr) flags = verb->flags;
  flags.insert(flags.end(), program.flags.begin(), program.flags.end());
  flags.insert(flags.end(), flags_of_every_program().begin(), flags_of_every_program().end());
  return flags;
}

bool is_typed_as(const Flag& flag, const std::string& word) {
  return word == "--" + flag.name || (flag.letter != 0 && word == std::string("-") + flag.letter);
}

std::string in_ticks(const std::string& text) { return "`" + text + "`"; }

Status with_help_hint(Status status, const Program& program, const std::string& verb) {
  const std::string subject = verb.empty() ? program.name : program.name + " " + verb;
  return status.with_hint(in_ticks(subject + " --help") + (verb.empty() ? " lists the verbs" : " shows its arguments"));
}

bool looks_like_path(const std::string& word) {
  return word.find_first_of("/.@") != std::string::npos || ckpt::posix_fs().stat(word).ok();
}

Status unknown_verb(const Program& program, const std::string& name) {
  std::vector<std::string> names;
  for (const Verb& verb : program.verbs) names.push_back(verb.name);
  const Status status = ckpt::invalid("unknown verb " + in_ticks(name));
  if (program.meant_by_path != nullptr && looks_like_path(name))
    return status.with_hint("did you mean " + in_ticks(program.meant_by_path(name)) + "?");
  for (const VerbAlias& alias : program.verb_aliases)
    if (std::ranges::find(alias.words, name) != alias.words.end())
      return status.with_hint("did you mean " + in_ticks(alias.command) + "?");
  const std::string suggestion = ckpt::did_you_mean(name, names);
  return suggestion.empty() ? with_help_hint(status, program, "") : status.with_hint(suggestion);
}

Status unknown_flag(const Program& program, const Verb* verb, const std::string& typed) {
  const std::string flag = typed.substr(0, typed.find('='));
  const std::string verb_name = verb == nullptr ? "" : verb->name;
  std::vector<std::string> names;
  for (const Flag& known : flags_of(program, verb)) names.push_back("--" + known.name);
  if (verb != nullptr && std::ranges::any_of(verb->flags, [&](const Flag& known) { return is_typed_as(known, flag); }))
    return ckpt::invalid(in_ticks(flag) + " is before the verb")
        .with_hint("write it after " + in_ticks(program.name + " " + verb->name));
  const Status status =
      ckpt::invalid("unknown flag " + in_ticks(flag) + (verb == nullptr ? "" : " of " + in_ticks(verb->name)));
  const std::string suggestion = ckpt::did_you_mean(flag, names);
  return suggestion.empty() ? with_help_hint(status, program, verb_name) : status.with_hint(suggestion);
}

/// Where the parser stores a flag's values, or how often a switch occurred.
struct GivenFlag {
  Flag flag;
  std::vector<std::string> values;
  std::int64_t count = 0;
};

void add_flag(CLI::App& app, GivenFlag& one) {
  std::string names = "--" + one.flag.name;
  if (one.flag.letter != 0) names += std::string(",-") + one.flag.letter;
  if (one.flag.value.empty()) {
    app.add_flag(names, one.count);
  } else {
    // One value per occurrence: otherwise a vector option would also take the positionals that follow.
    app.add_option(names, one.values)->allow_extra_args(false);
  }
}

Status check_counts(const Program& program, const Verb& verb, const Command& command) {
  const std::size_t given = command.positionals.size(), most = verb.arguments.size();
  if (given < most && verb.arguments[given].required)
    return with_help_hint(ckpt::invalid(in_ticks(verb.name) + " needs " + verb.arguments[given].name), program,
                          verb.name);
  if (given > most && !(most > 0 && verb.arguments.back().many)) {
    const std::string& surplus = command.positionals[most];
    const Status status = ckpt::invalid("unexpected argument " + in_ticks(surplus) + " of " + in_ticks(verb.name));
    const std::vector<std::string> keys = program.keys == nullptr ? std::vector<std::string>{} : program.keys();
    if (const std::size_t equals = surplus.find('=');
        equals != std::string::npos && std::ranges::find(keys, surplus.substr(0, equals)) != keys.end())
      return status.with_hint("did you mean " + in_ticks("--" + surplus) + "?");
    return with_help_hint(status, program, verb.name);
  }
  return ckpt::ok_status();
}

Status check_flags(const std::deque<GivenFlag>& given) {
  for (const GivenFlag& one : given) {
    if (one.values.size() > 1 && one.flag.repeat == Repeat::kOnce)
      return ckpt::invalid("`--" + one.flag.name + "` is given " + std::to_string(one.values.size()) +
                           " times, expected once");
  }
  return ckpt::ok_status();
}

/// The first word that is neither a flag nor a flag's value; empty if there is none.
std::string first_word(const Program& program, const std::vector<std::string>& arguments) {
  const auto takes_next = [](const std::vector<Flag>& flags, const std::string& word) {
    return std::ranges::any_of(flags, [&](const Flag& flag) { return !flag.value.empty() && is_typed_as(flag, word); });
  };
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    if (!word.starts_with("-")) return word;
    // A verb's flag before the verb is a mistake, but its value must not be taken for the verb.
    const bool of_a_verb = std::ranges::any_of(program.verbs, [&](const Verb& verb) {
      return takes_next(verb.flags, word) && program.find(i + 1 < arguments.size() ? arguments[i + 1] : "") == nullptr;
    });
    if (takes_next(program.flags, word) || of_a_verb) ++i;
  }
  return {};
}

/// CLI11's messages fit on one line; its exit codes (100 to 114) all mean a usage error here.
Status parse(CLI::App& app, const std::vector<std::string>& arguments) {
  std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());  // CLI11 consumes from the back
  try {
    app.parse(reversed);
  } catch (const CLI::ArgumentMismatch& error) {
    return ckpt::invalid("a value is missing: " + std::string(error.what()));
  } catch (const CLI::ParseError& error) {
    return ckpt::invalid(error.what());
  }
  return ckpt::ok_status();
}

}  // namespace

std::optional<std::string> Command::value(const std::string& flag) const {
  const auto found = values.find(flag);
  return found == values.end() ? std::nullopt : std::optional<std::string>(found->second.back());
}

std::vector<std::string> Command::all(const std::string& flag) const {
  const auto found = values.find(flag);
  return found == values.end() ? std::vector<std::string>{} : found->second;
}

std::vector<std::size_t> Verb::sources(bool with_runs) const {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < arguments.size(); ++i)
    if (arguments[i].names == Names::kSource || (with_runs && arguments[i].names == Names::kRun)) found.push_back(i);
  return found;
}

const std::vector<Flag>& flags_of_every_program() {
  static const std::vector<Flag> flags{
      {"help", "", "print this help; after a verb, that verb's", 'h'},
      {"version", "", "print version and git hash, then the versions of formats and libraries"},
      {"licenses", "", "print the notices of everything that is linked in"}};
  return flags;
}

const Verb* Program::find(std::string_view verb) const {
  const auto found = std::ranges::find(verbs, verb, &Verb::name);
  return found == verbs.end() ? nullptr : &*found;
}

std::vector<Override> take_overrides(std::vector<std::string>& words,
                                     const std::function<bool(const std::string& key)>& is_switch) {
  std::vector<std::string> rest;
  std::vector<Override> overrides;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::size_t equals = words[i].find('=');
    const std::string name = words[i].substr(0, equals);
    if (!name.starts_with("--") || name.find('.') == std::string::npos) {
      rest.push_back(words[i]);
      continue;
    }
    Override& taken = overrides.emplace_back(Override{name.substr(2), {words[i]}});
    if (equals == std::string::npos && i + 1 < words.size() && !is_switch(taken.key)) taken.words.push_back(words[++i]);
  }
  words = std::move(rest);
  return overrides;
}

Result<Command> parse_command_line(const Program& program, const std::vector<std::string>& words) {
  // Words after "--" are never flags. They are kept from CLI11, which would mix them with unknown flags.
  const auto dashes = std::find(words.begin(), words.end(), "--");
  std::vector<std::string> arguments(words.begin(), dashes);
  const std::vector<std::string> literal(dashes == words.end() ? dashes : dashes + 1, words.end());

  const std::string word = first_word(program, arguments);
  const Verb* verb = program.find(word);
  if (verb == nullptr && !word.empty()) return unknown_verb(program, word);

  Command command;
  CLI::App app;
  app.set_help_flag();
  app.allow_extras();
  app.require_subcommand(0, 1);
  std::deque<GivenFlag> given;  // not a vector: CLI11 keeps pointers to the elements
  CLI::App* sub = nullptr;
  if (verb != nullptr) {
    command.verb = verb->name;
    sub = app.add_subcommand(verb->name);
    sub->set_help_flag();
    sub->allow_extras();
    sub->fallthrough();
    for (const Flag& flag : verb->flags) add_flag(*sub, given.emplace_back(GivenFlag{flag}));
    sub->add_option("arguments", command.positionals)->expected(0, 64);
  }
  for (const Flag& flag : flags_of(program, nullptr)) add_flag(app, given.emplace_back(GivenFlag{flag}));
  if (const Status status = parse(app, arguments); !status.ok()) return with_help_hint(status, program, command.verb);

  for (const GivenFlag& one : given) {
    if (!one.values.empty()) command.values[one.flag.name] = one.values;
    if (one.count > 0) command.values[one.flag.name] = {""};
  }
  command.help = command.values.erase("help") > 0;
  command.version = command.values.erase("version") > 0;
  command.licenses = command.values.erase("licenses") > 0;
  if (command.help || command.version || command.licenses) return command;

  const std::vector<std::string> extras = app.remaining(true);
  for (const std::string& extra : extras)
    if (extra.starts_with("-")) return unknown_flag(program, verb, extra);
  if (verb == nullptr) return with_help_hint(ckpt::invalid("a verb is missing"), program, "");
  command.positionals.insert(command.positionals.end(), extras.begin(), extras.end());
  command.positionals.insert(command.positionals.end(), literal.begin(), literal.end());
  TITAN_RETURN_IF_ERROR(check_flags(given));
  TITAN_RETURN_IF_ERROR(check_counts(program, *verb, command));
  return command;
}

}  // namespace titan::cli
