#include "recipe/keys/starter.h"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>

#include <gmock/gmock.h>

#include "recipe/plan/run_config.h"
#include "tests/recipe/support/config_support.h"

namespace titan::recipe::starter_test {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Starter, OwnTextTomlOnDiskIsTheOneThatInitWrites) {
  const std::string path = std::string(TITAN_SOURCE_DIR) + "/configs/own-text.toml";
  if (std::getenv("TITAN_UPDATE_GOLDEN")) std::ofstream(path, std::ios::binary) << starter_toml();
  std::ifstream file(path, std::ios::binary);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), starter_toml());
}

TEST(Starter, LoadsAndFitsATerminal) {
  for (const Starter& starter : {Starter{}, {"hf", 32000}, {"hf", 256}}) {
    const std::string text = starter_toml(starter);
    const LoadedConfig loaded = load_ok(text);
    EXPECT_TRUE(check_model(loaded.config).ok());
    EXPECT_TRUE(loaded.warnings.empty());
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 90u) << line;
  }
}

TEST(Starter, WeightsBringTheirModelAndTheirVocabularySaysWhichData) {
  const std::string ids = starter_toml({"a/b", 32000}), bytes = starter_toml({"a/b", 256});
  EXPECT_THAT(ids, HasSubstr("initial_load_path = \"a/b\""));
  EXPECT_THAT(ids, Not(HasSubstr("[model]\n")));
  EXPECT_THAT(ids, HasSubstr("dataset = \"tokens\""));
  EXPECT_THAT(ids, HasSubstr("below 32000"));
  EXPECT_THAT(bytes, HasSubstr("my-text.txt"));
}

}  // namespace
}  // namespace titan::recipe::starter_test
