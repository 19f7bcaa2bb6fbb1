// One suite for every file system: what PosixFs and MemFs promise alike.
#include "ckpt/base/fs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

#include "ckpt/base/files.h"
#include "ckpt/base/fs_posix.h"
#include "tests/support/files.h"
#include "tests/support/mem_fs.h"

namespace titan::ckpt::fs_test {
namespace {

using ::testing::ElementsAre;
using testing::get_text;
using ::testing::HasSubstr;
using testing::put_text;

std::span<const std::byte> bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

std::string read(File& file, std::uint64_t offset, std::size_t size) {
  std::string text(size, '?');
  Status status = file.pread(offset, std::as_writable_bytes(std::span(text)));
  return status.ok() ? text : "<" + status.message + ">";
}

enum class Kind { kPosix, kPosixFallback, kMemory };

class FsConformance : public ::testing::TestWithParam<Kind> {
 protected:
  FsConformance() {
    if (GetParam() == Kind::kMemory) {
      fs_ = std::make_unique<testing::MemFs>();
      root_ = "/run";
      EXPECT_TRUE(fs_->make_dir(root_).ok());
    } else {
      fs_ = make_posix_fs(GetParam() == Kind::kPosix ? NoReplace::kKernel : NoReplace::kFallback);
      root_ = temp_.path();
    }
  }
  std::string at(const std::string& name) const { return root_ + "/" + name; }
  Fs& fs() { return *fs_; }
  void symlink(const std::string& target, const std::string& path) {
    if (auto* memory = dynamic_cast<testing::MemFs*>(fs_.get())) {
      ASSERT_TRUE(memory->symlink(target, path).ok());
    } else {
      std::filesystem::create_symlink(target, path);
    }
  }

