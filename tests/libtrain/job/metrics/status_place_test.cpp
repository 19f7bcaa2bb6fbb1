#include "libtrain/job/metrics/status_place.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "libtrain/job/metrics/status_file.h"
#include "tests/support/files.h"
#include "tests/support/mem_fs.h"

namespace titan::train::status_place_test {
namespace {

using ckpt::testing::MemFs;
using ckpt::testing::put_text;

TEST(StatusPlace, IsBelowTheRunOrWhereAnAbsolutePathSays) {
  EXPECT_EQ(status_path("runs/a", "status.prom"), "runs/a/status.prom");
  EXPECT_EQ(status_path("runs/a", "/var/status.prom"), "/var/status.prom");
}

TEST(StatusPlace, OnlyAStatusOfARunIsReplaced) {
  MemFs fs;
  ASSERT_TRUE(ckpt::make_dirs(fs, "/run").ok());
  const std::string path = "/run/status.prom";
  EXPECT_TRUE(check_status_place(fs, path).ok()) << "nothing is there";
  EXPECT_TRUE(check_status_place(fs, "/gone/status.prom").ok());
  RunStatus status{"runs/\"a\""};
  status.step.emplace();
  status.durable = 5;
  const std::string lines = status_text(status, 1);
  for (const std::string& text : {std::string(), lines}) {
    (void)fs.remove_file(path);
    ASSERT_TRUE(put_text(fs, path, text).ok());
    EXPECT_TRUE(check_status_place(fs, path).ok()) << text;
  }
  for (const std::string& text :
       {std::string("notes\n"), lines + "titan_ is a word of mine\n", std::string("# TYPE other gauge\n"),
        std::string("node_load1 0.5\n"), std::string("titan_scrub_steps{run=\"/run\"} 3\n"),
        std::string((std::size_t{1} << 20) + 1, '#')}) {
    (void)fs.remove_file(path);
    ASSERT_TRUE(put_text(fs, path, text).ok());
    const ckpt::Status refused = check_status_place(fs, path);
    EXPECT_EQ(refused.code, ckpt::Code::kInvalid);
    EXPECT_THAT(refused.message, ::testing::HasSubstr("metrics.status_file is /run/status.prom, which exists"));
  }
  const ckpt::Status folder = check_status_place(fs, "/run");
  EXPECT_EQ(folder.code, ckpt::Code::kInvalid);
  EXPECT_THAT(folder.message, ::testing::HasSubstr("metrics.status_file"));
}

}  // namespace
}  // namespace titan::train::status_place_test
