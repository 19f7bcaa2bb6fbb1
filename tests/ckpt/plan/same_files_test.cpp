#include "ckpt/plan/same_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

namespace titan::ckpt::same_files_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

DataFile file(const std::string& name, const std::string& content) {
  return {name, content.size(), digest_of(content)};
}

const std::vector<DataFile> kStored = {file("a", "first"), file("b", "second one"), file("c", "third")};

TEST(SameFiles, TheSameFilesNeedNoNote) {
  const FileMatch match = match_files(kStored, kStored);
  EXPECT_TRUE(match.same);
  EXPECT_THAT(match.order, ElementsAre(0, 1, 2));
  EXPECT_EQ(same_files_note(match), "");
  EXPECT_EQ(other_files_note(match), "");
}

TEST(SameFiles, RenamedFilesAreFoundByTheirContents) {
  const FileMatch match =
      match_files(kStored, std::vector{file("a", "third"), file("m", "second one"), file("z", "first")});
  EXPECT_TRUE(match.same);
  EXPECT_THAT(match.order, ElementsAre(2, 1, 0));
  EXPECT_EQ(same_files_note(match),
            "data: same contents under other names: taken (a is z now, b is m now, c is a now), and read in the "
            "checkpoint's order");
  EXPECT_EQ(same_files_note(
                match_files(kStored, std::vector{file("a", "first"), file("bb", "second one"), file("c", "third")})),
            "data: same contents under another name: taken (b is bb now)");
}

TEST(SameFiles, AnotherOrderAloneIsSaid) {
  const FileMatch match = match_files(kStored, std::vector{kStored[2], kStored[0], kStored[1]});
  EXPECT_THAT(match.order, ElementsAre(1, 2, 0));
  EXPECT_EQ(same_files_note(match), "data: the same files in another order: read in the checkpoint's order");
}

TEST(SameFiles, OfEqualFilesThoseThatKeptTheirNameArePairedFirst) {
  const std::vector<DataFile> stored = {file("x", "same"), file("y", "same"), file("y", "same")};
  const FileMatch match = match_files(stored, std::vector{file("y", "same"), file("new", "same"), file("y", "same")});
  EXPECT_THAT(match.order, ElementsAre(1, 0, 2));
  EXPECT_THAT(match.renamed, ElementsAre("x is new now"));
}

TEST(SameFiles, EmptyFilesCountOnNeitherSide) {
  const std::vector<DataFile> there = {file("_SUCCESS", ""), kStored[0], kStored[1], kStored[2]};
  EXPECT_TRUE(match_files(kStored, there).same);
  EXPECT_THAT(match_files(there, kStored).order, ElementsAre(0, 1, 2));
  EXPECT_EQ(same_files_note(match_files(there, kStored)), "");
}

TEST(SameFiles, WhatDiffersIsNamed) {
  const auto note = [](std::vector<DataFile> there) {
    const FileMatch match = match_files(kStored, there);
    EXPECT_FALSE(match.same);
    EXPECT_THAT(match.order, IsEmpty());
    EXPECT_EQ(same_files_note(match), "");
    return other_files_note(match);
  };
  EXPECT_EQ(note({kStored[0], kStored[1]}), "removed: c");
  EXPECT_EQ(note({kStored[0], kStored[1], kStored[2], file("d", "new")}), "added: d");
  EXPECT_EQ(note({kStored[0], kStored[1], kStored[2], kStored[2]}), "added: c") << "twice where it was once";
  EXPECT_EQ(note({kStored[0], kStored[1], file("c", "THIRD")}), "changed: c (other contents of 5 bytes)");
  EXPECT_EQ(note({file("a", "first, and more"), kStored[1], file("x", "new")}),
            "changed: a (5 bytes, 15 now); added: x; removed: c");
  EXPECT_EQ(note({file("other", "first"), file("d", "new"), kStored[1], kStored[2]}), "added: d")
      << "a file that was only renamed is no difference";
  EXPECT_EQ(note({}), "removed: a, b, c");
}

TEST(SameFiles, TenThousandFilesArePairedInOnePass) {
  std::vector<DataFile> stored, there;
  for (int i = 0; i < 10'000; ++i)
    stored.push_back(file("old" + std::to_string(i), i % 2 == 0 ? "the same" : std::to_string(i)));
  for (int i = 10'000; i-- > 0;)
    there.push_back({"new" + std::to_string(i), stored[static_cast<std::size_t>(i)].bytes,
                     stored[static_cast<std::size_t>(i)].blocks});
  const FileMatch match = match_files(stored, there);
  EXPECT_TRUE(match.same);
  EXPECT_EQ(match.renamed.size(), 10'000u);
  std::vector<std::size_t> places = match.order, all(10'000);
  std::ranges::sort(places);
  std::iota(all.begin(), all.end(), std::size_t{0});
  EXPECT_EQ(places, all) << "each file once";
  for (std::size_t i = 0; i < stored.size(); ++i) EXPECT_EQ(there[match.order[i]].blocks, stored[i].blocks);
}

TEST(SameFiles, AFewAreNamed) {
  EXPECT_EQ(file_names(kStored), "a, b, c");
  EXPECT_EQ(file_names(kStored, 2), "a, b, and 1 more");
  EXPECT_EQ(file_names({}), "");
}

TEST(SameFiles, AsManyAreNamedAsFitIntoALine) {
  const std::vector<std::string> words = {"four", "more", "words", "!"};
  EXPECT_EQ(first_within(words, 10), "four, more, and 2 more");
  EXPECT_EQ(first_within(words, 1), "four, and 3 more") << "one at least";
  EXPECT_EQ(first_within(words, 100), "four, more, words, !");
  EXPECT_EQ(first_within({}, 100), "");
}

}  // namespace
}  // namespace titan::ckpt::same_files_test
