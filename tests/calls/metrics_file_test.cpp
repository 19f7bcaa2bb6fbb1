// What the metrics file asks of the kernel.
#include <gtest/gtest.h>

#include <cerrno>

#include "libtrain/metrics/metrics.h"
#include "tests/calls/kernel.h"
#include "tests/libtrain/scratch_dir.h"

namespace titan::train {
namespace {

using test::Kernel;

TEST(MetricsCalls, SyncIsAnFsyncOfTheFileAndItsFailureIsSaid) {
  const ScratchDir dir;
  const std::string path = dir / "metrics.jsonl";
  const auto file = MetricsFile::open(path, 0, 1);
  ASSERT_TRUE(file.ok());
  Kernel kernel(path);
  EXPECT_TRUE((*file)->sync().ok());
  EXPECT_EQ(kernel.count("fsync", path), 1u);
  kernel.fail("fsync", EIO);
  EXPECT_EQ((*file)->sync().code, ckpt::Code::kFailed);
  EXPECT_TRUE((*file)->close().ok());
  EXPECT_EQ(kernel.count("fsync", path), 3u) << "close() syncs";
}

// The lines after the resumed step are safe in their own file, under a durable name, before they are cut from this one.
TEST(MetricsCalls, WhatIsCutIsDurableElsewhereBefore) {
  const ScratchDir dir;
  const std::string path = dir / "metrics.jsonl", folder = path.substr(0, path.rfind('/'));
  {
    const auto file = MetricsFile::open(path, 0, 1);
    ASSERT_TRUE(file.ok());
    StepMetrics metrics;
    for (metrics.step = 1; metrics.step <= 3; ++metrics.step) ASSERT_TRUE((*file)->step(metrics).ok());
  }
  {
    Kernel kernel(folder);
    kernel.fail("fsync", EIO);
    EXPECT_FALSE(MetricsFile::open(path, 1, 2).ok());
    EXPECT_EQ(kernel.count("ftruncate", path), 0u) << "nothing is cut that may not be safe";
  }
  const Kernel kernel(folder);
  ASSERT_TRUE(MetricsFile::open(path, 1, 3).ok());
  const std::size_t cut = kernel.place("ftruncate", path);
  EXPECT_LT(kernel.place("fsync", path + ".attempt-3"), cut);
  EXPECT_LT(kernel.place("fsync", folder), cut);
  EXPECT_LT(cut, kernel.place("fsync", path)) << "then the cut itself";
  EXPECT_LT(kernel.place("fsync", path), kernel.calls().size());
}

TEST(MetricsCalls, AnInterruptedWriteIsRepeated) {
  const ScratchDir dir;
  const std::string path = dir / "metrics.jsonl";
  const auto file = MetricsFile::open(path, 0, 1);
  ASSERT_TRUE(file.ok());
  Kernel kernel(path);
  kernel.fail("write", EINTR);
  EXPECT_TRUE((*file)->event(1, "x", {}).ok());
  EXPECT_TRUE(kernel.failed());
  EXPECT_EQ(kernel.count("write", path), 2u);
}

}  // namespace
}  // namespace titan::train
