#include "libtrain/job/launch/launcher.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <regex>
#include <set>
#include <thread>

#include "tests/support/child_process.h"

// The launcher runs in a child of the test (role "launcher"), since it waits for signals; its ranks are shell scripts.
namespace titan::train::launcher_test {
namespace {

using test::ChildProcess;
using testing::HasSubstr;
using testing::Not;
using namespace std::chrono_literals;

int be_launcher() {
  LaunchOptions options;
  options.nproc = std::atoi(std::getenv("TEST_NPROC"));
  options.program = "/bin/sh";
  options.argv = {"sh", "-c", std::getenv("TEST_SCRIPT")};
  options.threads_per_rank = 3;
  options.run_dir = std::getenv("TEST_RUN_DIR");
  options.failure_grace = options.success_grace = options.abort_grace =
      std::chrono::milliseconds(std::atoi(std::getenv("TEST_GRACE_MS")));
  LaunchEvents events;
  const bool stops_them = std::getenv("TEST_STOPS_THEM") != nullptr;
  if (stops_them) std::signal(SIGTERM, [](int) { (void)!write(STDOUT_FILENO, "spoke\n", 6); });
  events.started = [stops_them](int rank, int pid) {
    if (stops_them) kill(pid, SIGTERM);
    std::cout << "started rank=" << rank << " pid=" << pid << "." << std::endl;
  };
  events.stopping = [](int signal) { std::cout << "stopping signal=" << signal << std::endl; };
  events.failed = [](const std::string& message, const std::string& hint) {
    std::cout << "failed: " << message << "; " << hint << std::endl;
  };
  return launch_local(options, events);
}

const test::TestRole launcher_role("launcher", be_launcher);

// Ranks that end by themselves get all the time that they need on a busy machine; those that never would are given
// little.
constexpr std::chrono::milliseconds kAmple = 60s, kShort = 300ms;

struct Job : ChildProcess {
  Job(int nproc, const std::string& script, std::chrono::milliseconds grace = kAmple,
      const std::string& run_dir = "runs/a")
      : ChildProcess(test::this_program(), {},
                     {{"TITAN_TEST_ROLE", "launcher"},
                      {"TEST_NPROC", std::to_string(nproc)},
                      {"TEST_SCRIPT", script},
                      {"TEST_GRACE_MS", std::to_string(grace.count())},
                      {"TEST_RUN_DIR", run_dir}}) {}

  std::vector<pid_t> ranks(int count) {
    EXPECT_TRUE(wait_for_output("started rank=" + std::to_string(count - 1) + " pid=")) << output();
    EXPECT_TRUE(wait_for_output(".\n"));
    std::vector<pid_t> pids;
    const std::regex pattern("started rank=\\d+ pid=(\\d+)\\.");
    for (std::sregex_iterator match(output().begin(), output().end(), pattern), end; match != end; ++match) {
      pids.push_back(std::stoi((*match)[1]));
    }
    return pids;
  }
};

/// A named pipe, $TEST_FIFO followed by `suffix`, at which a rank waits until release().
class Fifo {
 public:
  explicit Fifo(const std::string& suffix) {
    const std::string base = testing::TempDir() + "/launcher-" + std::to_string(getpid()) + ".fifo";
    setenv("TEST_FIFO", base.c_str(), 1);
    path_ = base + suffix;
    std::remove(path_.c_str());
    EXPECT_EQ(mkfifo(path_.c_str(), 0600), 0);
  }
  ~Fifo() { std::remove(path_.c_str()); }
  void release() {
    const int fd = open(path_.c_str(), O_RDWR);
    EXPECT_EQ(write(fd, "go\n", 3), 3);
    released_.reset(new int(fd), [](int* held) {
      close(*held);
      delete held;
    });
  }

