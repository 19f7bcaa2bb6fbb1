#include "corpus/tokenize.h"

#include <gmock/gmock.h>

#include "corpus/inspect_tokens.h"
#include "tests/recipe/support/small_tokenizer.h"
#include "tests/support/files.h"
#include "tests/support/mem_fs.h"

namespace titan::corpus::tokenize_test {
namespace {

using ckpt::Code;
using ckpt::testing::get_text;
using ckpt::testing::MemFs;
using ckpt::testing::put_text;
using ckpt::testing::tree;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Tokenize : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(put_text(fs, "/t/tokenizer.json", recipe::testing::small_tokenizer()).ok());
    ASSERT_TRUE(put_text(fs, "/t/tokenizer_config.json", R"({"eos_token":"<eos>"})").ok());
    ASSERT_TRUE(put_text(fs, "/a.jsonl", "{\"text\":\"hello\"}\n{\"text\":\"\"}\n{\"text\":\"hell he\"}\n").ok());
    options.input.inputs = {"/a.jsonl"};
    options.tokenizer = "/t";
    options.dst = "/out";
    options.threads = 2;
  }
  std::vector<std::uint16_t> ids() {
    const std::string bytes = get_text(fs, "/out/tokens-00000.bin");
    std::vector<std::uint16_t> found(bytes.size() / 2);
    std::copy(bytes.begin(), bytes.end(), reinterpret_cast<char*>(found.data()));
    return found;
  }

  MemFs fs;
  TokenizeOptions options;
};

TEST_F(Tokenize, MakesAFolderOfDocuments) {
  const auto report = tokenize(fs, options);
  ASSERT_TRUE(report.ok()) << report.status().to_string();
  EXPECT_THAT(ids(), ElementsAre(259, 300, 257, 256, 260, 300));
  EXPECT_EQ(report->data.documents, 2u);
  EXPECT_EQ(report->data.tokens, 6u);
  EXPECT_EQ(report->data.longest, 4u);
  EXPECT_EQ(report->data.text_bytes, 12u);
  EXPECT_EQ(report->empty, 1u);
  EXPECT_THAT(tree(fs, "/out"), ElementsAre("data.json", "ends-00000.bin", "tokenizer.json", "tokenizer_config.json",
                                            "tokens-00000.bin"));
  const auto data = read_token_data(fs, "/out");
  ASSERT_TRUE(data.ok()) << data.status().to_string();
  EXPECT_EQ(*data, report->data);
}

TEST_F(Tokenize, BordersAreTheTokenizersOrAsAsked) {
  options.before = "he";
  options.behind = "";
  ASSERT_TRUE(tokenize(fs, options).ok());
  EXPECT_THAT(ids(), ElementsAre(257, 259, 257, 257, 256, 260));
  options.dst = "/none";
  options.before = "no token";
  EXPECT_EQ(tokenize(fs, options).status().code, Code::kInvalid);
  ASSERT_TRUE(fs.remove_file("/t/tokenizer_config.json").ok());
  options.before.reset();
  options.behind.reset();
  const auto unsure = tokenize(fs, options);
  ASSERT_FALSE(unsure.ok()) << "nothing says what ends a document";
  EXPECT_THAT(unsure.status().hint, HasSubstr("--eos"));
}

