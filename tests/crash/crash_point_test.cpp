// What a crash leaves: the model itself.
#include "tests/crash/crash_point.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/crash/crash_fs.h"
#include "tests/support/files.h"

namespace titan::crash::crash_point_test {
namespace {

using ckpt::testing::get_text;
using ::testing::Contains;
using ::testing::Not;

std::span<const std::byte> bytes(const std::string& text) { return std::as_bytes(std::span(text)); }

// Everything that may lie at `path` after a crash at the end of what `act` did; "<none>" where nothing does.
class CrashModel : public ::testing::Test {
 protected:
  CrashModel() {
    CrashFs fs{Disk()};
    EXPECT_TRUE(fs.make_dir("/d").ok());
    EXPECT_TRUE(ckpt::testing::put_text(fs, "/d/old", "old").ok());
    before_ = fs.disk();
  }

  std::set<std::string> after(const std::function<void(CrashFs&)>& act, const std::string& path) {
    CrashFs fs(before_);
    fs.record();
    act(fs);
    const CrashPoint point(before_, fs.log(), fs.log().size(), fs.disk());
    std::set<std::string> found;
    Choice choice;
    for (std::uint64_t number = 0; number < 5000 && point.choice(number, 1, &choice); ++number) {
      CrashFs crashed(point.build(choice));
      found.insert(crashed.stat(path).ok() ? get_text(crashed, path) : "<none>");
    }
    return found;
  }
  static std::unique_ptr<ckpt::File> create(CrashFs& fs, const std::string& path, const std::string& text) {
    auto file = fs.create(path);
    EXPECT_TRUE(file.ok());
    EXPECT_TRUE((*file)->pwrite(0, bytes(text)).ok());
    return std::move(*file);
  }

  Disk before_;
};

TEST_F(CrashModel, BytesAndNameOfANewFileAreLostApartUntilBothAreSynced) {
  const auto nothing = after([](CrashFs& fs) { create(fs, "/d/a", "text"); }, "/d/a");
  EXPECT_EQ(nothing, (std::set<std::string>{"<none>", "", "text", std::string(4, '\0')}));
  const auto file = after([](CrashFs& fs) { EXPECT_TRUE(create(fs, "/d/a", "text")->datasync().ok()); }, "/d/a");
  EXPECT_EQ(file, (std::set<std::string>{"<none>", "text"}));
  const auto folder = after(
      [](CrashFs& fs) {
        create(fs, "/d/a", "text");
        EXPECT_TRUE(fs.sync_dir("/d").ok());
      },
      "/d/a");
  EXPECT_EQ(folder, (std::set<std::string>{"", "text", std::string(4, '\0')}));
  const auto both = after(
      [](CrashFs& fs) {
        EXPECT_TRUE(create(fs, "/d/a", "text")->datasync().ok());
        EXPECT_TRUE(fs.sync_dir("/d").ok());
      },
      "/d/a");
  EXPECT_EQ(both, std::set<std::string>{"text"});
}

TEST_F(CrashModel, AWriteIsTornAtBordersOf512Bytes) {
  const std::string text = std::string(512, 'a') + std::string(512, 'b') + "c";
  const auto found = after(
      [&](CrashFs& fs) {
        create(fs, "/d/a", text);
        EXPECT_TRUE(fs.sync_dir("/d").ok());
      },
      "/d/a");
  EXPECT_THAT(found, Contains(text.substr(0, 512)));
  EXPECT_THAT(found, Contains(text.substr(0, 1024)));
  EXPECT_THAT(found, Contains(std::string(512, '\0') + text.substr(512)));
  EXPECT_THAT(found, Not(Contains(text.substr(0, 256))));
}

TEST_F(CrashModel, ARenameReplacesAsAWholeOrNotAtAll) {
  const auto found = after(
      [](CrashFs& fs) {
        EXPECT_TRUE(create(fs, "/d/a", "new")->datasync().ok());
        EXPECT_TRUE(fs.rename("/d/a", "/d/old").ok());
      },
      "/d/old");
  EXPECT_EQ(found, (std::set<std::string>{"old", "new"}));
}

TEST_F(CrashModel, ASyncOfEitherFolderKeepsARenameBetweenThem) {
  const auto move = [](CrashFs& fs) {
    EXPECT_TRUE(fs.make_dir("/e").ok());
    EXPECT_TRUE(fs.sync_dir("/").ok());
    EXPECT_TRUE(fs.rename_noreplace("/d/old", "/e/moved").ok());
  };
  EXPECT_EQ(after(move, "/e/moved"), (std::set<std::string>{"<none>", "old"}));
  EXPECT_EQ(after(
                [&](CrashFs& fs) {
                  move(fs);
                  EXPECT_TRUE(fs.sync_dir("/d").ok());
                },
                "/e/moved"),
            std::set<std::string>{"old"});
  EXPECT_EQ(after(
                [&](CrashFs& fs) {
                  move(fs);
                  EXPECT_TRUE(fs.sync_dir("/e").ok());
                },
                "/d/old"),
            std::set<std::string>{"<none>"});
}

TEST_F(CrashModel, ASyncDoesNotCoverWhatAnotherHostDid) {
  const auto found = after(
      [](CrashFs& fs) {
        fs.act_as(1);
        EXPECT_TRUE(create(fs, "/d/a", "text")->datasync().ok());
        fs.act_as(0);
        EXPECT_TRUE(fs.sync_dir("/d").ok());
      },
      "/d/a");
  EXPECT_EQ(found, (std::set<std::string>{"<none>", "text"}));
}

TEST_F(CrashModel, TwoNamesOfOneFileHaveTheSameBytesAfterACrash) {
  const auto link = [](CrashFs& fs) {
    auto file = create(fs, "/d/a", "text");
    EXPECT_TRUE(fs.link("/d/a", "/d/b").ok());
    EXPECT_TRUE(fs.sync_dir("/d").ok());
    EXPECT_TRUE(file->datasync().ok());
  };
  EXPECT_EQ(after(link, "/d/b"), std::set<std::string>{"text"});
}

TEST_F(CrashModel, ChoicesComeInTheSameOrderEveryTimeAndReadBackFromText) {
  CrashFs fs(before_);
  fs.record();
  for (const char* name : {"/d/a", "/d/b", "/d/c", "/d/e", "/d/f", "/d/g", "/d/h"})
    create(fs, name, std::string(2000, 'x'));
  const CrashPoint one(before_, fs.log(), fs.log().size(), fs.disk()),
      two(before_, fs.log(), fs.log().size(), fs.disk());
  Choice a, b;
  std::set<Choice> different;
  for (std::uint64_t number = 0; number < 500; ++number) {
    ASSERT_TRUE(one.choice(number, 7, &a));
    ASSERT_TRUE(two.choice(number, 7, &b));
    ASSERT_EQ(a, b);
    ASSERT_EQ(choice_from(choice_text(a)), a);
    different.insert(a);
  }
  EXPECT_GT(different.size(), 400u);
}

TEST_F(CrashModel, EqualNamesAndBytesAreOneStateWhateverTheInodes) {
  CrashFs one(before_), two(before_);
  create(one, "/d/a", "x");
  create(one, "/d/b", "y");
  create(two, "/d/b", "y");
  create(two, "/d/a", "x");
  EXPECT_EQ(one.disk().hash(), two.disk().hash());
  create(two, "/d/c", "");
  EXPECT_NE(one.disk().hash(), two.disk().hash());
}

}  // namespace
}  // namespace titan::crash::crash_point_test
