#include "ckpt/save/own_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/ckpt/save/rewrite_tool.h"
#include "tests/support/mem_fs.h"

namespace titan::ckpt::own_files_test {
namespace {

using namespace titan::ckpt::testing;  // NOLINT: the file is about these
using ::testing::HasSubstr;

TEST(OwnFiles, ADestinationWithAFileOfSomebodyElseIsNotReplaced) {
  for (const char* file : {"NOTES.md", "model/notes.txt", "mine/deep/er", "parity/readme"}) {
    SCOPED_TRACE(file);
    MemFs fs;
    make(fs, "/src");
    make(fs, "/out");
    const std::string dst = "/out/step-00000010", path = dst + "/" + file;
    for (const char* ours : {"signature.json", "signature.json.tmp-0123456789ab", "parity/parity-00000.bin"})
      ASSERT_TRUE(put_text(fs, dst + "/" + ours, "{}").ok());
    ASSERT_TRUE(fs.make_dir(dst + "/empty").ok());
    ASSERT_TRUE(put_text(fs, path, "mine").ok());
    const auto before = contents(fs, "/out");
    for (const Status& status : {check_rewrite(fs, kSrc, dst, true), copy_checkpoint(fs, kSrc, dst, true),
                                 Rewrite::begin_in_place(fs, dst).status()}) {
      EXPECT_EQ(status.code, Code::kInvalid);
      EXPECT_THAT(status.message, HasSubstr(dst + " also holds '" + file + "'"));
    }
    EXPECT_TRUE(contents(fs, "/out") == before);
    ASSERT_TRUE(fs.remove_file(path).ok());
    EXPECT_TRUE(copy_checkpoint(fs, kSrc, dst, true).ok()) << "the rest is ours";
  }
}

}  // namespace
}  // namespace titan::ckpt::own_files_test
