#include "libtrain/job/data/data_tokenizer.h"

#include <gmock/gmock.h>

#include <span>

#include "ckpt/base/fs_posix.h"
#include "ckpt/base/text.h"
#include "corpus/token_data.h"
#include "recipe/keys/config.h"
#include "tests/recipe/support/small_tokenizer.h"
#include "tests/support/scratch_dir.h"

namespace titan::train::data_tokenizer_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::string folder(const ScratchDir& dir, const std::string& name, const std::string& tokenizer,
                   std::vector<std::uint32_t> before = {}, std::vector<std::uint32_t> behind = {}) {
  corpus::TokenData data;
  data.tokens = data.documents = 1;
  data.tokenizer = ckpt::digest_of(tokenizer);
  data.shards = {{"t", "e", 1, 1, {}, {}}};
  data.before = std::move(before);
  data.behind = std::move(behind);
  dir.write(name + "/t", std::string(2, '\1'));
  dir.write(name + "/e", std::string(8, '\1'));
  dir.write(name + "/tokenizer.json", tokenizer);
  dir.write(name + "/data.json", corpus::write_token_data(data));
  return dir / name;
}

std::vector<std::string> members(const std::string& path, const char* dataset = "tokens") {
  recipe::Config config;
  config.training.dataset = dataset;
  config.training.dataset_path = path;
  const auto tokenizer = tokenizer_of_data(ckpt::posix_fs(), config);
  EXPECT_TRUE(tokenizer.ok()) << tokenizer.status().to_string();
  std::vector<std::string> names;
  for (const ckpt::ModelFilePlace& place : tokenizer->places) names.push_back(place.member);
  return names;
}

TEST(DataTokenizer, IsThatOfTheFolders) {
  const ScratchDir dir;
  const std::string one = folder(dir, "one", "a"), same = folder(dir, "same", "a"), other = folder(dir, "other", "b");
  dir.write("one/tokenizer_config.json", "{}");
  EXPECT_THAT(members(one), ElementsAre("hf/tokenizer.json", "hf/tokenizer_config.json"));
  EXPECT_THAT(members(same + "," + one), ElementsAre("hf/tokenizer.json"));
  recipe::Config config;
  config.training.dataset = "tokens";
  config.training.dataset_path = one + "," + other;
  EXPECT_EQ(tokenizer_of_data(ckpt::posix_fs(), config).status().code, ckpt::Code::kInvalid)
      << "one id stands for two texts";
  config.training.dataset_path = one;
  config.validation.dataset_path = other;
  EXPECT_TRUE(tokenizer_of_data(ckpt::posix_fs(), config).ok()) << "nothing is validated";
  config.validation.enable = true;
  EXPECT_THAT(tokenizer_of_data(ckpt::posix_fs(), config).status().message,
              ::testing::HasSubstr("validation.dataset_path: "));
  EXPECT_THAT(members(one, "text"), IsEmpty());
  EXPECT_THAT(members(dir.write("raw.bin", "abcd")), IsEmpty());
}

TEST(DataTokenizer, DocumentsBeginAndEndAsTheFoldersSay) {
  const ScratchDir dir;
  recipe::Config config;
  config.training.dataset = "tokens";
  config.training.dataset_path =
      folder(dir, "one", "a", {7}, {9, 11}) + "," + folder(dir, "two", "a", {7}, {8}) + "," + folder(dir, "three", "a");
  const auto tokenizer = tokenizer_of_data(ckpt::posix_fs(), config);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().to_string();
  EXPECT_EQ(tokenizer->begin, 7u);
  EXPECT_THAT(tokenizer->ends, ElementsAre(8u, 9u)) << "the first id behind a text ends it";
}

ckpt::ModelFile file(const std::string& member, const std::string& text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {member, {bytes.begin(), bytes.end()}, ckpt::digest_of(bytes)};
}

std::string text_of(const TakenFiles& taken, const std::string& member) {
  for (const ckpt::ModelFile& one : taken.files)
    if (one.member == member) return std::string(ckpt::text_of(one.bytes));
  return "none";
}

