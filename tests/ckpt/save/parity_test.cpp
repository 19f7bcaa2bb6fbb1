#include "ckpt/save/parity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdio>

#include "ckpt/base/files.h"
#include "ckpt/base/fs_posix.h"
#include "ckpt/format/manifest_codec.h"
#include "ckpt/read/reader.h"
#include "ckpt/read/verifier.h"
#include "tests/support/files.h"
#include "tests/support/make_checkpoint.h"
#include "tests/support/mem_fs.h"

namespace titan::ckpt::parity_test {
namespace {

using namespace titan::ckpt::testing;  // NOLINT: the file is about these
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr const char* kStep = "/run/step-00000010";

class Parity : public ::testing::Test {
 protected:
  Parity() {
    Synthetic made;
    made.dp = made.pp = 2;
    made.parity = 2;
    EXPECT_TRUE(make_checkpoint(fs_, "/run", made).ok());
    manifest_ = without_parity(*read_manifest(fs_, kStep));
    for (const char* folder : {"/out", "/out/model", "/out/optimizer"}) EXPECT_TRUE(fs_.make_dir(folder).ok());
  }
  void flip(const std::string& path, std::uint64_t offset) {
    const std::byte changed = static_cast<std::byte>(get_text(fs_, path)[offset]) ^ std::byte{4};
    ASSERT_TRUE(fs_.overwrite(path, offset, {&changed, 1}).ok());
  }
  /// Loses two members at a time, makes them anew and compares every byte.
  void expect_rebuilt(const std::set<std::uint32_t>& lost) {
    std::set<std::uint32_t> made;
    const auto found = find_parity(fs_, kStep, manifest_);
    ASSERT_TRUE(found.ok() && found->manifest);
    const Status status = rebuild_members(fs_, kStep, *found, lost, "/out", made);
    ASSERT_TRUE(status.ok()) << status.to_string();
    EXPECT_EQ(made, lost);
    for (const std::uint32_t member : lost) {
      const std::string path = manifest_.files[member].path;
      EXPECT_EQ(get_text(fs_, "/out/" + path), get_text(fs_, std::string(kStep) + "/" + path)) << path;
      EXPECT_TRUE(fs_.remove_file("/out/" + path).ok());
    }
  }

  MemFs fs_;
  Manifest manifest_;
};

TEST_F(Parity, ASaveWritesThemAsMembersOfTheSameId) {
  Synthetic plain;
  plain.dp = plain.pp = 2;
  ASSERT_TRUE(make_checkpoint(fs_, "/plain", plain).ok());
  const auto report = verify_checkpoint(fs_, kStep);
  ASSERT_TRUE(report.ok());
  EXPECT_THAT(report->damage, IsEmpty());
  EXPECT_EQ(report->id, read_manifest(fs_, "/plain/step-00000010")->id);
  EXPECT_EQ(parity_rows(*read_manifest(fs_, kStep)), 2u);
}

TEST_F(Parity, GivesBackAnyTwoMembers) {
  const auto count = static_cast<std::uint32_t>(manifest_.files.size());
  for (std::uint32_t a = 0; a < count; ++a)
    for (std::uint32_t b = a; b < count; ++b) expect_rebuilt({a, b});
}

TEST_F(Parity, TheManifestComesBackFromAnyParityFile) {
  flip(std::string(kStep) + "/parity/parity-00000.bin", 500);
  const auto found = find_parity(fs_, kStep, std::nullopt);
  ASSERT_TRUE(found.ok()) << found.status().to_string();
  ASSERT_TRUE(found->manifest);
  EXPECT_EQ(encode_manifest(*found->manifest), encode_manifest(manifest_));
  EXPECT_THAT(found->whole, ElementsAre(1u));
  expect_rebuilt({3});
}

TEST_F(Parity, WhatCannotBeSolvedIsLeftOut) {
  ASSERT_TRUE(fs_.remove_file(std::string(kStep) + "/parity/parity-00001.bin").ok());
  const auto found = find_parity(fs_, kStep, manifest_);
  ASSERT_TRUE(found.ok());
  std::set<std::uint32_t> made;
  EXPECT_TRUE(rebuild_members(fs_, kStep, *found, {0, 1}, "/out", made).ok());
  EXPECT_THAT(made, IsEmpty());
}

// A tool of an older version carries them along with members that it made anew.
TEST_F(Parity, AFileThatIsNoRegularOneIsALostOne) {
  const TempDir dir;
  Synthetic made;
  made.parity = 2;
  ASSERT_TRUE(make_checkpoint(posix_fs(), dir / "run", made).ok());
  const std::string step = dir / "run/step-00000010", first = step + "/parity/parity-00000.bin";
  const Manifest manifest = without_parity(*read_manifest(posix_fs(), step));
  const auto whole = [&] {
    const auto found = find_parity(posix_fs(), step, manifest);
    EXPECT_TRUE(found.ok()) << found.status().to_string();
    return found.ok() ? found->whole : std::set<std::uint32_t>{99};
  };
  ASSERT_TRUE(posix_fs().remove_file(first).ok());
  ASSERT_EQ(::mkfifo(first.c_str(), 0644), 0);
  EXPECT_THAT(whole(), ElementsAre(1u)) << "a pipe";
  ASSERT_EQ(std::remove(first.c_str()), 0);
  ASSERT_TRUE(posix_fs().make_dir(first).ok());
  EXPECT_THAT(whole(), ElementsAre(1u)) << "a folder";
  ASSERT_TRUE(remove_tree(posix_fs(), step + "/parity").ok());
  ASSERT_TRUE(put_text(posix_fs(), step + "/parity", "a file").ok());
  EXPECT_THAT(whole(), IsEmpty());
}

TEST_F(Parity, OfAnotherStateOfTheFolderIsNone) {
  Manifest other = manifest_;
  other.files[0].envelope = {};
  const auto found = find_parity(fs_, kStep, other);
  ASSERT_TRUE(found.ok());
  EXPECT_FALSE(found->manifest);
  EXPECT_THAT(found->whole, IsEmpty());
}

}  // namespace
}  // namespace titan::ckpt::parity_test
