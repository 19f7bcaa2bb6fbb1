#include "libtrain/job/host/program_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

namespace titan::train::program_folder_test {
namespace {

using ::testing::EndsWith;

TEST(ProgramFolder, APartIsLookedForBesideTheProgramAndThenInAFolderBesideItsOwn) {
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe");
  EXPECT_EQ(path_beside_program(self.filename(), "lib"), self.string());
  EXPECT_THAT(path_beside_program("no such part", "lib"), EndsWith("/../lib/no such part"));
}

}  // namespace
}  // namespace titan::train::program_folder_test