 private:
  std::string path_;
  std::shared_ptr<int> released_;  // open until the reader had its line
};

int count_of(const std::string& text, const std::string& part) {
  int count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

// A rank that works until it is stopped, without a program of its own that would outlive it.
const std::string kForever = "exec sleep 600";

TEST(Launcher, GivesEveryRankItsContract) {
  Job job(2,
          "echo contract $RANK $WORLD_SIZE $LOCAL_RANK $LOCAL_WORLD_SIZE $MASTER_ADDR $OMP_NUM_THREADS "
          "$MKL_NUM_THREADS $TITAN_THREADS_PER_RANK "
          "${MKL_CBWR:+cbwr} ${TITAN_RUN_ID:+id} fd=${TITAN_MASTER_FD:+set} same=$(test $PPID = $TITAN_LAUNCHER_PID && "
          "echo yes); "
          "test $MASTER_PORT -gt 0");
  EXPECT_EQ(job.wait(), 0) << job.output();
  EXPECT_THAT(job.output(), HasSubstr("contract 0 2 0 2 127.0.0.1 3 3 3 cbwr id fd=set same=yes"));
  EXPECT_THAT(job.output(), HasSubstr("contract 1 2 1 2 127.0.0.1 3 3 3 cbwr id fd= same=yes"));
}

TEST(Launcher, GivesEveryJobAnIdOfItsOwn) {
  // Ranks of another job, started by this process too, must not meet these in one store.
  std::set<std::string> ids;
  for (int i = 0; i < 2; ++i) {
    Job job(1, "echo job $TITAN_RUN_ID.");
    EXPECT_EQ(job.wait(), 0) << job.output();
    std::smatch id;
    ASSERT_TRUE(std::regex_search(job.output(), id, std::regex("job ([0-9a-f]{12})\\."))) << job.output();
    EXPECT_TRUE(ids.insert(id[1]).second) << job.output();
  }
}

TEST(Launcher, HandsTheListeningSocketToRankZeroOnly) {
  // A listening socket keeps the number in its environment; rank 1 must not hold the same one.
  Job job(2, "if [ $RANK = 0 ]; then readlink /proc/self/fd/$TITAN_MASTER_FD; else ls -l /proc/self/fd; fi");
  EXPECT_EQ(job.wait(), 0) << job.output();
  EXPECT_EQ(count_of(job.output(), "socket:["), 1) << job.output();
}

// What a rank of titan-train tells its launcher; a shell writes no descriptor above 9 by its number.
std::string tells(const std::string& record) {
  return "printf '" + record + "\\000' > /proc/self/fd/$TITAN_REPORT_FD; ";
}

TEST(Launcher, ReturnsTheCodeThatAllRanksAgreedOnAndAddsNothing) {
  for (int code : {0, 2, 3, 10, 11, 12, 13, 75, 130, 143}) {
    const bool error = code != 0 && code != 75 && code < 100;
    Job job(3, (error ? "test $RANK = 0 && " + tells("S") : "") + "exit " + std::to_string(code));
    EXPECT_EQ(job.wait(), code) << job.output();
    EXPECT_EQ(count_of(job.output(), "failed:"), 0) << job.output();
  }
}

TEST(Launcher, SpeaksForRanksThatEndWithoutAWord) {
  Job job(2, "exit 3");
  EXPECT_EQ(job.wait(), 3) << job.output();
  EXPECT_THAT(job.output(), HasSubstr("failed: every rank exited with code 3"));
  Job alone(1, "exit 3");
  EXPECT_EQ(alone.wait(), 3) << alone.output();
  EXPECT_THAT(alone.output(), HasSubstr("failed: rank 0 (pid "));
}

TEST(Launcher, SaysThatARankIsLostOnlyWhereItKnowsNoNearerCause) {
  const std::string lost = tells("Lrank 1 is silent\\037look at its host");
  Job silent(2, lost + "exit 3");
  EXPECT_EQ(silent.wait(), 3) << silent.output();
  EXPECT_THAT(silent.output(), HasSubstr("failed: rank 1 is silent; look at its host"));
  EXPECT_EQ(count_of(silent.output(), "failed:"), 1) << silent.output();

  Job killed(2, "test $RANK = 1 && kill -9 $$; " + lost + "exit 3");
  EXPECT_EQ(killed.wait(), 3) << killed.output();
  EXPECT_THAT(killed.output(), HasSubstr("was killed by signal 9 (SIGKILL)"));
  EXPECT_THAT(killed.output(), Not(HasSubstr("is silent")));

  Job failed(2, "test $RANK = 1 && { " + tells("S2") + "exit 2; }; " + lost + "exit 3");
  EXPECT_EQ(failed.wait(), 2) << failed.output();
  EXPECT_EQ(count_of(failed.output(), "failed:"), 0) << failed.output();
}

TEST(Launcher, NamesALogOnlyWhereItSaysSomething) {
  const std::string dir = testing::TempDir() + "/launcher-logs-" + std::to_string(getpid());
  ASSERT_EQ(std::system(("mkdir -p " + dir + "/logs && : > " + dir + "/logs/rank-0.log && echo line > " + dir +
                         "/logs/rank-1.log")
                            .c_str()),
            0);
  for (const int rank : {0, 1}) {
    Job job(2, "test $RANK = " + std::to_string(rank) + " && exit 2; exit 3", kAmple, dir);
    EXPECT_NE(job.wait(), 0);
    // Whichever is seen first is named.
    if (job.output().find("failed: rank 0") != std::string::npos) {
      EXPECT_THAT(job.output(), Not(HasSubstr("its log is")));
    }
    if (job.output().find("failed: rank 1") != std::string::npos) {
      EXPECT_THAT(job.output(), HasSubstr("its log is " + dir + "/logs/rank-1.log"));
    }
  }
}

TEST(Launcher, NamesADeadRankAndEndsTheOthers) {
  Job job(4, kForever, kShort);
  const auto pids = job.ranks(4);
  ASSERT_EQ(pids.size(), 4u);
  kill(pids[3], SIGKILL);
  EXPECT_EQ(job.wait(60s), 3) << job.output();
  EXPECT_THAT(job.output(),
              HasSubstr("failed: rank 3 (pid " + std::to_string(pids[3]) + ") was killed by signal 9 (SIGKILL); "));
  EXPECT_THAT(job.output(), HasSubstr("out-of-memory killer"));
  EXPECT_THAT(job.output(), Not(HasSubstr("its log is")));
  EXPECT_EQ(count_of(job.output(), "failed:"), 1) << job.output();
  for (pid_t pid : pids) EXPECT_TRUE(test::wait_until_gone(pid, 0ms)) << pid << " outlived its launcher";
}

TEST(Launcher, NamesAllRanksThatWereKilledTogether) {
  Job job(4, kForever);
  const auto pids = job.ranks(4);
  ASSERT_EQ(pids.size(), 4u);
  for (const int rank : {1, 0, 2}) kill(pids[rank], SIGKILL);
  ASSERT_TRUE(job.wait_for_output("failed:")) << job.output();
  kill(pids[3], SIGTERM);
  EXPECT_EQ(job.wait(60s), 3) << job.output();
  EXPECT_THAT(job.output(),
              HasSubstr("failed: ranks 0, 1, 2 (pids " + std::to_string(pids[0]) + ", " + std::to_string(pids[1]) +
                        ", " + std::to_string(pids[2]) + ") were killed by signal 9 (SIGKILL); "));
  EXPECT_EQ(count_of(job.output(), "failed:"), 1) << job.output();
}

TEST(Launcher, NamesTheRankThatFailedAloneAndPassesItsCodeOn) {
  Job job(3, "if [ $RANK = 1 ]; then exit 2; fi; " + kForever, kShort);
  EXPECT_EQ(job.wait(60s), 2) << job.output();
  EXPECT_THAT(job.output(), testing::ContainsRegex("failed: rank 1 \\(pid [0-9]+\\) exited with code 2"));
}

TEST(Launcher, MapsUnknownCodesOfOneRankToFailure) {
  Job job(2, "if [ $RANK = 1 ]; then exit 42; fi; " + kForever, kShort);
  EXPECT_EQ(job.wait(60s), 3) << job.output();
  EXPECT_THAT(job.output(), HasSubstr("exited with code 42"));
}

// A stop signal takes effect when its process is next scheduled, which a busy machine may put off.
bool wait_until_stopped(pid_t pid) {
  const auto deadline = std::chrono::steady_clock::now() + 10s;
  while (std::chrono::steady_clock::now() < deadline) {
    std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
    const std::string text{std::istreambuf_iterator<char>(stat), {}};
    const std::size_t name_end = text.rfind(')');
    if (name_end != std::string::npos && name_end + 2 < text.size() && text[name_end + 2] == 'T') return true;
    std::this_thread::yield();
  }
  return false;
}

TEST(Launcher, NamesAStoppedRankAsTheCauseOfTheOthersErrors) {
  Fifo fifo("");
  Job job(2, "if [ $RANK = 0 ]; then read line < $TEST_FIFO; exit 3; fi; " + kForever);
  const auto pids = job.ranks(2);
  ASSERT_EQ(pids.size(), 2u);
  kill(pids[1], SIGSTOP);
  ASSERT_TRUE(wait_until_stopped(pids[1]));
  fifo.release();
  EXPECT_EQ(job.wait(60s), 3) << job.output();
  EXPECT_THAT(job.output(), HasSubstr("failed: rank 1 (pid " + std::to_string(pids[1]) + ") is stopped (SIGSTOP)"));
  EXPECT_TRUE(test::wait_until_gone(pids[1], 0ms));
}

TEST(Launcher, EndsARankThatStaysBehindAfterTheOthersEndedWell) {
  Job job(2, "if [ $RANK = 0 ]; then exit 0; fi; " + kForever, kShort);
  EXPECT_EQ(job.wait(60s), 3) << job.output();
  EXPECT_THAT(job.output(), HasSubstr("rank 1"));
  EXPECT_THAT(job.output(), HasSubstr("did not end within"));
}

TEST(Launcher, WaitsForARankThatSaysHowLongItFinishes) {
  Fifo fifo("");
  Job job(2,
          "if [ $RANK = 1 ]; then read line < $TEST_FIFO; exit 0; fi; " + tells("W60") +
              "echo go > $TEST_FIFO; sleep 1; exit 0",
          kShort);
  EXPECT_EQ(job.wait(30s), 0) << job.output();
  Job hanging(2, "if [ $RANK = 1 ]; then exit 0; fi; printf 'W0.2\\0' >&$TITAN_REPORT_FD; " + kForever, kShort);
  EXPECT_EQ(hanging.wait(30s), 3) << hanging.output();
  EXPECT_THAT(hanging.output(), HasSubstr("did not end within"));
}

// Announces itself, notes every signal, and ends as a saving rank does once the test opens the other end of the pipe.
// (A shell runs its traps between commands: the first open is interrupted by the signal.)
const std::string kSaves =
    "trap 'echo got-TERM' TERM; trap 'echo got-USR1' USR1; echo ready-$RANK; "
    "until read line < $TEST_FIFO$RANK; do :; done; exit 75";

TEST(Launcher, ForwardsTheFirstStopSignalOnce) {
  Fifo first("0"), second("1");
  Job job(2, kSaves);
  ASSERT_TRUE(job.wait_for_output("ready-0"));
  ASSERT_TRUE(job.wait_for_output("ready-1"));
  job.signal(SIGTERM);
  ASSERT_TRUE(job.wait_for_output("stopping signal=15"));
  job.signal(SIGUSR1);
  job.signal(SIGTERM);
  first.release();
  second.release();
  EXPECT_EQ(job.wait(), 75) << job.output();
  EXPECT_EQ(count_of(job.output(), "got-TERM"), 2) << job.output();
  EXPECT_EQ(count_of(job.output(), "got-USR1"), 0) << job.output();
  EXPECT_EQ(count_of(job.output(), "failed:"), 0) << job.output();
}

TEST(Launcher, ASignalThatIsStillPendingAtTheEndDoesNotReplaceTheVerdict) {
  // Stopped meanwhile, the launcher finds both ranks ended and two signals waiting.
  Fifo first("0"), second("1");
  Job job(2, kSaves);
  const auto pids = job.ranks(2);
  ASSERT_EQ(pids.size(), 2u);
  ASSERT_TRUE(job.wait_for_output("ready-0"));
  ASSERT_TRUE(job.wait_for_output("ready-1"));
  job.signal(SIGTERM);
  ASSERT_TRUE(job.wait_for_output("stopping signal=15"));
  job.signal(SIGSTOP);
  ASSERT_TRUE(wait_until_stopped(job.pid()));
  job.signal(SIGUSR1);
  job.signal(SIGTERM);
  first.release();
  second.release();
  for (pid_t pid : pids) EXPECT_TRUE(test::wait_until_gone(pid));
  job.signal(SIGCONT);
  EXPECT_EQ(job.wait(), 75) << job.output();
}

TEST(Launcher, LetsRanksSayTheirLastWordsAtTheSecondInterrupt) {
  Job job(2,
          "trap 'test $seen && { echo last-words-$RANK; exit 130; }; seen=1; echo seen-$RANK' INT; echo ready-$RANK; "
          "while :; do sleep 0.02; done");
  ASSERT_TRUE(job.wait_for_output("ready-0"));
  ASSERT_TRUE(job.wait_for_output("ready-1"));
  job.signal(SIGINT);
  ASSERT_TRUE(job.wait_for_output("seen-0"));
  ASSERT_TRUE(job.wait_for_output("seen-1"));
  job.signal(SIGINT);
  EXPECT_EQ(job.wait(), 130) << job.output();
  EXPECT_THAT(job.output(), HasSubstr("last-words-0"));
  EXPECT_THAT(job.output(), HasSubstr("last-words-1"));
  EXPECT_EQ(count_of(job.output(), "failed:"), 0) << job.output();
}

TEST(Launcher, AbortsAtTheSecondInterrupt) {
  Job job(2, "trap '' INT; echo ready-$RANK; " + kForever, kShort);
  const auto pids = job.ranks(2);
  ASSERT_TRUE(job.wait_for_output("ready-0"));
  ASSERT_TRUE(job.wait_for_output("ready-1"));
  job.signal(SIGINT);
  ASSERT_TRUE(job.wait_for_output("stopping signal=2"));
  job.signal(SIGINT);
  EXPECT_EQ(job.wait(60s), 130) << job.output();
  EXPECT_THAT(job.output(), HasSubstr("failed: stopped by a second Ctrl-C"));
  for (pid_t pid : pids) EXPECT_TRUE(test::wait_until_gone(pid, 0ms));
}

TEST(Launcher, Returns143WhenTheStopSignalKilledTheRanks) {
  Job job(2, kForever);
  job.ranks(2);
  job.signal(SIGTERM);
  EXPECT_EQ(job.wait(60s), 143) << job.output();
  EXPECT_THAT(job.output(), HasSubstr("before it could save"));
}

TEST(Launcher, ARankThatIsStoppedBeforeItsProgramBeginsSaysNothingForTheLauncher) {
  setenv("TEST_STOPS_THEM", "1", 1);
  Job job(24, kForever);
  unsetenv("TEST_STOPS_THEM");
  EXPECT_EQ(job.wait(20s), 3) << job.output();
  EXPECT_EQ(count_of(job.output(), "spoke"), 0) << job.output();
}

TEST(Launcher, LeavesNoOrphanWhenItIsKilled) {
  Job job(3, kForever);
  const auto pids = job.ranks(3);
  ASSERT_EQ(pids.size(), 3u);
  job.signal(SIGKILL);
  EXPECT_EQ(job.wait(60s), 137);
  for (pid_t pid : pids) EXPECT_TRUE(test::wait_until_gone(pid, 5s)) << pid << " outlived its launcher";
}

TEST(Launcher, EndsTheChildrenOfARankWithIt) {
  Job job(1, "sleep 600 & echo child=$!.; wait");
  ASSERT_TRUE(job.wait_for_output(".\n"));
  ASSERT_TRUE(job.wait_for_output("child="));
  const auto pids = job.ranks(1);
  std::smatch match;
  ASSERT_TRUE(job.wait_for_output(".\n"));
  const std::string text = job.output();
  ASSERT_TRUE(std::regex_search(text, match, std::regex("child=(\\d+)"))) << text;
  kill(pids[0], SIGKILL);
  EXPECT_EQ(job.wait(60s), 3) << job.output();
  EXPECT_TRUE(test::wait_until_gone(std::stoi(match[1]), 5s));
}

TEST(Launcher, SaysThatAProgramCouldNotBeRun) {
  Job job(2, "exec /nonexistent/program");
  EXPECT_EQ(job.wait(60s), 127) << job.output();
  EXPECT_THAT(job.output(), HasSubstr("every rank exited with code 127"));
}

}  // namespace
}  // namespace titan::train::launcher_test
