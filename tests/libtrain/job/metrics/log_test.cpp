#include "libtrain/job/metrics/log.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <regex>

#include "ckpt/base/result.h"
#include "tests/support/scratch_dir.h"

namespace titan::train::log_test {
namespace {

/// Sends stderr to a file while it lives; afterwards the log writes to the plain stderr again.
class CapturedStderr {
 public:
  explicit CapturedStderr(std::string path) : path_(std::move(path)), saved_(::dup(STDERR_FILENO)) {
    const int fd = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ::dup2(fd, STDERR_FILENO);
    ::close(fd);
  }
  ~CapturedStderr() {
    init_log(0, "");
    ::dup2(saved_, STDERR_FILENO);
    ::close(saved_);
  }
  std::string text() const { return read_text(path_); }

 private:
  std::string path_;
  int saved_;
};

void log_all() {
  log_debug("a debug");
  log_info("an info key={value} %v");
  log_warn("a warning");
  log_error("an error");
  flush_log();
}

std::string without_time(const std::string& text) {
  return std::regex_replace(text, std::regex(R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)"), "T");
}

TEST(Log, ShowsInfoOnRankZeroAndWarningsElsewhereAndKeepsDebugInTheFile) {
  const struct {
    int rank;
    const char *console, *file;
  } cases[] = {
      {0, "T I r0 an info key={value} %v\nT W r0 a warning\nT E r0 an error\n",
       "T D r0 a debug\nT I r0 an info key={value} %v\nT W r0 a warning\nT E r0 an error\n"},
      {3, "T W r3 a warning\nT E r3 an error\n",
       "T D r3 a debug\nT I r3 an info key={value} %v\nT W r3 a warning\nT E r3 an error\n"},
  };
  for (const auto& c : cases) {
    const ScratchDir dir;
    const CapturedStderr captured(dir / "stderr");
    init_log(c.rank, dir.path());
    log_all();
    EXPECT_EQ(without_time(captured.text()), c.console);
    EXPECT_EQ(without_time(read_text(dir / "logs/rank-" + std::to_string(c.rank) + ".log")), c.file);
  }
}

TEST(Log, WritesAStatusAsOneLine) {
  ckpt::Status status = ckpt::failed("a").wrapped("b").wrapped("c").with_hint("d");
  EXPECT_EQ(log_text(status), "c; caused by: b; caused by: a; hint: d");
  EXPECT_EQ(log_text(ckpt::failed("a")), "a");
}

TEST(Log, KeepsEachMessageOnOneLineWhateverItNames) {
  const ScratchDir dir;
  const CapturedStderr captured(dir / "stderr");
  init_log(0, dir.path());
  log_warn("changed: optimizer.lr is \x1b]0;mine\x07\n2026-01-01T00:00:00.000Z I r0 step 9 saved");
  flush_log();
  const std::string expected = "T W r0 changed: optimizer.lr is \\x1b]0;mine\\x07\\x0aT I r0 step 9 saved\n";
  EXPECT_EQ(without_time(captured.text()), expected);
  EXPECT_EQ(without_time(read_text(dir / "logs/rank-0.log")), expected);
}

TEST(Log, AppendsToTheFileOfAnEarlierAttempt) {
  const ScratchDir dir;
  const CapturedStderr captured(dir / "stderr");
  for (const char* message : {"first", "second"}) {
    init_log(0, dir.path());
    log_debug(message);
    flush_log();
  }
  EXPECT_EQ(without_time(read_text(dir / "logs/rank-0.log")), "T D r0 first\nT D r0 second\n");
  EXPECT_EQ(captured.text(), "");
}

TEST(Log, TheFileHasEachLineSoonThoughNobodyAsks) {
  const ScratchDir dir;
  const CapturedStderr captured(dir / "stderr");
  init_log(1, dir.path());
  log_debug("before");
  log_warn("now");
  const std::string file = dir / "logs/rank-1.log", all = "T D r1 before\nT W r1 now\n";
  for (int tries = 0; tries < 6000 && without_time(read_text(file)) != all; ++tries) ::usleep(10'000);
  EXPECT_EQ(without_time(read_text(file)), all);
}

// Nobody reads the pipe, as a store that stands still takes no line.
TEST(Log, AFileThatTakesNothingHoldsUpNobody) {
  const ScratchDir dir;
  const CapturedStderr captured(dir / "stderr");
  ASSERT_EQ(::mkdir((dir / "logs").c_str(), 0755), 0);
  ASSERT_EQ(::mkfifo((dir / "logs/rank-0.log").c_str(), 0600), 0);
  const int reader = ::open((dir / "logs/rank-0.log").c_str(), O_RDONLY | O_NONBLOCK);
  init_log(0, dir.path());
  const std::string line(10'000, 'x');
  for (int i = 0; i < 100; ++i) log_debug(line);  // a pipe holds 64 KiB
  log_info("still here");
  EXPECT_NE(captured.text().find("I r0 still here"), std::string::npos);
  const auto began = std::chrono::steady_clock::now();
  flush_log();
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(60));
  // The pipe stays open: without a reader the thread that is left behind would end the program.
  EXPECT_GE(reader, 0);
}

TEST(Log, MakesItsFoldersAsTheUmaskSays) {
  const ScratchDir dir;
  const CapturedStderr captured(dir / "stderr");
  const mode_t before = ::umask(0002);
  init_log(0, dir / "runs/a");
  ::umask(before);
  for (const char* made : {"runs", "runs/a", "runs/a/logs", "runs/a/logs/rank-0.log"}) {
    struct stat info {};
    ASSERT_EQ(::stat((dir / made).c_str(), &info), 0) << made;
    EXPECT_EQ(info.st_mode & 0777, S_ISDIR(info.st_mode) ? 0775u : 0664u) << made;
  }
}

TEST(Log, GoesOnWithoutAFileThatCannotBeOpened) {
  const ScratchDir dir;
  dir.write("logs", "a file where the folder should be");
  const CapturedStderr captured(dir / "stderr");
  EXPECT_TRUE(init_log(0, dir.path()).starts_with("no log file: ")) << "its caller knows when to say so";
  log_info("still here");
  flush_log();
  EXPECT_EQ(captured.text().find("no log file"), std::string::npos) << captured.text();
  EXPECT_NE(captured.text().find("I r0 still here"), std::string::npos) << captured.text();
}

}  // namespace
}  // namespace titan::train::log_test
