#include "cli/ui/command_line.h"
#include "cli/ui/table.h"

namespace titan::ui {

namespace {

void add_rows(Table& table, const std::vector<Flag>& flags) {
  for (const Flag& flag : flags) {
    const std::string letter = flag.letter == 0 ? "    " : std::string("-") + flag.letter + ", ";
    const std::string value = flag.value.empty() ? "" : " " + flag.value;
    table.row({letter + "--" + flag.name + value, (flag.after.empty() ? "" : flag.after + ": ") + flag.help +
                                                      (flag.built == Built::kNotYet ? " (not supported yet)" : "")});
  }
}

std::string usage(const Verb& verb) {
  std::string text = verb.name;
  for (const std::string& positional : verb.positionals) text += " " + positional;
  for (const std::string& positional : verb.more) text += " [" + positional + "]";
  return text;
}

}  // namespace

std::string help_text(const Program& program, const std::string& verb_name) {
  const Palette plain;
  Table flags({{}, {}});
  std::string text;
  for (const Verb& verb : program.verbs) {
    if (verb.name != verb_name) continue;
    text = "usage: " + program.name + " " + usage(verb) + (verb.overrides ? " [--section.key=value ...]" : "") +
           " [flags]\n\n" + verb.help + "\n\nflags\n";
    add_rows(flags, verb.flags);
  }
  if (text.empty()) {
    Table verbs({{}, {}});
    for (const Verb& verb : program.verbs)
      verbs.row({usage(verb), verb.help + (verb.built == Built::kNotYet ? " (not supported yet)" : "")});
    text = program.name + ": " + program.help + "\n\nusage: " + program.name + " VERB [arguments] [flags]\n\nverbs\n" +
           verbs.render(plain, "  ") + "\nflags of every verb\n";
  }
  add_rows(flags, program.flags);
  add_rows(flags, {{"help", "", "print this help; after a verb, that verb's", 'h'},
                   {"version", "", "print version and git hash"}});
  return text + flags.render(plain, "  ");
}

}  // namespace titan::ui
