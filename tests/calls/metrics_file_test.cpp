// What the metrics file asks of the kernel.
#include <gtest/gtest.h>

#include <cerrno>

#include "ckpt/base/fs_posix.h"
#include "libtrain/job/metrics/metrics_file.h"
#include "tests/calls/kernel.h"
#include "tests/support/scratch_dir.h"

namespace titan::train::metrics_file_test {
namespace {

using test::Kernel;

TEST(MetricsCalls, SyncIsOneOfTheFileAndAfterItsFailureAllThatWasNotDurableIsWrittenAnew) {
  const ScratchDir dir;
  const std::string path = dir / "metrics.jsonl";
  const auto file = MetricsFile::open(ckpt::posix_fs(), path, 0, 1);
  ASSERT_TRUE(file.ok());
  Kernel kernel(path);
  EXPECT_TRUE((*file)->sync().ok());
  EXPECT_EQ(kernel.count("fdatasync", path), 1u);
  kernel.fail("fdatasync", EIO);
  ASSERT_TRUE((*file)->event(1, "x", {}).ok());
  const std::string lines = read_text(path);
  EXPECT_EQ((*file)->sync().code, ckpt::Code::kFailed);
  EXPECT_EQ(kernel.count("pwrite", path), 1u);
  ASSERT_TRUE((*file)->event(2, "y", {}).ok());
  EXPECT_EQ(kernel.count("pwrite", path), 3u) << "the kernel would say yes to another sync, with the line lost";
  EXPECT_TRUE((*file)->close().ok());
  EXPECT_EQ(kernel.count("fdatasync", path), 3u);
  EXPECT_TRUE(read_text(path).starts_with(lines) && read_text(path).size() > lines.size());
}

// The lines after the resumed step are safe in their own file, under a durable name, before they are cut from this one.
TEST(MetricsCalls, WhatIsCutIsDurableElsewhereBefore) {
  const ScratchDir dir;
  const std::string path = dir / "metrics.jsonl", folder = path.substr(0, path.rfind('/'));
  {
    const auto file = MetricsFile::open(ckpt::posix_fs(), path, 0, 1);
    ASSERT_TRUE(file.ok());
    StepMetrics metrics;
    for (metrics.step = 1; metrics.step <= 3; ++metrics.step) ASSERT_TRUE((*file)->step(metrics).ok());
  }
  {
    Kernel kernel(folder);
    kernel.fail("fdatasync", EIO);
    EXPECT_FALSE(MetricsFile::open(ckpt::posix_fs(), path, 1, 2).ok());
    EXPECT_EQ(kernel.count("ftruncate", path), 0u) << "nothing is cut that may not be safe";
  }
  const Kernel kernel(folder);
  ASSERT_TRUE(MetricsFile::open(ckpt::posix_fs(), path, 1, 3).ok());
  const std::size_t cut = kernel.place("ftruncate", path);
  EXPECT_LT(kernel.place("fdatasync", path + ".attempt-3"), cut);
  EXPECT_LT(kernel.place("fsync", folder), cut);
  EXPECT_LT(cut, kernel.place("fdatasync", path)) << "then the cut itself";
  EXPECT_LT(kernel.place("fdatasync", path), kernel.calls().size());
}

TEST(MetricsCalls, AnInterruptedWriteIsRepeated) {
  const ScratchDir dir;
  const std::string path = dir / "metrics.jsonl";
  const auto file = MetricsFile::open(ckpt::posix_fs(), path, 0, 1);
  ASSERT_TRUE(file.ok());
  Kernel kernel(path);
  kernel.fail("pwrite", EINTR);
  EXPECT_TRUE((*file)->event(1, "x", {}).ok());
  EXPECT_TRUE(kernel.failed());
  EXPECT_EQ(kernel.count("pwrite", path), 2u);
}

}  // namespace
}  // namespace titan::train::metrics_file_test