const std::string kSmall = recipe::testing::small_tokenizer();
/// The same tokens and ids, in other bytes; and another token under an id.
const std::string kSame = kSmall + "\n", kOther = [] {
  std::string text = kSmall;
  return text.replace(text.find("<eos>"), 5, "<end>");
}();

TEST(DataTokenizer, GoesAlongWhereNoneCameAndSaysWhatEndsAText) {
  const DataTokenizer data{{{"", "d/tokenizer.json", "hf/tokenizer.json", {}}}, 3, {300}};
  const TakenFiles taken = with_data_tokenizer({}, data, {file("hf/tokenizer.json", kSmall)});
  EXPECT_EQ(text_of(taken, "hf/tokenizer.json"), kSmall);
  EXPECT_EQ(text_of(taken, "hf/generation_config.json"), "{\n  \"eos_token_id\": 300,\n  \"bos_token_id\": 3\n}\n");
  EXPECT_EQ(text_of(taken, "hf/config.json"), "none") << "an export makes it";
  EXPECT_THAT(taken.of_data, ElementsAre("hf/tokenizer.json", "hf/generation_config.json"));
  EXPECT_THAT(taken.notes, IsEmpty());
  // What is said already is left as it is, as at every resume.
  const TakenFiles again = with_data_tokenizer(taken.files, data, {file("hf/tokenizer.json", kSmall)});
  EXPECT_THAT(again.of_data, IsEmpty());
  EXPECT_EQ(again.files.size(), 2u);
}

TEST(DataTokenizer, OfTheWeightsStaysWhereItsIdsAreTheSame) {
  const DataTokenizer data{{{"", "d/tokenizer.json", "hf/tokenizer.json", {}}}, {}, {300}};
  const std::vector<ckpt::ModelFile> own = {
      file("hf/config.json", R"({"eos_token_id": 2, "vocab_size": 301})"), file("hf/chat_template.jinja", "chat"),
      file("hf/generation_config.json", R"({"eos_token_id": [2, 5]})"), file("hf/tokenizer.json", kSame)};
  const TakenFiles taken = with_data_tokenizer(own, data, {file("hf/tokenizer.json", kSmall)});
  EXPECT_EQ(text_of(taken, "hf/tokenizer.json"), kSame);
  EXPECT_EQ(text_of(taken, "hf/chat_template.jinja"), "chat");
  EXPECT_THAT(text_of(taken, "hf/generation_config.json"), ::testing::HasSubstr("2,\n    5,\n    300"));
  EXPECT_THAT(text_of(taken, "hf/config.json"), ::testing::HasSubstr("2,\n    300"));
  EXPECT_THAT(taken.notes, IsEmpty());
}

TEST(DataTokenizer, TakesThePlaceOfAnotherOne) {
  const DataTokenizer data{{{"", "d/tokenizer.json", "hf/tokenizer.json", {}}}, {}, {300}};
  const std::vector<ckpt::ModelFile> own = {file("hf/config.json", R"({"eos_token_id": 2, "bos_token_id": 1})"),
                                            file("hf/generation_config.json", R"({"eos_token_id": 2})"),
                                            file("hf/tokenizer.json", kOther), file("hf/tokenizer.model", "old")};
  for (const std::string& theirs : {kOther, std::string("{")}) {
    std::vector<ckpt::ModelFile> files = own;
    files[2] = file("hf/tokenizer.json", theirs);
    const TakenFiles taken = with_data_tokenizer(files, data, {file("hf/tokenizer.json", kSmall)});
    EXPECT_EQ(text_of(taken, "hf/tokenizer.json"), kSmall);
    EXPECT_EQ(text_of(taken, "hf/tokenizer.model"), "none") << "it is of the other vocabulary";
    EXPECT_THAT(text_of(taken, "hf/config.json"), ::testing::HasSubstr("\"eos_token_id\": 300"));
    EXPECT_THAT(text_of(taken, "hf/config.json"), ::testing::HasSubstr("\"bos_token_id\": null"));
    EXPECT_EQ(text_of(taken, "hf/generation_config.json"), "{\n  \"eos_token_id\": 300\n}\n");
    EXPECT_EQ(taken.notes.size(), 1u);
  }
}

}  // namespace
}  // namespace titan::train::data_tokenizer_test