  testing::TempDir temp_;
  std::unique_ptr<Fs> fs_;
  std::string root_;
};

INSTANTIATE_TEST_SUITE_P(All, FsConformance, ::testing::Values(Kind::kPosix, Kind::kPosixFallback, Kind::kMemory),
                         [](const auto& info) {
                           return info.param == Kind::kMemory  ? "Memory"
                                  : info.param == Kind::kPosix ? "Posix"
                                                               : "PosixFallback";
                         });

TEST_P(FsConformance, ACreatedFileIsReadBackWhileOpenAndAfterwards) {
  auto file = fs().create(at("a"));
  ASSERT_TRUE(file.ok()) << file.status().message;
  ASSERT_TRUE((*file)->pwrite(0, bytes("hello")).ok());
  ASSERT_TRUE((*file)->pwrite(5, bytes(" world")).ok());
  ASSERT_TRUE((*file)->pwrite(0, bytes("J")).ok());
  EXPECT_EQ(read(**file, 0, 11), "Jello world");
  EXPECT_EQ(*(*file)->size(), 11u);
  ASSERT_TRUE((*file)->datasync().ok());
  ASSERT_TRUE((*file)->close().ok());
  EXPECT_EQ((*file)->close().code, Code::kFailed) << "a second close";
  EXPECT_EQ(get_text(fs(), at("a")), "Jello world");
}

TEST_P(FsConformance, CreateNeverOpensWhatExists) {
  ASSERT_TRUE(put_text(fs(), at("a"), "1").ok());
  ASSERT_TRUE(fs().make_dir(at("d")).ok());
  for (const char* name : {"a", "d"}) {
    auto file = fs().create(at(name));
    ASSERT_FALSE(file.ok());
    EXPECT_EQ(file.status().code, Code::kFailed);
    EXPECT_THAT(file.status().message, HasSubstr(at(name)));
  }
  EXPECT_EQ(get_text(fs(), at("a")), "1");
  EXPECT_EQ(fs().create(at("nowhere/a")).status().code, Code::kFailed);
}

TEST_P(FsConformance, OpenUpdateMakesAFileOrChangesOneAndFollowsALink) {
  symlink(at("f"), at("link"));
  for (const char* name : {"f", "f", "link"}) {
    auto file = fs().open_update(at(name));
    ASSERT_TRUE(file.ok()) << file.status().to_string();
    const std::uint64_t size = *(*file)->size();
    ASSERT_TRUE((*file)->pwrite(size, bytes("line\n")).ok());
    EXPECT_EQ(read(**file, size, 5), "line\n");
    ASSERT_TRUE((*file)->datasync().ok());
    EXPECT_TRUE((*file)->close().ok());
  }
  EXPECT_EQ(get_text(fs(), at("f")), "line\nline\nline\n");
  ASSERT_TRUE(fs().make_dir(at("d")).ok());
  EXPECT_EQ(fs().open_update(at("d")).status().code, Code::kFailed);
  EXPECT_EQ(fs().open_update(at("nowhere/f")).status().code, Code::kFailed);
}

TEST_P(FsConformance, OpenReadGivesOnlyRegularFilesForReading) {
  EXPECT_EQ(fs().open_read(at("a")).status().code, Code::kNotFound);
  ASSERT_TRUE(fs().make_dir(at("d")).ok());
  EXPECT_EQ(fs().open_read(at("d")).status().code, Code::kFailed);
  ASSERT_TRUE(put_text(fs(), at("f"), "x").ok());
  EXPECT_EQ(fs().open_read(at("f/g")).status().code, Code::kNotFound);
  auto file = fs().open_read(at("f"));
  ASSERT_TRUE(file.ok());
  EXPECT_EQ((*file)->pwrite(0, bytes("y")).code, Code::kFailed);
  EXPECT_EQ((*file)->truncate(0).code, Code::kFailed);
  EXPECT_EQ(get_text(fs(), at("f")), "x");
}

TEST_P(FsConformance, ReadingPastTheEndIsCorruptAndSaysWhere) {
  ASSERT_TRUE(put_text(fs(), at("a"), "12345").ok());
  auto file = fs().open_read(at("a"));
  ASSERT_TRUE(file.ok());
  for (std::uint64_t offset : {2, 5, 100}) {
    std::byte buffer[4];
    Status status = (*file)->pread(offset, buffer);
    EXPECT_EQ(status.code, Code::kCorrupt) << offset;
    EXPECT_THAT(status.message, HasSubstr(at("a")));
    EXPECT_THAT(status.message, HasSubstr(std::to_string(offset + 4)));
  }
  EXPECT_TRUE((*file)->pread(5, {}).ok()) << "nothing asked, nothing missing";
}

TEST_P(FsConformance, HolesAndGrownFilesReadAsZeros) {
  auto file = fs().create(at("sparse"));
  ASSERT_TRUE(file.ok());
  const std::uint64_t far = std::uint64_t{1} << 36;
  ASSERT_TRUE((*file)->pwrite(far, bytes("end")).ok());
  EXPECT_EQ(*(*file)->size(), far + 3);
  EXPECT_EQ(read(**file, far - 3, 6), std::string("\0\0\0end", 6));
  EXPECT_EQ(read(**file, 12345, 3), std::string(3, '\0'));
  ASSERT_TRUE((*file)->truncate(2).ok());
  ASSERT_TRUE((*file)->pwrite(0, bytes("ab")).ok());
  ASSERT_TRUE((*file)->truncate(1).ok());
  ASSERT_TRUE((*file)->truncate(4).ok());
  EXPECT_EQ(read(**file, 0, 4), std::string("a\0\0\0", 4)) << "cut bytes do not come back";
}

TEST_P(FsConformance, ListIsSortedAndTyped) {
  EXPECT_EQ(fs().list(at("no")).status().code, Code::kNotFound);
  ASSERT_TRUE(put_text(fs(), at("b"), "").ok());
  EXPECT_EQ(fs().list(at("b")).status().code, Code::kFailed) << "a file has no entries";
  ASSERT_TRUE(fs().make_dir(at("c")).ok());
  ASSERT_TRUE(put_text(fs(), at(".a"), "").ok());
  auto entries = fs().list(root_);
  ASSERT_TRUE(entries.ok());
  EXPECT_THAT(*entries, ElementsAre(DirEntry{".a", FileType::kFile}, DirEntry{"b", FileType::kFile},
                                    DirEntry{"c", FileType::kDirectory}));
}

TEST_P(FsConformance, StatTellsTypeSizeAndAbsence) {
  ASSERT_TRUE(put_text(fs(), at("f"), "123").ok());
  auto info = fs().stat(at("f"));
  ASSERT_TRUE(info.ok());
  EXPECT_EQ(info->type, FileType::kFile);
  EXPECT_EQ(info->size, 3u);
  EXPECT_GT(info->mtime_ns, std::int64_t{1'500'000'000} * 1'000'000'000);
  EXPECT_EQ(fs().stat(root_)->type, FileType::kDirectory);
  EXPECT_EQ(fs().stat(at("no")).status().code, Code::kNotFound);
  EXPECT_EQ(fs().stat(at("f/no")).status().code, Code::kNotFound);
  EXPECT_GT(*fs().free_bytes(root_), 0u);
  EXPECT_EQ(fs().free_bytes(at("no")).status().code, Code::kNotFound);
}

TEST_P(FsConformance, DirectoriesAreMadeOnceAndRemovedOnlyEmpty) {
  ASSERT_TRUE(fs().make_dir(at("d")).ok());
  EXPECT_EQ(fs().make_dir(at("d")).code, Code::kFailed);
  EXPECT_EQ(fs().make_dir(at("no/d")).code, Code::kFailed);
  ASSERT_TRUE(put_text(fs(), at("d/f"), "").ok());
  EXPECT_EQ(fs().remove_dir(at("d")).code, Code::kFailed);
  EXPECT_EQ(fs().remove_file(at("d")).code, Code::kFailed);
  ASSERT_TRUE(fs().remove_file(at("d/f")).ok());
  EXPECT_EQ(fs().remove_file(at("d/f")).code, Code::kNotFound);
  ASSERT_TRUE(fs().remove_dir(at("d")).ok());
  EXPECT_EQ(fs().remove_dir(at("d")).code, Code::kNotFound);
}

TEST_P(FsConformance, AnOpenFileSurvivesItsRemovalAndItsReplacement) {
  ASSERT_TRUE(put_text(fs(), at("a"), "old").ok());
  auto file = fs().open_read(at("a"));
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE(put_text(fs(), at("b"), "new").ok());
  ASSERT_TRUE(fs().rename(at("b"), at("a")).ok());
  EXPECT_EQ(read(**file, 0, 3), "old");
  EXPECT_EQ(get_text(fs(), at("a")), "new");
  EXPECT_EQ(fs().stat(at("b")).status().code, Code::kNotFound);
  ASSERT_TRUE(fs().remove_file(at("a")).ok());
  EXPECT_EQ(read(**file, 0, 3), "old");
}

TEST_P(FsConformance, RenameMovesDirectoriesButNeverOverAFullOne) {
  ASSERT_TRUE(put_text(fs(), at("d/sub/f"), "x").ok());
  ASSERT_TRUE(put_text(fs(), at("full/f"), "keep").ok());
  EXPECT_EQ(fs().rename(at("d"), at("full")).code, Code::kFailed);
  EXPECT_EQ(get_text(fs(), at("full/f")), "keep");
  ASSERT_TRUE(fs().rename(at("d"), at("e")).ok());
  EXPECT_EQ(get_text(fs(), at("e/sub/f")), "x");
  EXPECT_EQ(fs().rename(at("no"), at("x")).code, Code::kNotFound);
}

TEST_P(FsConformance, RenameNoReplaceMovesOnlyToAFreeName) {
  ASSERT_TRUE(put_text(fs(), at("dir/f"), "new").ok());
  ASSERT_TRUE(put_text(fs(), at("file"), "new").ok());
  ASSERT_TRUE(put_text(fs(), at("full/f"), "old").ok());
  ASSERT_TRUE(fs().make_dir(at("empty")).ok());
  ASSERT_TRUE(put_text(fs(), at("old"), "old").ok());
  for (const char* from : {"dir", "file"}) {
    for (const char* to : {"full", "empty", "old"}) {
      Status status = fs().rename_noreplace(at(from), at(to));
      EXPECT_EQ(status.code, Code::kFailed) << from << " over " << to;
      EXPECT_THAT(status.message, HasSubstr("exists"));
    }
  }
  EXPECT_EQ(get_text(fs(), at("old")), "old");
  EXPECT_EQ(get_text(fs(), at("full/f")), "old");
  EXPECT_TRUE(fs().list(at("empty"))->empty());
  ASSERT_TRUE(fs().rename_noreplace(at("dir"), at("dir2")).ok());
  ASSERT_TRUE(fs().rename_noreplace(at("file"), at("file2")).ok());
  EXPECT_EQ(get_text(fs(), at("dir2/f")), "new");
  EXPECT_EQ(get_text(fs(), at("file2")), "new");
  EXPECT_EQ(fs().stat(at("file")).status().code, Code::kNotFound);
  EXPECT_EQ(fs().rename_noreplace(at("no"), at("x")).code, Code::kNotFound);
}

TEST_P(FsConformance, SyncDirTakesDirectoriesOnly) {
  EXPECT_TRUE(fs().sync_dir(root_).ok());
  ASSERT_TRUE(put_text(fs(), at("f"), "").ok());
  EXPECT_EQ(fs().sync_dir(at("f")).code, Code::kFailed);
  EXPECT_EQ(fs().sync_dir(at("no")).code, Code::kFailed);
}

TEST_P(FsConformance, ALockIsExclusiveShowsItsHolderAndEndsWithItsObject) {
  auto first = fs().lock(at("lock"));
  ASSERT_TRUE(first.ok()) << first.status().message;
  ASSERT_TRUE((*first)->write("holder one, a long line").ok());
  ASSERT_TRUE((*first)->write("holder 1").ok());
  auto second = fs().lock(at("lock"));
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.status().code, Code::kLocked);
  EXPECT_THAT(second.status().causes, ElementsAre("holder 1"));
  EXPECT_EQ(get_text(fs(), at("lock")), "holder 1");
  first->reset();
  second = fs().lock(at("lock"));
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(get_text(fs(), at("lock")), "holder 1") << "taking a lock keeps the text";
  EXPECT_EQ(fs().lock(at("no/lock")).status().code, Code::kFailed);
}

TEST_P(FsConformance, ThreadsMayWriteTheirOwnRangesOfOneFile) {
  auto file = fs().create(at("shared"));
  ASSERT_TRUE(file.ok());
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&file, t] {
      for (int i = 0; i < 100; ++i)
        EXPECT_TRUE(
            (*file)
                ->pwrite(static_cast<std::uint64_t>(4 * i + t), bytes(std::string(1, static_cast<char>('a' + t))))
                .ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::string expected;
  for (int i = 0; i < 100; ++i) expected += "abcd";
  EXPECT_EQ(read(**file, 0, 400), expected);
}

TEST_P(FsConformance, MakeDirsMakesWhatIsMissingAndRefusesFilesOnTheWay) {
  ASSERT_TRUE(make_dirs(fs(), at("a/b//c/")).ok());
  ASSERT_TRUE(make_dirs(fs(), at("a/b/c")).ok());
  ASSERT_TRUE(make_dirs(fs(), at("a/b/d")).ok());
  EXPECT_THAT(testing::tree(fs(), root_), ElementsAre("a/", "a/b/", "a/b/c/", "a/b/d/"));
  ASSERT_TRUE(put_text(fs(), at("a/f"), "").ok());
  Status status = make_dirs(fs(), at("a/f/g"));
  EXPECT_EQ(status.code, Code::kFailed);
  EXPECT_THAT(status.message, HasSubstr("found a file"));
}

TEST_P(FsConformance, RemoveTreeRemovesEverythingAndMissingIsFine) {
  ASSERT_TRUE(put_text(fs(), at("t/a/b/f"), "").ok());
  ASSERT_TRUE(put_text(fs(), at("t/g"), "").ok());
  ASSERT_TRUE(put_text(fs(), at("stays"), "").ok());
  ASSERT_TRUE(remove_tree(fs(), at("t")).ok());
  ASSERT_TRUE(remove_tree(fs(), at("t")).ok());
  ASSERT_TRUE(remove_tree(fs(), at("t/below")).ok());
  EXPECT_THAT(testing::tree(fs(), root_), ElementsAre("stays"));
  ASSERT_TRUE(remove_tree(fs(), at("stays")).ok());
  EXPECT_TRUE(fs().list(root_)->empty());
}

TEST_P(FsConformance, ReadFileRefusesMoreThanItsLimit) {
  ASSERT_TRUE(put_text(fs(), at("f"), "12345").ok());
  EXPECT_EQ(read_file(fs(), at("f"), 5)->size(), 5u);
  EXPECT_EQ(read_file(fs(), at("f"), 4).status().code, Code::kCorrupt);
  EXPECT_EQ(read_file(fs(), at("no"), 4).status().code, Code::kNotFound);
}

TEST_P(FsConformance, ALinkIsASecondNameOfTheSameFile) {
  ASSERT_TRUE(put_text(fs(), at("a"), "text").ok());
  ASSERT_TRUE(fs().link(at("a"), at("b")).ok());
  ASSERT_TRUE(fs().remove_file(at("a")).ok());
  EXPECT_EQ(get_text(fs(), at("b")), "text");
  ASSERT_TRUE(put_text(fs(), at("c"), "other").ok());
  EXPECT_EQ(fs().link(at("b"), at("c")).code, Code::kFailed);
  EXPECT_EQ(get_text(fs(), at("c")), "other");
  EXPECT_EQ(fs().link(at("none"), at("d")).code, Code::kNotFound);
  ASSERT_TRUE(fs().make_dir(at("dir")).ok());
  EXPECT_EQ(fs().link(at("dir"), at("dir2")).code, Code::kUnsupported);
}

TEST_P(FsConformance, AnExchangeSwapsTwoNamesOrIsNotOffered) {
  ASSERT_TRUE(put_text(fs(), at("x/new/f"), "new").ok());
  ASSERT_TRUE(put_text(fs(), at("old/f"), "old").ok());
  const Status status = fs().exchange(at("x/new"), at("old"));
  const bool swapped = status.ok();
  EXPECT_TRUE(swapped || status.code == Code::kUnsupported) << status.to_string();
  EXPECT_EQ(get_text(fs(), at("old/f")), swapped ? "new" : "old");
  EXPECT_EQ(get_text(fs(), at("x/new/f")), swapped ? "old" : "new");
  EXPECT_EQ(fs().exchange(at("x/new"), at("none")).code, swapped ? Code::kNotFound : Code::kUnsupported);
}

TEST_P(FsConformance, TheRealPathIsOneSpellingForAll) {
  ASSERT_TRUE(put_text(fs(), at("d/f"), "").ok());
  const auto real = fs().real_path(at("d"));
  ASSERT_TRUE(real.ok()) << real.status().to_string();
  for (const char* spelling : {"d/", "./d", "d/../d", "d//."})
    EXPECT_EQ(*fs().real_path(at(spelling)), *real) << spelling;
  EXPECT_EQ(*fs().real_path(at("d/f")), *real + "/f");
  EXPECT_EQ(fs().real_path(at("none")).status().code, Code::kNotFound);
}

TEST_P(FsConformance, ALinkIsTypedAsOneAndFollowedOnTheWayOnly) {
  ASSERT_TRUE(put_text(fs(), at("d/f"), "text").ok());
  symlink("d", at("to-folder"));
  symlink(at("d/f"), at("to-file"));
  symlink("../d/../d", at("d/round"));
  symlink("nothing", at("dangling"));
  symlink("loop", at("loop"));
  for (const char* name : {"to-folder", "to-file", "d/round", "dangling", "loop"})
    EXPECT_EQ(fs().stat(at(name))->type, FileType::kLink) << name;
  EXPECT_THAT(*fs().list(root_), ::testing::Contains(DirEntry{"to-file", FileType::kLink}));
  EXPECT_EQ(get_text(fs(), at("to-folder/f")), "text");
  EXPECT_EQ(get_text(fs(), at("d/round/round/f")), "text");
  EXPECT_EQ(fs().open_read(at("to-file")).status().code, Code::kFailed) << "the last name is not followed";
  EXPECT_EQ(fs().create(at("dangling")).status().code, Code::kFailed);
  EXPECT_EQ(fs().stat(at("nothing")).status().code, Code::kNotFound) << "nothing came into being behind the link";
  EXPECT_EQ(fs().lock(at("to-file")).status().code, Code::kFailed);
  EXPECT_FALSE(fs().open_read(at("loop/f")).ok());
  EXPECT_THAT(*fs().list(at("to-folder")), ::testing::Contains(DirEntry{"f", FileType::kFile}));
  EXPECT_TRUE(fs().sync_dir(at("to-folder")).ok());
  ASSERT_TRUE(fs().rename(at("to-folder"), at("renamed")).ok()) << "the link itself, not the folder";
  EXPECT_EQ(fs().stat(at("renamed"))->type, FileType::kLink);
  ASSERT_TRUE(fs().remove_file(at("renamed")).ok());
  EXPECT_EQ(get_text(fs(), at("d/f")), "text");
}

TEST_P(FsConformance, TheRealPathFollowsEveryLink) {
  ASSERT_TRUE(put_text(fs(), at("d/f"), "").ok());
  symlink("d", at("one"));
  symlink(at("one/f"), at("two"));
  EXPECT_EQ(*fs().real_path(at("two")), *fs().real_path(at("d/f")));
  EXPECT_EQ(*fs().real_path(at("one/../one")), *fs().real_path(at("d")));
  symlink("nothing", at("dangling"));
  EXPECT_EQ(fs().real_path(at("dangling")).status().code, Code::kNotFound);
}

TEST_P(FsConformance, AMemberIsReachedThroughItsFolderAndThroughNoLinkBelowIt) {
  ASSERT_TRUE(put_text(fs(), at("outside/f"), "outside").ok());
  ASSERT_TRUE(put_text(fs(), at("step/model/f"), "inside").ok());
  symlink("../../outside/f", at("step/model/link"));
  symlink("../outside", at("step/hf"));
  symlink("model", at("step/near"));
  symlink("step", at("alias"));
  for (const char* folder : {"step", "alias"}) {
    for (const Access access : {Access::kCached, Access::kScan, Access::kUncached}) {
      auto file = fs().open_member(at(folder), "model/f", access);
      ASSERT_TRUE(file.ok()) << file.status().to_string();
      EXPECT_EQ(read(**file, 0, 6), "inside");
      EXPECT_EQ(read(**file, 3, 2), "id");
    }
    EXPECT_EQ(fs().stat_member(at(folder), "model/f")->size, 6u);
    EXPECT_EQ(fs().stat_member(at(folder), "model")->type, FileType::kDirectory);
    for (const std::string member : {"model/link", "hf/f", "near/f", "hf", "hf/none"}) {
      const Status stat = fs().stat_member(at(folder), member).status(),
                   open = fs().open_member(at(folder), member).status();
      for (const Status& status : {stat, open}) {
        EXPECT_EQ(status.code, Code::kCorrupt) << member << ": " << status.to_string();
        EXPECT_THAT(status.message, HasSubstr(at(folder) + "/" +
                                              (member == "model/link" ? member : member.substr(0, member.find('/')))))
            << "names the link";
        EXPECT_THAT(status.message, HasSubstr("symbolic link"));
      }
    }
  }
}

TEST_P(FsConformance, AMemberThatIsNotThereIsNotFoundAndAFolderIsNoFile) {
  ASSERT_TRUE(put_text(fs(), at("step/f"), "x").ok());
  for (const char* member : {"none", "none/f", "f/g"}) {
    EXPECT_EQ(fs().stat_member(at("step"), member).status().code, Code::kNotFound) << member;
    EXPECT_EQ(fs().open_member(at("step"), member).status().code, Code::kNotFound) << member;
  }
  EXPECT_EQ(fs().open_member(at("no-step"), "f").status().code, Code::kNotFound);
  ASSERT_TRUE(fs().make_dir(at("step/d")).ok());
  EXPECT_EQ(fs().open_member(at("step"), "d").status().code, Code::kFailed);
}

TEST_P(FsConformance, AReadOnlyFileIsStillWrittenByWhoHasItOpenAndStillRemoved) {
  auto file = fs().create(at("f"));
  ASSERT_TRUE(file.ok());
  EXPECT_TRUE(fs().stat(at("f"))->writable);
  ASSERT_TRUE((*file)->set_read_only().ok());
  ASSERT_TRUE((*file)->set_read_only().ok()) << "a second time";
  ASSERT_TRUE((*file)->pwrite(0, bytes("text")).ok());
  EXPECT_FALSE(fs().stat(at("f"))->writable);
  EXPECT_EQ(get_text(fs(), at("f")), "text");
  ASSERT_TRUE(fs().link(at("f"), at("g")).ok());
  EXPECT_FALSE(fs().stat(at("g"))->writable) << "it belongs to the file, not to the name";
  EXPECT_TRUE(fs().remove_file(at("f")).ok());
}

TEST_P(FsConformance, WhatIsOnDiskIsToldApartFromTheSize) {
  auto sparse = fs().create(at("sparse"));
  ASSERT_TRUE(sparse.ok());
  ASSERT_TRUE((*sparse)->truncate(std::uint64_t{1} << 30).ok());
  EXPECT_EQ(fs().stat(at("sparse"))->allocated, 0u);
  ASSERT_TRUE((*sparse)->pwrite(1 << 20, bytes(std::string(100'000, 'x'))).ok());
  ASSERT_TRUE((*sparse)->datasync().ok());
  EXPECT_GE(fs().stat(at("sparse"))->allocated, 100'000u);
  EXPECT_LT(fs().stat(at("sparse"))->allocated, 1u << 20);
}

}  // namespace
}  // namespace titan::ckpt::fs_test