TEST_F(Tokenize, OfPromptsAndCompletionsTheLatterAreTrainedOn) {
  ASSERT_TRUE(put_text(fs, "/p.jsonl",
                       "{\"prompt\":\"hell\",\"completion\":\"hello\"}\n{\"prompt\":\"\",\"completion\":\"he\"}\n")
                  .ok());
  options.input.inputs = {"/p.jsonl"};
  options.completions = true;
  options.before = "he";
  const auto report = tokenize(fs, options);
  ASSERT_TRUE(report.ok()) << report.status().to_string();
  EXPECT_THAT(ids(), ElementsAre(257, 257, 256, 259, 300, 257, 257, 300));
  EXPECT_EQ(report->data.trained, 4u);
  const std::string bytes = get_text(fs, "/out/answers-00000.bin");
  std::vector<std::uint64_t> answers(bytes.size() / 8);
  std::copy(bytes.begin(), bytes.end(), reinterpret_cast<char*>(answers.data()));
  EXPECT_THAT(answers, ElementsAre(3, 5, 6, 8)) << "with the end of each";
  const auto data = read_token_data(fs, "/out");
  ASSERT_TRUE(data.ok()) << data.status().to_string();
  EXPECT_EQ(*data, report->data);
  InspectTokensOptions inspected;
  inspected.folder = "/out";
  inspected.verify = true;
  EXPECT_TRUE(inspect_tokens(fs, inspected).ok());
  ASSERT_TRUE(fs.remove_file("/out/answers-00000.bin").ok());
  ASSERT_TRUE(put_text(fs, "/out/answers-00000.bin", std::string(32, '\1')).ok());
  EXPECT_EQ(inspect_tokens(fs, inspected).status().code, Code::kCorrupt);

  options.dst = "/dry";
  options.dry_run = true;
  EXPECT_EQ(tokenize(fs, options)->data.trained, 4u);
  options.dry_run = false;
  options.input.inputs = {"/a.jsonl"};
  EXPECT_EQ(tokenize(fs, options).status().code, Code::kInvalid);
  ASSERT_TRUE(put_text(fs, "/a.txt", "hello").ok());
  options.input.inputs = {"/a.txt"};
  EXPECT_THAT(tokenize(fs, options).status().message, HasSubstr("is text, and prompts and answers"));
}

TEST_F(Tokenize, ThreadsAndPortionsShapeNoByte) {
  std::string lines;
  for (int i = 0; i < 20000; ++i)
    lines += "{\"text\":\"hello " + std::to_string(i * i) + std::string(i % 300, 'l') + "\"}\n";
  ASSERT_TRUE(put_text(fs, "/b.jsonl", lines).ok());
  options.input.inputs = {"/b.jsonl", "/a.jsonl"};
  options.shard_bytes = 200000;
  std::vector<std::string> one, other;
  for (const unsigned threads : {1u, 4u}) {
    options.threads = threads;
    options.dst = "/out" + std::to_string(threads);
    const auto report = tokenize(fs, options);
    ASSERT_TRUE(report.ok()) << report.status().to_string();
    EXPECT_GT(report->data.shards.size(), 5u);
    for (const std::string& name : tree(fs, options.dst))
      (threads == 1 ? one : other).push_back(get_text(fs, options.dst + "/" + name));
  }
  EXPECT_EQ(one, other);
}

TEST_F(Tokenize, ErrorsNameTheDocumentAndLeaveNothing) {
  ASSERT_TRUE(put_text(fs, "/bad.jsonl", "{\"text\":\"a\"}\n{\"no\":1}\n").ok());
  options.input.inputs = {"/a.jsonl", "/bad.jsonl"};
  const auto report = tokenize(fs, options);
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.status().code, Code::kInvalid);
  EXPECT_THAT(report.status().message, HasSubstr("'/bad.jsonl', line 2"));
  EXPECT_THAT(tree(fs, "/"), ElementsAre("a.jsonl", "bad.jsonl", "t/", "t/tokenizer.json", "t/tokenizer_config.json"));
}

TEST_F(Tokenize, TextThatIsNotUtf8IsRefusedOrMended) {
  ASSERT_TRUE(put_text(fs, "/latin.txt", "caf\xe9!").ok());
  options.input.inputs = {"/latin.txt"};
  const auto report = tokenize(fs, options);
  ASSERT_FALSE(report.ok());
  EXPECT_THAT(report.status().to_string(), HasSubstr("offset 3"));
  EXPECT_THAT(report.status().hint, HasSubstr("--replace-malformed"));
  options.replace_malformed = true;
  ASSERT_TRUE(tokenize(fs, options).ok());
  EXPECT_THAT(ids(), ElementsAre('c', 'a', 'f', 0xef, 0xbf, 0xbd, '!', 300));
}

TEST_F(Tokenize, HalfACharacterIsRefusedOrMended) {
  ASSERT_TRUE(put_text(fs, "/half.jsonl", "{\"text\":\"a\\ud800\"}\n{\"text\":\"\\ude00\\ude00b\"}\n").ok());
  options.input.inputs = {"/half.jsonl"};
  EXPECT_THAT(tokenize(fs, options).status().to_string(), HasSubstr("'/half.jsonl', line "));
  options.replace_malformed = true;
  ASSERT_TRUE(tokenize(fs, options).ok());
  EXPECT_THAT(ids(), ElementsAre('a', 0xef, 0xbf, 0xbd, 300, 0xef, 0xbf, 0xbd, 0xef, 0xbf, 0xbd, 'b', 300));
}

