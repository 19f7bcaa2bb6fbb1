#include "libtrain/job/run/publish_note.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ckpt/base/files.h"
#include "ckpt/base/fs.h"
#include "ckpt/base/fs_posix.h"
#include "recipe/keys/config.h"
#include "tests/support/files.h"
#include "tests/support/make_checkpoint.h"

namespace titan::train::publish_note_test {
namespace {

using ::testing::IsEmpty;

class Note : public ::testing::Test {
 protected:
  Note() {
    config_.job.dump_folder = dir_ / "run";
    config_.checkpoint.on_publish = "echo $TITAN_STEP; exit $(cat " + (dir_ / "code") + ")";
    EXPECT_TRUE(ckpt::make_dirs(fs_, steps()).ok());
    next_code("0");
  }
  std::string steps() const { return config_.job.dump_folder + "/checkpoint"; }
  void next_code(const std::string& code) {
    (void)fs_.remove_file(dir_ / "code");
    ASSERT_TRUE(ckpt::testing::put_text(fs_, dir_ / "code", code).ok());
  }
  std::string make(std::uint64_t step, std::uint64_t seed) {
    const auto made = ckpt::testing::make_checkpoint(fs_, steps(), {.step = step, .seed = seed});
    EXPECT_TRUE(made.ok());
    return made->path;
  }
  /// What a start runs for the step at `path`.
  std::string start(const std::string& path) {
    const std::string log = config_.job.dump_folder + "/on_publish.log";
    (void)fs_.remove_file(log);
    const auto hook = make_publish_hook(
        fs_, config_,
        {[this] { return still_ours_; }, [this](const std::string& text) { problems_.push_back(text); }, {}});
    EXPECT_TRUE(publish_missed(fs_, config_, path, *hook).ok());
    hook->finish([] { return false; });
    return fs_.stat(log).ok() ? ckpt::testing::get_text(fs_, log) : "";
  }

  ckpt::Fs& fs_ = ckpt::posix_fs();
  ckpt::testing::TempDir dir_;
  recipe::Config config_;
  ckpt::Status still_ours_;
  std::vector<std::string> problems_;
};

TEST_F(Note, WhatAStartMissedRunsAtTheNextOneUntilItEndsWell) {
  const std::string path = make(10, 1);
  next_code("7");
  EXPECT_EQ(start(path), "10\n");
  next_code("0");
  EXPECT_EQ(start(path), "10\n");
  problems_.clear();
  EXPECT_EQ(start(path), "") << "it has ended well";
  EXPECT_THAT(problems_, IsEmpty());
  EXPECT_EQ(start(make(20, 1)), "20\n");
}

TEST_F(Note, AStepOfTheSameNumberWithOtherBytesIsAnother) {
  EXPECT_EQ(start(make(10, 1)), "10\n");
  ASSERT_TRUE(ckpt::remove_tree(fs_, steps() + "/step-00000010").ok());
  EXPECT_EQ(start(make(10, 2)), "10\n");
}

TEST_F(Note, ARunThatIsSomebodyElsesGetsNoNote) {
  const std::string path = make(10, 1);
  still_ours_ = ckpt::locked("taken over");
  EXPECT_EQ(start(path), "10\n");
  EXPECT_EQ(problems_.size(), 1U);
  still_ours_ = ckpt::ok_status();
  EXPECT_EQ(start(path), "10\n");
}

TEST_F(Note, WithoutACommandThereIsNoHook) {
  config_.checkpoint.on_publish.reset();
  EXPECT_EQ(make_publish_hook(fs_, config_, {}), nullptr);
}

}  // namespace
}  // namespace titan::train::publish_note_test
