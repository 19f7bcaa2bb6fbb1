#include "ckpt/base/path.h"

#include <gtest/gtest.h>

#include <tuple>

namespace titan::ckpt::path_test {
namespace {

TEST(Path, JoinPathPutsOneSlashBetween) {
  const std::tuple<const char*, const char*, const char*> cases[] = {
      {"a", "b", "a/b"}, {"a/", "b", "a/b"}, {"a//", "/b", "a/b"},   {"/", "b", "/b"},
      {"", "b", "b"},    {"a", "", "a"},     {"/a", "b/c", "/a/b/c"}};
  for (const auto& [a, b, joined] : cases) EXPECT_EQ(join_path(a, b), joined);
}

TEST(Path, APathHasAFolderAndAName) {
  const std::tuple<const char*, const char*, const char*> cases[] = {
      {"a", ".", "a"}, {"/a", "/", "a"}, {"a/b", "a", "b"}, {"/a/b/c", "/a/b", "c"}, {"a/", "a", ""}};
  for (const auto& [path, parent, name] : cases) {
    EXPECT_EQ(parent_path(path), parent) << path;
    EXPECT_EQ(base_name(path), name) << path;
  }
}

TEST(Path, SlashesAtTheEndAreCutAllButTheRoot) {
  const std::pair<const char*, const char*> cases[] = {{"a", "a"}, {"a/", "a"}, {"/a//", "/a"},
                                                       {"/", "/"}, {"//", "/"}, {"", ""}};
  for (const auto& [path, cut] : cases) EXPECT_EQ(without_slashes(path), cut) << path;
}

}  // namespace
}  // namespace titan::ckpt::path_test
