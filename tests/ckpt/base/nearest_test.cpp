#include "ckpt/base/nearest.h"

#include <gmock/gmock.h>

namespace titan::ckpt::nearest_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(EditDistance, CountsInsertionsDeletionsSubstitutionsAndSwaps) {
  struct Case {
    const char *a, *b;
    std::size_t distance;
  };
  for (const Case& c :
       {Case{"", "", 0}, Case{"", "abc", 3}, Case{"cat", "cat", 0}, Case{"cta", "cat", 1}, Case{"ca", "cat", 1},
        Case{"verfiy", "verify", 1}, Case{"kitten", "sitting", 3}, Case{"inspect", "ispetc", 2}}) {
    EXPECT_EQ(edit_distance(c.a, c.b), c.distance) << c.a << " " << c.b;
    EXPECT_EQ(edit_distance(c.b, c.a), c.distance) << c.b << " " << c.a;
  }
}

TEST(Nearest, FindsTyposAndPrefixesNearestFirst) {
  const std::vector<std::string> verbs{"ls", "inspect", "verify", "diff", "cat"};
  EXPECT_THAT(nearest("verfy", verbs), ElementsAre("verify"));
  EXPECT_THAT(nearest("insp", verbs), ElementsAre("inspect"));
  EXPECT_THAT(nearest("sl", verbs), ElementsAre("ls"));
  EXPECT_THAT(nearest("differ", verbs), ElementsAre("diff"));
  EXPECT_THAT(nearest("frobnicate", verbs), IsEmpty());
}

TEST(Nearest, DoesNotCallAnyShortWordATypoOfAnother) {
  EXPECT_THAT(nearest("xy", {"ls"}), IsEmpty());
  EXPECT_THAT(nearest("x", {"ls"}), IsEmpty());
  EXPECT_THAT(nearest("", {"ls", "cat"}), IsEmpty());
}

TEST(Nearest, KeepsTheGivenOrderAmongEqualsAndTheLimit) {
  EXPECT_THAT(nearest("layers.x", {"layers.0", "layers.1", "layers.2", "layers.3"}),
              ElementsAre("layers.0", "layers.1", "layers.2"));
  EXPECT_THAT(nearest("layers.x", {"layers.12", "layers.1"}, 1), ElementsAre("layers.1"));
}

TEST(DidYouMean, WritesOneTwoAndThreeNames) {
  EXPECT_EQ(did_you_mean("ca", {"cat"}), "did you mean `cat`?");
  EXPECT_EQ(did_you_mean("abcd", {"abce", "abcf"}), "did you mean `abce` or `abcf`?");
  EXPECT_EQ(did_you_mean("abcd", {"abce", "abcf", "abcg", "abch"}), "did you mean `abce`, `abcf` or `abcg`?");
  EXPECT_EQ(did_you_mean("zzzzzz", {"cat"}), "");
}

}  // namespace
}  // namespace titan::ckpt::nearest_test
