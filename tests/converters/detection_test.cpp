#include <gtest/gtest.h>

#include "converters/convert.h"
#include "converters/format.h"
#include "tests/support/failing_fs.h"
#include "tests/support/files.h"
#include "tests/support/mem_fs.h"

namespace titan::convert::detection_test {
namespace {

using ckpt::Code;
using ckpt::testing::FailingFs;
using ckpt::testing::MemFs;
using ckpt::testing::Op;
using ckpt::testing::put_text;

struct Folders {
  MemFs memory;
  FailingFs fs{memory};
  Folders() {
    EXPECT_TRUE(put_text(memory, "/hf/model.safetensors", "x").ok());
    EXPECT_TRUE(put_text(memory, "/hf/config.json", "{}").ok());
    EXPECT_TRUE(put_text(memory, "/dcp/.metadata", "x").ok());
    EXPECT_TRUE(put_text(memory, "/dcp-without/__0_0.distcp", "x").ok());
    EXPECT_TRUE(put_text(memory, "/near/config.json", "{}").ok());
    EXPECT_TRUE(put_text(memory, "/near/model-00001-of-00002.safetensors", "x").ok());
  }
};

std::string name_of(const ckpt::Result<const Format*>& format) {
  return !format.ok() ? format.status().message : *format == nullptr ? "none" : (*format)->name();
}

TEST(DetectFormat, KnowsFormatsByTheNamesOfTheirFiles) {
  Folders f;
  for (const auto& [path, name] : {std::pair{"/hf", "hf"},
                                   {"/hf/model.safetensors", "hf"},
                                   {"/dcp", "dcp"},
                                   {"/dcp-without", "dcp"},
                                   {"/near", "none"},
                                   {"/nothing", "none"},
                                   {"/hf/config.json", "none"}})
    EXPECT_EQ(name_of(detect_format(f.fs, path)), name) << path;
}

// A look that fails is no answer: "no checkpoint of a known format" would be a wrong one.
TEST(DetectFormat, TwoCheckpointsInOneFolderAreNeither) {
  Folders f;
  ASSERT_TRUE(put_text(f.memory, "/hf/.metadata", "x").ok());
  const auto both = detect_format(f.fs, "/hf");
  EXPECT_EQ(both.status().code, Code::kIncompatible);
  EXPECT_NE(both.status().message.find("holds two checkpoints"), std::string::npos);
}

TEST(DetectFormat, ALookThatFailsIsAnErrorAndNotAnotherFormat) {
  Folders f;
  for (const std::string path : {"/hf", "/hf/model.safetensors", "/dcp", "/dcp-without", "/near"}) {
    const std::string right = name_of(detect_format(f.memory, path));
    for (const Op op : {Op::kStat, Op::kList}) {
      for (const int error : {EIO, EMFILE, EACCES}) {
        for (std::uint64_t k = 1;; ++k) {
          f.fs.arm({.op = op, .k = k, .error = error});
          const auto format = detect_format(f.fs, path);
          if (!f.fs.fired()) break;
          if (format.ok()) {
            EXPECT_EQ(name_of(format), right) << path << ": what failed was not needed";
          } else {
            EXPECT_EQ(format.status().code, error == EIO ? Code::kMediaError : Code::kFailed) << path;
          }
        }
      }
    }
  }
}

TEST(DetectFormat, ConvertingWhatCannotBeLookedAtIsAFailureAndNotAMissingCheckpoint) {
  Folders f;
  for (const Op op : {Op::kStat, Op::kList}) {
    for (std::uint64_t k = 1;; ++k) {
      f.fs.arm({.op = op, .path_part = "/near", .k = k});
      ConvertOptions options;
      options.source = "/near";
      options.destination = "/out";
      const auto report = convert_checkpoint(f.fs, options);
      ASSERT_FALSE(report.ok());
      if (!f.fs.fired()) {
        EXPECT_EQ(report.status().code, Code::kNotFound);
        break;
      }
      EXPECT_TRUE(report.status().code == Code::kMediaError || report.status().code == Code::kNotFound)
          << report.status().to_string();
      if (report.status().code == Code::kNotFound) {
        EXPECT_NE(report.status().message.find("model-00001-of-00002.safetensors"), std::string::npos)
            << "the right reason, not another";
      }
    }
  }
}

}  // namespace
}  // namespace titan::convert::detection_test
