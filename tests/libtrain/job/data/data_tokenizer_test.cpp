#include "libtrain/job/data/data_tokenizer.h"

#include <gmock/gmock.h>

#include "corpus/token_data.h"
#include "recipe/keys/config.h"
#include "tests/support/scratch_dir.h"

namespace titan::train::data_tokenizer_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::string folder(const ScratchDir& dir, const std::string& name, const std::string& tokenizer) {
  corpus::TokenData data;
  data.tokens = data.documents = 1;
  data.tokenizer = ckpt::digest_of(tokenizer);
  data.shards = {{"t", "e", 1, 1, {}, {}}};
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
  const auto places = tokenizer_of_data(config);
  EXPECT_TRUE(places.ok()) << places.status().to_string();
  std::vector<std::string> names;
  for (const ckpt::ModelFilePlace& place : *places) names.push_back(place.member);
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
  EXPECT_EQ(tokenizer_of_data(config).status().code, ckpt::Code::kInvalid) << "one id stands for two texts";
  config.training.dataset_path = one;
  config.validation.dataset_path = other;
  EXPECT_TRUE(tokenizer_of_data(config).ok()) << "nothing is validated";
  config.validation.enable = true;
  EXPECT_THAT(tokenizer_of_data(config).status().message, ::testing::HasSubstr("validation.dataset_path: "));
  EXPECT_THAT(members(one, "text"), IsEmpty());
  EXPECT_THAT(members(dir.write("raw.bin", "abcd")), IsEmpty());
}

TEST(DataTokenizer, AnotherOneThanTheWeightsIsTold) {
  const std::vector<ckpt::ModelFilePlace> data = {{"", "d/tokenizer.json", "hf/tokenizer.json", ckpt::digest_of("a")}};
  EXPECT_EQ(other_tokenizer({{"hf/tokenizer.json", {}, ckpt::digest_of("a")}}, data), "");
  EXPECT_NE(other_tokenizer({{"hf/tokenizer.json", {}, ckpt::digest_of("b")}}, data), "");
  EXPECT_EQ(other_tokenizer({}, data), "");
  EXPECT_EQ(other_tokenizer({{"hf/tokenizer.json", {}, ckpt::digest_of("b")}}, {}), "");
}

}  // namespace
}  // namespace titan::train::data_tokenizer_test
