#include "libtrain/job/launch/rank_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <map>
#include <optional>
#include <string>

#include "tests/support/child_process.h"

namespace titan::train::rank_process_test {
namespace {

using test::ChildProcess;
using testing::HasSubstr;

int be_thread_env() {
  const char* before = std::getenv("TEST_ATTEMPTS");
  setenv("TEST_ATTEMPTS", (std::string(before ? before : "") + "x").c_str(), 1);
  setenv("TITAN_TEST_ROLE", "thread-env", 1);
  ensure_thread_env(5);
  const auto text = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value ? value : "unset");
  };
  std::cout << "threads " << text("OMP_NUM_THREADS") << " " << text("MKL_NUM_THREADS") << " " << text("MKL_CBWR")
            << " attempts " << text("TEST_ATTEMPTS") << "." << std::endl;
  return 0;
}

const test::TestRole thread_env_role("thread-env", be_thread_env);

int be_bound() {
  if (!bind_to_launcher().ok()) return 3;
  std::cout << "bound" << std::endl;
  return 0;
}

const test::TestRole bound_role("bound", be_bound);

TEST(RankProcess, ExecutesItselfOnceWhereThreadVariablesAreWrong) {
  ChildProcess child(test::this_program(), {},
                     {{"TITAN_TEST_ROLE", "thread-env"}, {"OMP_NUM_THREADS", "1"}, {"MKL_CBWR", "AVX2"}});
  EXPECT_EQ(child.wait(), 0) << child.output();
  EXPECT_THAT(child.output(), HasSubstr("threads 5 5 AVX2 attempts xx."));
}

TEST(RankProcess, StaysWhereThreadVariablesAreRight) {
  ChildProcess child(
      test::this_program(), {},
      {{"TITAN_TEST_ROLE", "thread-env"}, {"OMP_NUM_THREADS", "5"}, {"MKL_NUM_THREADS", "5"}, {"MKL_CBWR", "AUTO"}});
  EXPECT_EQ(child.wait(), 0) << child.output();
  EXPECT_THAT(child.output(), HasSubstr("threads 5 5 AUTO attempts x."));
}

TEST(RankProcess, SetsNoVariableThatTheUserHasSet) {
  const auto user = [](const char* name) {
    return std::string(name) == "MKL_CBWR" ? std::optional<std::string>("AVX2") : std::nullopt;
  };
  EXPECT_EQ(thread_variables(5, user),
            (std::map<std::string, std::string>{{"MKL_NUM_THREADS", "5"}, {"OMP_NUM_THREADS", "5"}}));
  const auto none = [](const char*) { return std::nullopt; };
  EXPECT_EQ(thread_variables(5, none).at("MKL_CBWR"), "AUTO");
}

TEST(RankProcess, ReportsAreReadByRecord) {
  const auto text = [](const char* bytes, std::size_t size) { return std::string(bytes, size); };
  EXPECT_EQ(decode_reports("").said_code, std::nullopt);
  EXPECT_EQ(decode_reports(text("S2\0S3\0", 6)).said_code, 2) << "the first";
  const RankReports lost =
      decode_reports(text("Lrank 1 is gone\x1f"
                          "look\0Lrank 0 is gone\x1f\0",
                          36));
  EXPECT_EQ(lost.said_code, std::nullopt);
  EXPECT_EQ(lost.lost, "rank 1 is gone");
  EXPECT_EQ(lost.hint, "look");
  // A record without an end was cut off.
  EXPECT_EQ(decode_reports("Lrank 1").lost, "");
  EXPECT_EQ(decode_reports(text("Lbare\0", 6)).lost, "bare");
  EXPECT_EQ(decode_reports(text("S3\0W12.5\0", 9)).finishing, 12.5);
}

TEST(RankProcess, TheFirstCauseComesBeforeWhatOthersMadeOfIt) {
  const std::string bytes = std::string("Lrank 1 is gone\x1flook") + '\0' + "Cno transfer ends" + '\0' +
                            "Cnone here, too\x1fsee" + '\0' + "Lrank 2 is gone" + '\0';
  EXPECT_EQ(decode_reports(bytes).lost, "no transfer ends");
  EXPECT_EQ(decode_reports(bytes).hint, "");
}

TEST(RankProcess, WithoutALauncherNobodyIsTold) {
  unsetenv(kReportFd);
  EXPECT_FALSE(leave_to_launcher(Left::kLostOne, "rank 1 is gone", ""));
}

TEST(RankProcess, LeavesWhenItsLauncherIsGone) {
  ChildProcess orphan(test::this_program(), {}, {{"TITAN_TEST_ROLE", "bound"}, {"TITAN_LAUNCHER_PID", "1"}});
  EXPECT_EQ(orphan.wait(), 3) << orphan.output();
  ChildProcess child(test::this_program(), {},
                     {{"TITAN_TEST_ROLE", "bound"}, {"TITAN_LAUNCHER_PID", std::to_string(getpid())}});
  EXPECT_EQ(child.wait(), 0) << child.output();
}

}  // namespace
}  // namespace titan::train::rank_process_test
