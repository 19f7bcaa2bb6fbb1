#include "cli/kit/command_line.h"

#include <gmock/gmock.h>
#include <sstream>

#include "cli/kit/verb.h"

namespace titan::cli::command_line_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

ckpt::Result<Answer> nothing(const Request&) { return Answer{}; }

Program program() {
  return {"tool",
          "does things",
          {{"ls",
            {{"RUN", Names::kRun}},
            "lists",
            {{"tensors", "GLOB", "a glob"}, {"config", "", "a switch"}, {"out", "FILE", "a file", 'o'}},
            nothing},
           {"run", {{"CONFIG"}}, "runs", {{"set", "K=V", "sets", 0, Repeat::kMany}}, nothing},
           {"many", {{.name = "RUN...", .many = true}}, "takes several", {}, nothing}},
          {{"json", "", "as JSON"}, {"color", "WHEN", "colour"}}};
}

ckpt::Result<Command> parse(std::vector<std::string> words) { return parse_command_line(program(), words); }

TEST(CommandLine, TakesFlagsBeforeAndAfterTheVerb) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"--json", "--color", "never", "ls", "run", "-o", "x.npy", "--config"},
        {"ls", "--config", "--out=x.npy", "run", "--json", "--color=never"},
        {"ls", "-o", "x.npy", "--config", "--json", "--color", "never", "--", "run"}}) {
    const auto command = parse(words);
    ASSERT_TRUE(command.ok()) << command.status().to_string();
    EXPECT_EQ(command->verb, "ls");
    EXPECT_THAT(command->positionals, ElementsAre("run"));
    EXPECT_TRUE(command->has("json"));
    EXPECT_TRUE(command->has("config"));
    EXPECT_FALSE(command->has("tensors"));
    EXPECT_EQ(command->value("out"), "x.npy");
    EXPECT_EQ(command->value("color"), "never");
  }
}

TEST(CommandLine, TakesAVerbsNameAsAnArgumentAndAnythingAfterTwoDashes) {
  EXPECT_THAT(parse({"ls", "run"})->positionals, ElementsAre("run"));
  EXPECT_THAT(parse({"ls", "--", "-odd"})->positionals, ElementsAre("-odd"));
}

TEST(CommandLine, TheLastArgumentMayBeGivenManyTimes) {
  EXPECT_THAT(parse({"many", "a", "b", "--json", "c"})->positionals, ElementsAre("a", "b", "c"));
  EXPECT_FALSE(parse({"many"}).ok());
  EXPECT_FALSE(parse({"ls", "a", "b"}).ok());
}

TEST(CommandLine, DoesNotLetAFlagEatThePositionalsAfterItsValue) {
  const auto command = parse({"run", "--set", "a=1", "x.toml", "--set=b=c=d"});
  ASSERT_TRUE(command.ok()) << command.status().to_string();
  EXPECT_THAT(command->positionals, ElementsAre("x.toml"));
  EXPECT_THAT(command->values.at("set"), ElementsAre("a=1", "b=c=d"));
}

TEST(CommandLine, CollectsDottedOverridesInBothForms) {
  std::vector<std::string> words{
      "run", "x.toml", "--model.n_layers=12", "--optimizer.lr", "-2", "--a.b=c=d", "--a.switch", "--json", "--a.last"};
  const std::vector<Override> taken = take_overrides(words, [](const std::string& key) { return key == "a.switch"; });
  std::vector<std::pair<std::string, std::vector<std::string>>> found;
  for (const Override& one : taken) found.emplace_back(one.key, one.words);
  EXPECT_THAT(found, ElementsAre(Pair("model.n_layers", ElementsAre("--model.n_layers=12")),
                                 Pair("optimizer.lr", ElementsAre("--optimizer.lr", "-2")),
                                 Pair("a.b", ElementsAre("--a.b=c=d")), Pair("a.switch", ElementsAre("--a.switch")),
                                 Pair("a.last", ElementsAre("--a.last"))));
  EXPECT_THAT(words, ElementsAre("run", "x.toml", "--json"));
}

