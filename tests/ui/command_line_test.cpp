#include "cli/ui/command_line.h"

#include <gmock/gmock.h>

namespace titan::ui {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

Program program() {
  return {"tool",
          "does things",
          {{"ls",
            {"RUN"},
            "lists",
            {{"tensors", "GLOB", "a glob"},
             {"config", "", "a switch"},
             {"out", "FILE", "a file", 'o'},
             {"stats", "", "later", 0, Built::kNotYet}}},
           {"run", {"CONFIG"}, "runs", {{"set", "K=V", "sets", 0, Built::kYes, Repeat::kMany}}, Built::kYes, true},
           {"plot", {}, "later", {}, Built::kNotYet}},
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

TEST(CommandLine, DoesNotLetAFlagEatThePositionalsAfterItsValue) {
  const auto command = parse({"run", "--set", "a=1", "x.toml", "--set=b=c=d"});
  ASSERT_TRUE(command.ok()) << command.status().to_string();
  EXPECT_THAT(command->positionals, ElementsAre("x.toml"));
  EXPECT_THAT(command->values.at("set"), ElementsAre("a=1", "b=c=d"));
}

TEST(CommandLine, CollectsDottedOverridesInBothForms) {
  const auto command = parse({"run", "x.toml", "--model.n_layers=12", "--optimizer.lr", "-2", "--a.b=c=d"});
  ASSERT_TRUE(command.ok()) << command.status().to_string();
  EXPECT_THAT(command->overrides,
              ElementsAre(Pair("model.n_layers", "12"), Pair("optimizer.lr", "-2"), Pair("a.b", "c=d")));
  EXPECT_THAT(command->positionals, ElementsAre("x.toml"));
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
      {{"run", "x", "--model.dim"}, kInvalid, "`--model.dim` needs a value", "`--model.dim=VALUE`"},
      {{"plot", "--anything", "a"}, kUnsupported, "`tool plot` is not supported yet", ""},
      {{"ls", "a", "--stats"}, kUnsupported, "`ls --stats` is not supported yet", ""},
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

TEST(CommandLine, HelpAndVersionNeedNothingElse) {
  EXPECT_TRUE(parse({"--help"})->help);
  EXPECT_TRUE(parse({"--version"})->version);
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
}

}  // namespace
}  // namespace titan::ui
