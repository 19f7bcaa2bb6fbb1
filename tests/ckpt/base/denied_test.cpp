#include "ckpt/base/denied.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace titan::ckpt::denied_test {
namespace {

using Kind = Obstacle::Kind;
using ::testing::HasSubstr;

Obstacle of_root(Kind kind, const std::string& path, std::uint32_t mode) { return {kind, path, 0, mode, "root"}; }

TEST(ObstacleText, SaysWhoseThingLacksWhichRightAndWhatToDo) {
  const User user{1000, "ada"};
  EXPECT_EQ(obstacle_text(of_root(Kind::kChange, "perm", 0755), user),
            "the folder perm belongs to root (uid 0), mode rwxr-xr-x: user ada (uid 1000) may not make or remove "
            "anything in it; ask the owner for that right, "
            "or choose another place");
  EXPECT_THAT(
      obstacle_text(of_root(Kind::kPass, "a", 0700), user),
      HasSubstr("the folder a belongs to root (uid 0), mode rwx------: user ada (uid 1000) may not pass through it"));
  EXPECT_THAT(obstacle_text(of_root(Kind::kList, "a", 0711), user),
              HasSubstr("mode rwx--x--x: user ada (uid 1000) may not list it"));
  EXPECT_THAT(
      obstacle_text(of_root(Kind::kWrite, "a/run.lock", 0644), user),
      HasSubstr("the file a/run.lock belongs to root (uid 0), mode rw-r--r--: user ada (uid 1000) may not write it"));
  EXPECT_THAT(obstacle_text({Kind::kRead, "f", 7, 0600, ""}, {8, ""}),
              HasSubstr("the file f belongs to uid 7, mode rw-------: user uid 8 may not read it"));
  EXPECT_EQ(obstacle_text({Kind::kList, "mine", 1000, 0311, "ada"}, user),
            "the folder mine is this user's own, but its mode is -wx--x--x: chmod u+rx mine, or choose another place");
  EXPECT_THAT(
      obstacle_text(of_root(Kind::kElse, "f", 0777), user),
      HasSubstr("which allows it to user ada (uid 1000): an access list, the file server or a security module"));
  EXPECT_EQ(obstacle_text({Kind::kFile, "afile", 0, 0644, "root"}, user),
            "afile is a file, expected a folder: choose another name, or move that file away");
  EXPECT_THAT(obstacle_text({Kind::kReadOnly, "ro/x", 0, 0, ""}, user),
              HasSubstr("the file system of ro/x is mounted read-only"));
  EXPECT_EQ(obstacle_text({}, user), "");
}

TEST(FindObstacle, NamesTheFileThatStandsWhereAFolderIsExpected) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("titan-denied-" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  const std::string file = folder / "afile";
  std::ofstream(file) << "x";
  EXPECT_EQ(find_obstacle(ENOTDIR, file + "/checkpoint/run.lock", "open of the lock").path, file);
  EXPECT_EQ(find_obstacle(ENOTDIR, file, "opendir").path, file);
  EXPECT_EQ(find_obstacle(ENOTDIR, file, "opendir").kind, Kind::kFile);
  EXPECT_EQ(find_obstacle(ENOTDIR, (folder / "absent" / "x").string(), "open").kind, Kind::kNone)
      << "nothing that can be seen";
  EXPECT_EQ(find_obstacle(EIO, file, "open").kind, Kind::kNone);
  // Whoever runs this may do everything here: then it is something else than the mode.
  EXPECT_EQ(find_obstacle(EACCES, file, "open").kind, Kind::kElse);
  std::filesystem::remove_all(folder);
}

TEST(FindObstacle, NamesTheLinkThatLeadsNowhereOrToItself) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("titan-denied-links-" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  const std::string dead = folder / "dead", loop = folder / "loop";
  std::filesystem::create_symlink("absent/disk", dead);
  std::filesystem::create_symlink("loop", loop);
  for (const std::string& path : {dead, dead + "/r1"})
    EXPECT_EQ(obstacle_text(find_obstacle(ENOENT, path, "mkdir"), {}),
              dead + " is a link to absent/disk, which does not exist: is it mounted? Make that folder, or choose " +
                  "another place");
  EXPECT_EQ(find_obstacle(ELOOP, loop + "/r1", "mkdir").kind, Kind::kLoop);
  EXPECT_EQ(find_obstacle(ELOOP, dead, "open").kind, Kind::kNone) << "no loop: a link that is not followed";
  EXPECT_EQ(find_obstacle(ENOENT, folder / "absent" / "x", "mkdir").kind, Kind::kNone);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace titan::ckpt::denied_test