TEST(CommandLine, RefusesWithAReasonAndAHint) {
  struct Case {
    std::vector<std::string> words;
    ckpt::Code code;
    const char *message, *hint;
  };
  using enum ckpt::Code;
  const Case cases[] = {
      {{}, kInvalid, "a verb is missing", "`tool --help`"},
      {{"sl"}, kInvalid, "unknown verb `sl`", "did you mean `ls`?"},
      {{"frobnicate"}, kInvalid, "unknown verb `frobnicate`", "`tool --help` lists the verbs"},
      {{"ls"}, kInvalid, "`ls` needs RUN", "`tool ls --help`"},
      {{"ls", "a", "b"}, kInvalid, "unexpected argument `b` of `ls`", "`tool ls --help`"},
      {{"ls", "a", "--tensor=*"}, kInvalid, "unknown flag `--tensor` of `ls`", "did you mean `--tensors`?"},
      {{"ls", "a", "--jsno"}, kInvalid, "unknown flag `--jsno`", "did you mean `--json`?"},
      {{"ls", "a", "--model.dim=3"}, kInvalid, "unknown flag `--model.dim` of `ls`", "`tool ls --help`"},
      {{"ls", "a", "-z"}, kInvalid, "unknown flag `-z`", "`tool ls --help`"},
      {{"ls", "a", "-o"}, kInvalid, "-o", "`tool ls --help`"},
      {{"ls", "a", "-o", "x", "-o", "y"}, kInvalid, "`--out` is given 2 times, expected once", ""},
  };
  for (const Case& c : cases) {
    const auto command = parse(c.words);
    const std::string typed = ::testing::PrintToString(c.words);
    ASSERT_FALSE(command.ok()) << typed;
    EXPECT_EQ(command.status().code, c.code) << typed;
    EXPECT_THAT(command.status().message, HasSubstr(c.message)) << typed;
    EXPECT_THAT(command.status().hint, HasSubstr(c.hint)) << typed;
  }
}

TEST(CommandLine, SaysWhichCommandWasMeant) {
  Program known = program();
  known.keys = [] { return std::vector<std::string>{"a.b"}; };
  known.meant_by_path = [](const std::string& path) { return "tool run " + path; };
  known.verb_aliases = {{{"show", "lst"}, "other inspect CKPT"}};
  const struct {
    std::vector<std::string> words;
    const char *message, *hint;
  } cases[] = {
      {{"my.toml"}, "unknown verb `my.toml`", "did you mean `tool run my.toml`?"},
      {{"a/b"}, "unknown verb `a/b`", "did you mean `tool run a/b`?"},
      {{"run@4", "--json"}, "unknown verb `run@4`", "did you mean `tool run run@4`?"},
      {{"sl"}, "unknown verb `sl`", "did you mean `ls`?"},
      {{"show", "x"}, "unknown verb `show`", "did you mean `other inspect CKPT`?"},
      {{"lst"}, "unknown verb `lst`", "did you mean `other inspect CKPT`?"},
      {{"--set", "a.b=1", "my.toml"}, "unknown verb `my.toml`", "did you mean `tool run my.toml`?"},
      {{"--set", "a.b=1", "run", "my.toml"}, "`--set` is before the verb", "write it after `tool run`"},
      {{"-o", "x", "ls", "a"}, "`-o` is before the verb", "write it after `tool ls`"},
      {{"--set", "run", "my.toml"}, "`--set` is before the verb", "write it after `tool run`"},
      {{"run", "my.toml", "a.b=1"}, "unexpected argument `a.b=1` of `run`", "did you mean `--a.b=1`?"},
      {{"run", "my.toml", "a.c=1"}, "unexpected argument `a.c=1` of `run`", "`tool run --help`"},
  };
  for (const auto& c : cases) {
    const ckpt::Status status = parse_command_line(known, c.words).status();
    const std::string typed = ::testing::PrintToString(c.words);
    EXPECT_EQ(status.code, ckpt::Code::kInvalid) << typed;
    EXPECT_THAT(status.message, HasSubstr(c.message)) << typed;
    EXPECT_THAT(status.hint, HasSubstr(c.hint)) << typed;
  }
}

TEST(CommandLine, HelpAndVersionNeedNothingElse) {
  EXPECT_TRUE(parse({"--help"})->help);
  EXPECT_TRUE(parse({"--version"})->version);
  EXPECT_TRUE(parse({"--licenses"})->licenses);
  const auto verb = parse({"ls", "-h"});
  ASSERT_TRUE(verb.ok());
  EXPECT_TRUE(verb->help);
  EXPECT_EQ(verb->verb, "ls");
}

TEST(Help, ListsEveryVerbAndEveryFlagOfTheTable) {
  const Program p = program();
  for (const Verb& verb : p.verbs) {
    EXPECT_THAT(help_text(p), HasSubstr("\n  " + verb.name)) << verb.name;
    for (const Flag& flag : verb.flags) EXPECT_THAT(help_text(p, verb.name), HasSubstr("--" + flag.name)) << flag.name;
    for (const Flag& flag : p.flags) EXPECT_THAT(help_text(p, verb.name), HasSubstr("--" + flag.name)) << flag.name;
  }
  EXPECT_THAT(help_text(p, "ls"), HasSubstr("-o, --out FILE"));
  std::istringstream narrow(help_text(p, "ls", 40));
  for (std::string line; std::getline(narrow, line);) EXPECT_LE(line.size(), 40u) << line;
}

}  // namespace
}  // namespace titan::cli::command_line_test
