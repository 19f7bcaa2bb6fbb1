#include "corpus/dialogue.h"

#include <gmock/gmock.h>

#include "tests/support/files.h"
#include "tests/support/mem_fs.h"

namespace titan::corpus::dialogue_test {
namespace {

using ckpt::Code;
using ckpt::testing::MemFs;
using ckpt::testing::put_text;
using ::testing::HasSubstr;

const char* const kTemplate = R"({"roles":{"system":{"prefix":"<s>"},"user":{"prefix":"U:","suffix":"\n"},
  "assistant":{"prefix":"A:","suffix":"<end>"}}})";

/// "[...]" is trained on.
std::string shown(const ckpt::Result<std::vector<TextPart>>& parts) {
  if (!parts.ok()) return parts.status().message;
  std::string text;
  for (const TextPart& part : *parts) text += part.trained ? "[" + part.text + "]" : part.text;
  return text;
}

ChatTemplate chat() {
  MemFs fs;
  EXPECT_TRUE(put_text(fs, "/t.json", kTemplate).ok());
  return read_chat_template(fs, "/t.json").value();
}

TEST(Dialogue, ACompletionIsTrainedOnAndItsPromptIsNot) {
  EXPECT_EQ(shown(completion_parts("l", R"({"id":[1],"completion":"b\u00e9","prompt":"a "})")), "a [b\u00e9]");
  EXPECT_EQ(shown(completion_parts("l", R"({"prompt":"","completion":"b"})")), "[b]");
  EXPECT_EQ(shown(completion_parts("l", R"({"prompt":"a"})")), "l has no member 'completion'");
  EXPECT_EQ(shown(completion_parts("l", R"({"completion":"a"})")), "l has no member 'prompt'");
  EXPECT_THAT(shown(completion_parts("l", R"({"prompt":"a","completion":""})")), HasSubstr("an empty completion"));
  EXPECT_THAT(shown(completion_parts("l", R"({"prompt":"a","prompt":"b","completion":""})")),
              HasSubstr("is there twice"));
  EXPECT_EQ(completion_parts("l", "{\"prompt\":1}").status().code, Code::kInvalid);
}

TEST(Dialogue, MessagesOfTheAssistantAreTrainedOnWithWhatEndsThem) {
  const ChatTemplate strings = chat();
  EXPECT_EQ(shown(message_parts("l", R"({"messages":[{"role":"system","content":"be"},{"role":"user","content":"q"},
      {"content":"x","role":"assistant"},{"role":"user","content":"r"},{"role":"assistant","content":"y"}]})",
                                strings)),
            "<s>beU:q\nA:[x<end>]U:r\nA:[y<end>]");
  const auto refused = [&](const char* line) { return shown(message_parts("l", line, strings)); };
  EXPECT_THAT(refused(R"({"messages":[{"role":"tool","content":"x"}]})"), HasSubstr("nothing of the role 'tool'"));
  EXPECT_THAT(refused(R"({"messages":[{"role":"user","content":"x"}]})"),
              HasSubstr("no message of the role 'assistant'"));
  EXPECT_THAT(refused(R"({"messages":[{"role":"user"}]})"), HasSubstr("no member 'content'"));
  const auto bare = message_parts("l", R"({"messages":[{"role":"assistant","content":""}]})", {{{"assistant", {}}}});
  EXPECT_EQ(bare.status().code, Code::kInvalid) << "neither the answer nor the template has a text";
  EXPECT_THAT(refused(R"({"messages":[],"messages":[]})"), HasSubstr("there twice"));
  EXPECT_EQ(refused("{}"), "l has no member 'messages'");
}

TEST(Dialogue, AByteOrderMarkBeforeATemplateIsNoPartOfIt) {
  MemFs fs;
  ASSERT_TRUE(put_text(fs, "/t.json", std::string("\xef\xbb\xbf") + kTemplate).ok());
  const auto marked = read_chat_template(fs, "/t.json");
  ASSERT_TRUE(marked.ok()) << marked.status().to_string();
  EXPECT_EQ(marked->roles.at("user").prefix, "U:");
}

TEST(Dialogue, ATemplateIsPlainStrings) {
  const auto status = [](const char* name, const char* text) {
    MemFs fs;
    EXPECT_TRUE(put_text(fs, name, text).ok());
    return read_chat_template(fs, name).status();
  };
  MemFs none;
  EXPECT_EQ(read_chat_template(none, "/nowhere").status().code, Code::kInvalid);
  EXPECT_EQ(status("/t.jinja", "x").code, Code::kUnsupported);
  EXPECT_THAT(status("/t", "{% for m in messages %}").message, HasSubstr("a chat template in Jinja"));
  EXPECT_EQ(status("/c.json", R"({"chat_template":"{{ x }}"})").code, Code::kUnsupported);
  EXPECT_THAT(status("/t", R"({"roles":{"user":{}}})").message, HasSubstr("the role 'assistant'"));
  EXPECT_THAT(status("/t", R"({"rolls":{}})").message, HasSubstr("unknown member 'rolls'"));
  EXPECT_THAT(status("/t", R"({"roles":{"a":{"pre":""}}})").message, HasSubstr("unknown member 'pre'"));
  EXPECT_THAT(status("/t", R"({"roles":{"a":{},"a":{}}})").message, HasSubstr("there twice"));
}

}  // namespace
}  // namespace titan::corpus::dialogue_test
