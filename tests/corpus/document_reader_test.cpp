#include "corpus/document_reader.h"

#include <gmock/gmock.h>

#include "tests/support/files.h"
#include "tests/support/mem_fs.h"

namespace titan::corpus::document_reader_test {
namespace {

using ckpt::Code;
using ckpt::testing::MemFs;
using ckpt::testing::put_text;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

ckpt::Result<std::vector<std::string>> documents(MemFs& fs, InputOptions options, std::size_t wanted = 10) {
  TITAN_ASSIGN_OR_RETURN(DocumentReader reader, DocumentReader::open(fs, std::move(options)));
  std::vector<std::string> found;
  while (true) {
    RawDocuments raw;
    TITAN_RETURN_IF_ERROR(reader.fill(wanted, raw));
    if (raw.places.empty()) return found;
    for (const auto& place : raw.places)
      found.push_back(std::to_string(place.input) + (place.json ? "j" : "t") + std::to_string(place.number) + ":" +
                      raw.bytes.substr(place.begin, place.end - place.begin));
  }
}

TEST(DocumentReader, AFileOfTextIsADocument) {
  MemFs fs;
  ASSERT_TRUE(put_text(fs, "/d/b.txt", "two\nlines").ok());
  ASSERT_TRUE(put_text(fs, "/d/a.txt", "one").ok());
  ASSERT_TRUE(put_text(fs, "/d/empty.txt", "").ok());
  ASSERT_TRUE(put_text(fs, "/d/.hidden", "no").ok());
  ASSERT_TRUE(put_text(fs, "/d/sub/c.txt", "no").ok());
  for (const std::size_t wanted : {1, 4, 1000})
    EXPECT_THAT(*documents(fs, {.inputs = {"/d", "/d/a.txt"}}, wanted),
                ElementsAre("0t1:one", "1t1:two\nlines", "3t1:one"))
        << wanted;
}

TEST(DocumentReader, APatternNamesFiles) {
  MemFs fs;
  for (const char* path : {"/d/b.txt", "/d/a.txt", "/d/c.md", "/d/.txt", "/d/e*/x", "/d/odd[1]"})
    ASSERT_TRUE(put_text(fs, path, path).ok());
  EXPECT_THAT(*documents(fs, {.inputs = {"/d/[ab]*.txt", "/d/e*", "/d/odd[1]"}}),
              ElementsAre("0t1:/d/a.txt", "1t1:/d/b.txt", "2t1:/d/e*/x", "3t1:/d/odd[1]"));
  ASSERT_TRUE(put_text(fs, "/d/odd[1]*/s/f.txt", "f").ok());
  ASSERT_TRUE(put_text(fs, "/d/odd[1]*/t/f.txt", "g").ok());
  EXPECT_THAT(*documents(fs, {.inputs = {"/*/a.txt"}}), ElementsAre("0t1:/d/a.txt")) << "in the name of a folder";
  EXPECT_THAT(*documents(fs, {.inputs = {"/d/odd*/*/f.???"}}), ElementsAre("0t1:f", "1t1:g")) << "in several";
  EXPECT_THAT(*documents(fs, {.inputs = {"/d/odd[1]*/?/f.txt"}}), ElementsAre("0t1:f", "1t1:g")) << "a literal name";
  for (const char* pattern : {"/d/*.pdf", "/nowhere/*", "/*/b.pdf", "/d/*/*/nothing", "/d/a.txt/*"})
    EXPECT_THAT(documents(fs, {.inputs = {pattern}}).status().message, HasSubstr("nothing fits it as a pattern"));
}

TEST(DocumentReader, FilesThatAreNamedTwiceAreSaid) {
  MemFs fs;
  for (const char* path : {"/d/b.txt", "/d/a.txt"}) ASSERT_TRUE(put_text(fs, path, path).ok());
  const auto warnings = [&](std::vector<std::string> inputs) {
    return DocumentReader::open(fs, {.inputs = std::move(inputs)})->warnings();
  };
  EXPECT_THAT(warnings({"/d/a.txt", "/d/b.txt"}), ElementsAre());
  EXPECT_THAT(warnings({"/d/*.txt", "/d/./b.txt", "/d/b.txt"}), ElementsAre("read as often as named: /d/b.txt"));
}

TEST(DocumentReader, SeparatorsCutATextAndGo) {
  MemFs fs;
  ASSERT_TRUE(put_text(fs, "/a", "one<|end|>two<|end|><|end|>three").ok());
  EXPECT_THAT(*documents(fs, {.inputs = {"/a"}, .separator = "<|end|>"}, 1),
              ElementsAre("0t1:one", "0t2:two", "0t4:three"));
}

TEST(DocumentReader, ASeparatorMayLieAcrossTwoReads) {
  MemFs fs;
  const std::string first(ckpt::kSignatureBytes - 3, 'x');  // as much is read to look at it
  ASSERT_TRUE(put_text(fs, "/a", first + "<|end|>y").ok());
  const auto found = documents(fs, {.inputs = {"/a"}, .separator = "<|end|>"}, 1);
  EXPECT_THAT(*found, ElementsAre("0t1:" + first, "0t2:y"));
}

TEST(DocumentReader, LinesOfJsonAreDocuments) {
  MemFs fs;
  ASSERT_TRUE(put_text(fs, "/a.jsonl", "{\"text\":\"a\"}\n\n  \n{\"text\":\"b\"}").ok());
  EXPECT_THAT(*documents(fs, {.inputs = {"/a.jsonl"}}), ElementsAre("0j1:{\"text\":\"a\"}", "0j4:{\"text\":\"b\"}"));
  ASSERT_TRUE(put_text(fs, "/b.txt", "{\"text\":\"a\"}\n{\"text\":\"b\"}\n").ok());
  EXPECT_EQ(documents(fs, {.inputs = {"/b.txt"}})->size(), 2u) << "by how it begins";
  EXPECT_EQ(documents(fs, {.inputs = {"/b.txt"}, .format = InputFormat::kText})->size(), 1u) << "unless it is said";
}

TEST(DocumentReader, AByteOrderMarkIsNoPartOfJson) {
  MemFs fs;
  const std::string mark = "\xef\xbb\xbf", line = "{\"text\":\"a\"}";
  for (const char* path : {"/a.jsonl", "/a"}) {
    ASSERT_TRUE(put_text(fs, path, mark + line + "\n" + line + "\n").ok());
    EXPECT_THAT(*documents(fs, {.inputs = {path}}), ElementsAre("0j1:" + line, "0j2:" + line)) << path;
  }
  ASSERT_TRUE(put_text(fs, "/b.txt", mark + "text").ok());
  EXPECT_THAT(*documents(fs, {.inputs = {"/b.txt"}}), ElementsAre("0t1:" + mark + "text"));
  auto reader = DocumentReader::open(fs, {.inputs = {"/b.txt", "/a.jsonl"}});
  RawDocuments out;
  ASSERT_TRUE(reader.ok() && reader->fill(100, out).ok());
  EXPECT_THAT(reader->warnings(), ElementsAre("'/b.txt' begins with a byte order mark, which is taken as text"));
}

TEST(DocumentReader, StandardInputIsAFile) {
  MemFs fs;
  bool read = false;
  const auto input = [&](std::span<char> out) -> ckpt::Result<std::size_t> {
    if (read) return std::size_t{0};
    read = true;
    std::copy_n("abc", 3, out.begin());
    return std::size_t{3};
  };
  EXPECT_THAT(*documents(fs, {.inputs = {"-"}, .standard_input = input}), ElementsAre("0t1:abc"));
  EXPECT_FALSE(documents(fs, {.inputs = {"-"}}).ok());
}

TEST(DocumentReader, RefusesWhatIsNoText) {
  MemFs fs;
  ASSERT_TRUE(put_text(fs, "/a.parquet", std::string("PAR1") + std::string(100, '\0') + "PAR1").ok());
  ASSERT_TRUE(fs.make_dir("/none").ok());
  for (const char* path : {"/a.parquet", "/none", "/not-there"}) {
    const auto found = documents(fs, {.inputs = {path}});
    ASSERT_FALSE(found.ok()) << path;
    EXPECT_EQ(found.status().code, Code::kInvalid) << path;
  }
  EXPECT_THAT(documents(fs, {.inputs = {"/a.parquet"}}).status().hint, HasSubstr("lines=True"));
}

TEST(DocumentReader, ADocumentHasALimit) {
  MemFs fs;
  const auto endless = [](std::span<char> out) -> ckpt::Result<std::size_t> {
    std::fill(out.begin(), out.end(), 'x');
    return out.size();
  };
  const auto found = documents(fs, {.inputs = {"-"}, .standard_input = endless});
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.status().code, Code::kInvalid);
  EXPECT_THAT(found.status().hint, HasSubstr("--split"));
}

TEST(DocumentReader, WhatLooksLikeSomethingElseThanTextIsSaid) {
  MemFs fs;
  const auto warnings = [&](const std::string& name, const std::string& text, InputOptions options = {}) {
    EXPECT_TRUE(put_text(fs, name, text).ok());
    options.inputs = {name};
    auto reader = DocumentReader::open(fs, options);
    RawDocuments out;
    EXPECT_TRUE(reader.ok() && reader->fill(1, out).ok());
    return reader->warnings();
  };
  EXPECT_THAT(warnings("/list.json", " [\n {\"text\": 1}]"),
              ElementsAre(HasSubstr("looks like JSON, and is taken as")));
  EXPECT_THAT(warnings("/object", "{\n \"a\": 1}"), ElementsAre(HasSubstr("'/object' looks like JSON")));
  EXPECT_THAT(warnings("/page", "<!DOCTYPE html>"), ElementsAre(HasSubstr("looks like a web page")));
  EXPECT_THAT(warnings("/a.jsonl", "{\"text\":\"a\"}", {.format = InputFormat::kText}),
              ElementsAre(HasSubstr("looks like JSON lines, and is taken as text: --format jsonl")));
  EXPECT_TRUE(warnings("/b.jsonl", "{\"text\":\"a\"}").empty());
  for (const char* text : {"[Music] and words", "{braces}", "[1] a note", "words", "{"})
    EXPECT_TRUE(warnings(std::string("/") + text[1], text).empty()) << text;
}

TEST(DocumentReader, HalfACharacterIsNamed) {
  EXPECT_EQ(lone_surrogate(R"(a \ud83d\ude00 \\ud800 \u0041)"), std::nullopt)
      << "a pair, an escaped backslash, a letter";
  EXPECT_EQ(lone_surrogate(R"(ab\ud800)"), 2u);
  EXPECT_EQ(lone_surrogate(R"(\ud800\ud83d\ude00)"), 0u);
  EXPECT_EQ(lone_surrogate(R"(\n\ude00)"), 2u);
  EXPECT_EQ(lone_surrogate(R"(\ud800\u0041)", 6), std::nullopt);
  EXPECT_EQ(lone_surrogate("\\"), std::nullopt);
  const ckpt::Status refused = text_of_line("line 7", R"({"text": "a\ud800"})", "text").status();
  EXPECT_EQ(refused.code, Code::kInvalid);
  EXPECT_THAT(refused.message, HasSubstr("line 7 has the escape \\ud800 at offset 11, which is half of a character"));
  EXPECT_THAT(refused.hint, HasSubstr("--replace-malformed"));
}

TEST(DocumentReader, ALineThatIsNotUtf8SaysWhereAndWhatHelps) {
  const ckpt::Status refused = text_of_line("line 7", "{\"text\": \"a\xe9\"}", "text").status();
  EXPECT_EQ(refused.code, Code::kInvalid);
  EXPECT_THAT(refused.message, HasSubstr("line 7: the text is not UTF-8 (at offset 11)"));
  EXPECT_THAT(refused.hint, HasSubstr("--replace-malformed"));
}

TEST(DocumentReader, TextOfALine) {
  EXPECT_EQ(*text_of_line("l", R"({"id": 3, "meta": {"text": "no"}, "text": "a\nb\u00e9"})", "text"), "a\nb\xc3\xa9");
  EXPECT_EQ(*text_of_line("l", R"({"body":""})", "body"), "");
  for (const char* line : {R"({"id": 3})", R"({"text": 3})", R"({"text": "a", "text": "b"})", R"(["text"])",
                           R"({"text": "a"} x)", R"({"text": "\ud800"})", "{\"text\": \"\xff\"}", ""})
    EXPECT_EQ(text_of_line("l", line, "text").status().code, Code::kInvalid) << line;
}

TEST(DocumentReader, HostileLinesAreOneErrorEach) {
  const std::string deep(200'000, '['), wide(1'000'000, ',');
  for (const std::string& line :
       {"{\"a\":" + deep, "{\"a\":" + deep + std::string(deep.size(), ']') + ",\"text\":\"x\"}", "{" + wide + "}",
        "{\"text\":1" + std::string(100'000, '0') + "}", "{\"text\":\"" + std::string(100'000, '\\'),
        std::string("{\"text\":\"a\0b\"}", 16), std::string(R"({"text":"\ud83d\ud83d"})")})
    EXPECT_EQ(text_of_line("l", line, "text").status().code, Code::kInvalid) << line.substr(0, 40);
}

}  // namespace
}  // namespace titan::corpus::document_reader_test
