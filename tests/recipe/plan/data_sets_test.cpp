#include "recipe/plan/data_sets.h"

#include <gmock/gmock.h>

#include "tests/recipe/support/config_support.h"

namespace titan::recipe::data_sets_test {
namespace {

using ::testing::HasSubstr;

TEST(DataSets, AreReadFromTablesAndFromTheCommandLineAlike) {
  const Config tables = load_ok(
                            "[[training.datasets]]\npath = \"my texts/web\"\nweight = 0.7\n"
                            "[[training.datasets]]\npath = \"code.txt\"\nweight = 3\nepochs = 2\nexhausted = \"stop\"\n"
                            "[[training.datasets]]\npath = \"books\"\nexhausted = \"drop\"\n",
                            {})
                            .config;
  const Config flags = load_ok("", {"--training.datasets=path=my texts/web weight=0.7,path=code.txt weight=3 epochs=2 "
                                    "exhausted=stop,path=books exhausted=drop"})
                           .config;
  for (const Config& config : {tables, flags}) {
    const auto sets = data_set_choices(config);
    ASSERT_TRUE(sets.ok()) << sets.status().to_string();
    ASSERT_EQ(sets->size(), 3u);
    EXPECT_EQ((*sets)[0].path, "my texts/web");
    EXPECT_EQ((*sets)[0].weight, 0.7);
    EXPECT_EQ((*sets)[0].epochs, 0u);
    EXPECT_EQ((*sets)[1].epochs, 2u);
    EXPECT_TRUE((*sets)[1].stops);
    EXPECT_EQ((*sets)[2].epochs, 1u);
    EXPECT_FALSE((*sets)[2].stops);
    EXPECT_EQ((*sets)[2].weight, 1);
  }
}

TEST(DataSets, AreRefusedWithAReason) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"path=a weight=0"}, "expected a number above 0 as weight, found \"0\""},
      {{"path=a weight=-1"}, "expected a number above 0 as weight"},
      {{"path=a weight=nan"}, "expected a number above 0 as weight"},
      {{"path=a weight=inf"}, "expected a number above 0 as weight"},
      {{"path=a epochs=0"}, "from 1 to 1000000000 as epochs"},
      {{"path=a epochs=1.5"}, "from 1 to 1000000000 as epochs"},
      {{"weight=1"}, "it has no path"},
      {{"a.txt"}, "unknown word \"a.txt\""},
      {{"path=a wight=0.6"}, "unknown key \"wight\" (did you mean weight?)"},
      {{"epoch=2 path=a"}, "unknown key \"epoch\" (did you mean epochs?)"},
      {{"path=a path=b"}, "path is there twice"},
      {{"path=a exhausted=never"}, "expected repeat, stop or drop"},
      {{"path=a epochs=2 exhausted=repeat"}, "what repeats has no number of epochs"},
      {{"path=a", "path=a weight=2"}, "another set has this path"},
  };
  for (const auto& [items, message] : cases) {
    Config config;
    config.training.datasets = items;
    EXPECT_THAT(data_set_choices(config).status().message, HasSubstr(message)) << items[0];
  }
  Config both;
  both.training.datasets = {"path=a"};
  both.training.dataset_path = "b";
  Config list;
  list.training.datasets = {"path=a", "b"};
  EXPECT_THAT(data_set_choices(list).status().hint, HasSubstr("commas divide sets"));
  EXPECT_THAT(data_set_choices(both).status().message, HasSubstr("are both set"));
}

}  // namespace
}  // namespace titan::recipe::data_sets_test