TEST_F(Tokenize, BytesOfNoTextAreSaid) {
  ASSERT_TRUE(put_text(fs, "/z.txt", std::string("ab\0c", 4)).ok());
  ASSERT_TRUE(put_text(fs, "/bin", std::string("ab\0\xff", 4)).ok());
  options.input.inputs = {"/a.jsonl", "/z.txt", "/z.txt"};
  const auto report = tokenize(fs, options);
  ASSERT_TRUE(report.ok()) << report.status().to_string();
  EXPECT_THAT(report->warnings, ElementsAre("read as often as named: /z.txt",
                                            "'/z.txt', document 0 has a NUL byte at offset 2: is it text? (and 1 more "
                                            "document)"));
  options.input.inputs = {"/bin"};
  options.dst = "/bin.out";
  EXPECT_THAT(tokenize(fs, options).status().hint, HasSubstr("it has NUL bytes"));
}

TEST_F(Tokenize, ReplacesOnlyAFolderOfTokens) {
  ASSERT_TRUE(tokenize(fs, options).ok());
  EXPECT_EQ(tokenize(fs, options).status().code, Code::kInvalid);
  options.force = true;
  EXPECT_TRUE(tokenize(fs, options).ok());
  options.dst = "/t";
  EXPECT_EQ(tokenize(fs, options).status().code, Code::kInvalid);
}

TEST_F(Tokenize, LosesNoFileOfSomebodyElse) {
  ASSERT_TRUE(tokenize(fs, options).ok());
  options.force = true;
  options.input.inputs = {"/out/tokenizer.json"};
  EXPECT_THAT(tokenize(fs, options).status().message,
              HasSubstr("the source /out/tokenizer.json lies inside the destination /out"));
  for (const char* name : {"/out/README.md", "/out/tokens-1.bin", "/out/ends-0000x.bin", "/out/notes-00000.bin"}) {
    ASSERT_TRUE(put_text(fs, name, "hello").ok());
    options.input.inputs = {"/a.jsonl"};
    for (const bool dry : {true, false}) {
      options.dry_run = dry;
      EXPECT_THAT(tokenize(fs, options).status().message,
                  HasSubstr("also holds '" + std::string(name).substr(5) + "': it is never replaced"));
    }
    EXPECT_EQ(get_text(fs, name), "hello");
    ASSERT_TRUE(fs.remove_file(name).ok());
  }
  ASSERT_TRUE(fs.make_dir("/out/tokens-00007.bin").ok());
  EXPECT_THAT(tokenize(fs, options).status().message, HasSubstr("also holds 'tokens-00007.bin'"));
  ASSERT_TRUE(fs.remove_dir("/out/tokens-00007.bin").ok());
  options.tokenizer = "/out";
  EXPECT_TRUE(tokenize(fs, options).ok()) << "its own tokenizer is written again";
}

TEST_F(Tokenize, ADryRunWritesNothing) {
  options.dry_run = true;
  const auto report = tokenize(fs, options);
  ASSERT_TRUE(report.ok()) << report.status().to_string();
  EXPECT_EQ(report->data.tokens, 6u);
  EXPECT_FALSE(report->written);
  EXPECT_FALSE(fs.stat("/out").ok());
}

TEST_F(Tokenize, AStopLeavesNothing) {
  ckpt::CancelSource source;
  source.request(ckpt::StopReason::kTerminate);
  options.cancel = ckpt::CancelToken(source);
  EXPECT_EQ(tokenize(fs, options).status().code, Code::kTerminated);
  EXPECT_FALSE(fs.stat("/out").ok());
}

TEST_F(Tokenize, NoDocumentAtAllIsAnError) {
  ASSERT_TRUE(put_text(fs, "/empty.txt", "").ok());
  options.input.inputs = {"/empty.txt"};
  EXPECT_EQ(tokenize(fs, options).status().code, Code::kInvalid);
  EXPECT_FALSE(fs.stat("/out").ok());
}

}  // namespace
}  // namespace titan::corpus::tokenize_test
