#include "ckpt/plan/file_makers.h"

#include <gmock/gmock.h>

namespace titan::ckpt::file_makers_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(FileMakers, DealsTheRanksOfAHostEvenlyToTheLowestOfEachGroup) {
  const std::vector<std::string> one(5, "a");
  EXPECT_THAT(file_makers(one, 1), ElementsAre(0, 0, 0, 0, 0));
  EXPECT_THAT(file_makers(one, 2), ElementsAre(0, 0, 2, 2, 2));
  EXPECT_THAT(file_makers(one, 4), ElementsAre(0, 1, 2, 3, 3));
  EXPECT_THAT(file_makers(one, 5), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(file_makers(one, 100), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(file_makers({}, 4), IsEmpty());
}

TEST(FileMakers, NoFileIsOfTwoHosts) {
  const std::vector<std::string> hosts{"a", "b", "a", "b", "b", "c"};
  EXPECT_THAT(file_makers(hosts, 1), ElementsAre(0, 1, 0, 1, 1, 5));
  EXPECT_THAT(file_makers(hosts, 2), ElementsAre(0, 1, 2, 3, 3, 5));
}

}  // namespace
}  // namespace titan::ckpt::file_makers_test
