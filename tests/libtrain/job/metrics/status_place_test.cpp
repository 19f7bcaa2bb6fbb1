#include "libtrain/job/metrics/status_place.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ckpt/base/files.h"
#include "libtrain/job/metrics/status_file.h"
#include "recipe/keys/config.h"
#include "tests/support/files.h"
#include "tests/support/mem_fs.h"

namespace titan::train::status_place_test {
namespace {

using ckpt::testing::MemFs;
using ckpt::testing::put_text;
using ::testing::HasSubstr;

TEST(StatusPlace, IsBelowTheRunOrWhereAnAbsolutePathSays) {
  EXPECT_EQ(status_path("runs/a", "status.prom"), "runs/a/status.prom");
  EXPECT_EQ(status_path("runs/a", "/var/status.prom"), "/var/status.prom");
}

recipe::Config config_of(const std::string& status_file, const std::string& run = "/run") {
  recipe::Config config;
  config.job.dump_folder = run;
  config.metrics.status_file = status_file;
  return config;
}

TEST(StatusPlace, OnlyAStatusOfThisRunIsReplaced) {
  MemFs fs;
  ASSERT_TRUE(ckpt::make_dirs(fs, "/run").ok());
  const std::string path = "/run/status.prom";
  EXPECT_TRUE(check_status_place(fs, recipe::Config{}).ok()) << "there is none";
  EXPECT_TRUE(check_status_place(fs, config_of(path)).ok()) << "nothing is there";
  EXPECT_TRUE(check_status_place(fs, config_of("/gone/status.prom")).ok());
  RunStatus status{"runs/\"a\""};
  status.step.emplace();
  status.durable = 5;
  const std::string lines = status_text(status, 1);
  for (const std::string& text : {std::string(), lines}) {
    (void)fs.remove_file(path);
    ASSERT_TRUE(put_text(fs, path, text).ok());
    EXPECT_TRUE(check_status_place(fs, config_of(path)).ok()) << "of a run that was moved: " << text;
  }
  for (const std::string& text :
       {std::string("notes\n"), lines + "titan_ is a word of mine\n", std::string("# TYPE other gauge\n"),
        std::string("node_load1 0.5\n"), std::string("titan_scrub_steps{run=\"/run\"} 3\n"),
        std::string((std::size_t{1} << 20) + 1, '#')}) {
    (void)fs.remove_file(path);
    ASSERT_TRUE(put_text(fs, path, text).ok());
    const ckpt::Status refused = check_status_place(fs, config_of(path));
    EXPECT_EQ(refused.code, ckpt::Code::kInvalid);
    EXPECT_THAT(refused.message, HasSubstr("metrics.status_file is /run/status.prom, which exists"));
  }
  const ckpt::Status folder = check_status_place(fs, config_of("/run"));
  EXPECT_EQ(folder.code, ckpt::Code::kInvalid);
  EXPECT_THAT(folder.message, HasSubstr("metrics.status_file"));
  ASSERT_TRUE(put_text(fs, "/shared.prom", lines).ok());
  EXPECT_THAT(check_status_place(fs, config_of("/shared.prom")).message, HasSubstr("the status of the run runs/\"a\""));
  for (const char* run : {"runs/\"a\"", "/home/runs/\"a\"", "\"a\""})
    EXPECT_TRUE(check_status_place(fs, config_of("/shared.prom", run)).ok()) << run;
}

TEST(StatusPlace, AFileOfTheRunIsNone) {
  MemFs fs;
  ASSERT_TRUE(ckpt::make_dirs(fs, "/run/checkpoint").ok());
  for (const char* name :
       {"config.toml", "./config.toml", "/run/config.toml", "config.toml.tmp-0123456789ab", "metrics.jsonl",
        "metrics.jsonl.after", "run.lock", "on_publish.done", "on_publish.log", "tb", "tb/x.prom", "profile_traces/x",
        "cache/x", "logs/rank-0.log", "checkpoint/latest", "checkpoint/../checkpoint/x/y", "sub/../tb/x"}) {
    const ckpt::Status refused = check_status_place(fs, config_of(name));
    EXPECT_EQ(refused.code, ckpt::Code::kInvalid) << name;
    EXPECT_THAT(refused.message, HasSubstr("where the run writes its own files")) << name;
  }
  for (const char* name :
       {"status.prom", "sub/x.prom", "sub/config.toml", "checkpoints/x", "../config.toml", "/other/tb"})
    EXPECT_TRUE(check_status_place(fs, config_of(name)).ok()) << name;
}

}  // namespace
}  // namespace titan::train::status_place_test
