#include "ckpt/base/wrap.h"
#include "cli/kit/command_line.h"
#include "cli/kit/table.h"

namespace titan::cli {

namespace {

void add_rows(Table& table, const std::vector<Flag>& flags) {
  for (const Flag& flag : flags) {
    const std::string letter = flag.letter == 0 ? "    " : std::string("-") + flag.letter + ", ";
    const std::string value = flag.value.empty() ? "" : " " + flag.value;
    table.row({letter + "--" + flag.name + value, (flag.after.empty() ? "" : flag.after + ": ") + flag.help});
  }
}

std::string usage(const Verb& verb) {
  std::string text = verb.name;
  for (const Argument& argument : verb.arguments)
    text += argument.required ? " " + argument.name : " [" + argument.name + "]";
  return text;
}

}  // namespace

std::string help_text(const Program& program, const std::string& verb_name, std::size_t width) {
  const Palette plain{false, width};
  Table flags({{}, {}});
  std::string text;
  const auto folded = [&](const std::string& line) { return width == 0 ? line : ckpt::wrapped_text(line, width, 0); };
  if (const Verb* verb = program.find(verb_name)) {
    text = "usage: " + program.name + " " + usage(*verb) + " [flags]\n\n" + folded(verb->help) + "\n\nflags\n";
    add_rows(flags, verb->flags);
  } else {
    Table verbs({{}, {}});
    for (const Verb& verb : program.verbs) verbs.row({usage(verb), verb.help});
    text = folded(program.name + ": " + program.help) + "\n\nusage: " + program.name +
           " VERB [arguments] [flags]\n\nverbs\n" + verbs.render(plain, "  ") + "\nflags of every verb\n";
  }
  add_rows(flags, program.flags);
  add_rows(flags, flags_of_every_program());
  return text + flags.render(plain, "  ");
}

}  // namespace titan::cli
