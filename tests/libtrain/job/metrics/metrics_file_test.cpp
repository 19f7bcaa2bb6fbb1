#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cmath>
#include <csignal>
#include <regex>

#include "ckpt/base/fs_posix.h"
#include "libtrain/job/metrics/metrics_file.h"
#include "tests/support/scratch_dir.h"

namespace titan::train::metrics_file_test {
namespace {

StepMetrics metrics(std::uint64_t step) {
  StepMetrics m;
  m.step = step;
  m.loss = 1.0 / 3;
  m.max_loss = 0.5;
  m.grad_norm = 1.5;
  m.lr = 8e-4;
  m.tokens = step * 100;
  m.samples = step * 2;
  m.tps = 12.5;
  m.tps_total = 25;
  m.time_s = 0.25;
  m.times = {
      .data = 1, .forward = 2, .backward = 3, .pipeline = 4, .exchange = 5, .optimizer = 6, .gather = 7, .save = 8};
  return m;
}

std::unique_ptr<MetricsFile> open_or_die(const std::string& path, std::uint64_t step, std::uint32_t attempt) {
  auto opened = MetricsFile::open(ckpt::posix_fs(), path, step, attempt);
  if (!opened.ok()) {
    ADD_FAILURE() << opened.status().to_string();
    return nullptr;
  }
  return std::move(opened).value();
}

/// Writes steps `first`..`last`, each with an event.
void write_steps(const std::string& path, std::uint64_t resumed, std::uint32_t attempt, std::uint64_t first,
                 std::uint64_t last) {
  const auto file = open_or_die(path, resumed, attempt);
  ASSERT_TRUE(file);
  for (std::uint64_t step = first; step <= last; ++step) {
    ASSERT_TRUE(file->step(metrics(step)).ok());
    ASSERT_TRUE(file->event(step, "save_commit", {{"bytes", std::uint64_t{5}}}).ok());
  }
  ASSERT_TRUE(file->close().ok());
}

std::string without_time(const std::string& text) {
  return std::regex_replace(text, std::regex(R"("time":"[^"]*")"), R"("time":"T")");
}

std::vector<std::string> lines(const std::string& path) {
  std::istringstream in(without_time(read_text(path)));
  std::vector<std::string> all;
  for (std::string line; std::getline(in, line);) all.push_back(line);
  return all;
}

TEST(MetricsFile, WritesStepAndEventLines) {
  const ScratchDir dir;
  const std::string path = dir / "metrics.jsonl";
  const auto file = open_or_die(path, 0, 3);
  ASSERT_TRUE(file);
  ASSERT_TRUE(file->step(metrics(7)).ok());
  StepMetrics bad = metrics(8);
  bad.loss = std::nan("");
  bad.tflops = 0.5;
  bad.mfu = 12.5;
  bad.memory = {4096, 0};
  ASSERT_TRUE(file->step(bad).ok());
  const EventFields fields = {
      {"bytes", std::uint64_t{18446744073709551615u}}, {"seconds", 0.5}, {"path", "a\"b"}, {"ok", true}};
  ASSERT_TRUE(file->event(8, "save_commit", fields).ok());
  ASSERT_TRUE(file->parameter_norms(9, {"a.weight", "b.weight"}, {0.5, INFINITY}).ok());
  ASSERT_TRUE(file->sync().ok());
  EXPECT_EQ(
      without_time(read_text(path)),
      R"({"schema":"titan.metrics/1","step":7,"time":"T","attempt":3,"loss":0.3333333333333333,"max_loss":0.5,"grad_norm":1.5,"lr":8e-04,)"
      R"("tokens":700,"samples":14,"tps":12.5,"tps_total":25,"time_s":0.25,"data_s":1,"forward_s":2,"backward_s":3,"pipeline_s":4,)"
      R"("exchange_s":5,"optimizer_s":6,"gather_s":7,"save_s":8})"
      "\n"
      R"({"schema":"titan.metrics/1","step":8,"time":"T","attempt":3,"loss":"nan","max_loss":0.5,"grad_norm":1.5,"lr":8e-04,)"
      R"("tokens":800,"samples":16,"tps":12.5,"tps_total":25,"time_s":0.25,"data_s":1,"forward_s":2,"backward_s":3,"pipeline_s":4,)"
      R"("exchange_s":5,"optimizer_s":6,"gather_s":7,"save_s":8,"tflops":0.5,"mfu":12.5,"memory_bytes":4096,"tensor_bytes":0})"
      "\n"
      R"({"schema":"titan.metrics/1","step":8,"time":"T","attempt":3,"event":"save_commit","bytes":18446744073709551615,)"
      R"("seconds":0.5,"path":"a\"b","ok":true})"
      "\n"
      R"({"schema":"titan.metrics/1","step":9,"time":"T","attempt":3,"event":"parameter_norms",)"
      R"("norms":{"a.weight":0.5,"b.weight":"inf"}})"
      "\n");
}

TEST(MetricsFile, WritesAValidation) {
  const ScratchDir dir;
  const auto file = open_or_die(dir / "metrics.jsonl", 0, 1);
  ASSERT_TRUE(file);
  ASSERT_TRUE(
      file->validation({.step = 7, .loss = 0.5, .tokens = 64, .time_s = 2, .tps = 16, .memory = {4096, 1}}).ok());
  EXPECT_EQ(without_time(read_text(dir / "metrics.jsonl")),
            R"({"schema":"titan.metrics/1","step":7,"time":"T","attempt":1,"event":"validation","validation_loss":0.5,)"
            R"("validation_tokens":64,"time_s":2,"tps":16,"memory_bytes":4096})"
            "\n");
}

TEST(MetricsFile, ContinuesWithoutDoubleOrMissingStepAndKeepsTheCutTail) {
  const ScratchDir dir;
  const std::string path = dir / "metrics.jsonl";
  write_steps(path, 0, 1, 1, 6);
  const std::vector<std::string> before = lines(path);
  write_steps(path, 4, 2, 5, 6);
  const std::vector<std::string> after = lines(path);
  ASSERT_EQ(after.size(), 12u);
  for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(after[i], before[i]);  // steps 1..4 and their events
  for (std::size_t i = 8; i < 12; ++i) EXPECT_NE(after[i].find("\"attempt\":2"), std::string::npos);
  EXPECT_EQ(lines(path + ".attempt-2"), std::vector<std::string>(before.begin() + 8, before.end()));
  // The same attempt number again (it died before its first save): its tail joins the first one.
  write_steps(path, 4, 2, 5, 5);
  EXPECT_EQ(lines(path + ".attempt-2").size(), 8u);
  EXPECT_EQ(lines(path).size(), 10u);
  // Nothing to cut: no file.
  write_steps(path, 5, 3, 6, 6);
  EXPECT_FALSE(std::filesystem::exists(path + ".attempt-3"));
}

TEST(MetricsFile, KeepsTheLastLineOfASaveThatEndedLate) {
  const ScratchDir dir;
  const std::string path = dir / "metrics.jsonl";
  {
    const auto file = open_or_die(path, 0, 1);
    for (std::uint64_t step = 1; step <= 3; ++step) ASSERT_TRUE(file->step(metrics(step)).ok());
    ASSERT_TRUE(file->event(2, "save_commit", {{"bytes", std::uint64_t{5}}}).ok());
  }
  const std::vector<std::string> before = lines(path);
  write_steps(path, 2, 2, 3, 3);
  const std::vector<std::string> after = lines(path);
  ASSERT_EQ(after.size(), 5u);
  EXPECT_EQ(after[1], before[1]);
  EXPECT_EQ(after[2], before[3]);
  EXPECT_NE(after[3].find(R"("step":3,)"), std::string::npos);
  // Going back further takes it away.
  write_steps(path, 1, 3, 2, 2);
  EXPECT_EQ(lines(path).size(), 3u);
}

TEST(MetricsFile, KeepsNothingAtAFreshStart) {
  const ScratchDir dir;
  const std::string path = dir / "metrics.jsonl";
  write_steps(path, 0, 1, 1, 2);
  const std::string before = read_text(path);
  ASSERT_TRUE(open_or_die(path, 0, 1));
  EXPECT_EQ(read_text(path), "");
  EXPECT_EQ(read_text(path + ".attempt-1"), before);
}

TEST(MetricsFile, DropsALastLineTornAtAnyByte) {
  const ScratchDir dir;
  const std::string path = dir / "metrics.jsonl";
  write_steps(path, 0, 1, 1, 3);
  const std::string whole = read_text(path);
  const std::size_t last = whole.rfind('\n', whole.size() - 2) + 1;
  for (std::size_t size = last; size <= whole.size(); ++size) {
    dir.write("metrics.jsonl", whole.substr(0, size));
    const auto file = open_or_die(path, 3, 2);
    ASSERT_TRUE(file);
    EXPECT_EQ(read_text(path), size == whole.size() ? whole : whole.substr(0, last)) << size;
    ASSERT_TRUE(file->step(metrics(4)).ok());
    EXPECT_EQ(lines(path).size(), size == whole.size() ? 7u : 6u);
    EXPECT_FALSE(std::filesystem::exists(path + ".attempt-2"));
  }
}

TEST(MetricsFile, ReadsFilesLargerThanItsBuffer) {
  const ScratchDir dir;
  const std::string path = dir / "metrics.jsonl";
  const auto file = open_or_die(path, 0, 1);
  ASSERT_TRUE(file);
  for (std::uint64_t step = 1; step <= 12000; ++step) ASSERT_TRUE(file->step(metrics(step)).ok());
  ASSERT_TRUE(file->close().ok());
  const std::string whole = read_text(path);
  ASSERT_GT(whole.size(), std::size_t{2} << 20);
  ASSERT_TRUE(open_or_die(path, 2000, 2));
  const std::string kept = read_text(path);
  EXPECT_EQ(kept + read_text(path + ".attempt-2"), whole);
  EXPECT_NE(kept.rfind("\"step\":2000,"), std::string::npos);
  EXPECT_EQ(kept.find("\"step\":2001,"), std::string::npos);
}

TEST(MetricsFile, LeavesNoPartialLineWhenTheDiskIsFull) {
  const ScratchDir dir;
  const std::string path = dir / "metrics.jsonl";
  const auto file = open_or_die(path, 0, 1);
  ASSERT_TRUE(file);
  ASSERT_TRUE(file->step(metrics(1)).ok());
  const std::string before = read_text(path);
  // A file size limit cuts a write short just as a full disk does.
  rlimit old;
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit tight{before.size() + 50, old.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &tight), 0);
  const ckpt::Status status = file->step(metrics(2));
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &old), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(status.code, ckpt::Code::kFailed);
  EXPECT_NE(status.message.find(path), std::string::npos) << status.message;
  EXPECT_EQ(read_text(path), before);
  EXPECT_TRUE(file->step(metrics(2)).ok());
  EXPECT_EQ(lines(path).size(), 2u);
}

TEST(MetricsFile, ReportsWhatItCannotOpenOrWrite) {
  const ScratchDir dir;
  const auto missing = MetricsFile::open(ckpt::posix_fs(), dir / "none/metrics.jsonl", 0, 1);
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.status().code, ckpt::Code::kFailed);
  EXPECT_NE(missing.status().message.find("none/metrics.jsonl"), std::string::npos);
  const auto file = open_or_die(dir / "m.jsonl", 0, 1);
  ASSERT_TRUE(file);
  ASSERT_TRUE(file->close().ok());
  EXPECT_TRUE(file->close().ok());
  EXPECT_EQ(file->step(metrics(1)).code, ckpt::Code::kFailed);
  EXPECT_EQ(file->sync().code, ckpt::Code::kFailed);
}

}  // namespace
}  // namespace titan::train::metrics_file_test
