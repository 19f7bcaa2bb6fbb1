#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ckpt/base/fs_posix.h"
#include "ckpt/run/recover.h"
#include "ckpt/store/store_probe.h"
#include "tests/support/failing_fs.h"
#include "tests/support/files.h"
#include "tests/support/fs_wrapper.h"
#include "tests/support/mem_fs.h"

namespace titan::ckpt::store_probe_test {
namespace {

using testing::FailingFs;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::MemFs;
using testing::Op;

TEST(ProbeStore, AcceptsTheRealAndTheMemoryFileSystemAndLeavesNothing) {
  testing::TempDir dir;
  EXPECT_TRUE(probe_store(posix_fs(), dir.path()).ok());
  EXPECT_THAT(testing::tree(posix_fs(), dir.path()), IsEmpty());
  MemFs memory;
  EXPECT_TRUE(probe_store(memory, "/").ok());
  EXPECT_THAT(testing::tree(memory, "/"), IsEmpty());
}

TEST(ProbeStore, NamesWhatTheStoreCannotDo) {
  const std::pair<Op, const char*> cases[] = {{Op::kMakeDir, "making a folder"},
                                              {Op::kCreate, "exclusive creation"},
                                              {Op::kPwrite, "sparse positioned write"},
                                              {Op::kDatasync, "making a file durable"},
                                              {Op::kRenameNoReplace, "renaming a folder"},
                                              {Op::kSyncDir, "making a folder durable"},
                                              {Op::kRemoveDir, "removing files and folders"}};
  for (const auto& [op, says] : cases) {
    MemFs memory;
    FailingFs failing(memory);
    failing.arm({.op = op, .error = EINVAL});
    Status status = probe_store(failing, "/");
    EXPECT_EQ(status.code, Code::kFailed) << says;
    EXPECT_THAT(status.message, HasSubstr(says));
    EXPECT_THAT(status.causes, ::testing::Not(IsEmpty()));
    EXPECT_FALSE(status.hint.empty());
  }
}

TEST(ProbeStore, EveryFailingCallIsReportedAndWhatIsLeftIsCollectable) {
  for (std::uint64_t k = 1;; ++k) {
    MemFs memory;
    ASSERT_TRUE(memory.make_dir("/c").ok());
    FailingFs failing(memory);
    failing.arm({.k = k, .repeat = testing::Repeat::kSticky, .status = failed("injected")});
    Status status = probe_store(failing, "/c");
    if (!failing.fired()) {
      EXPECT_TRUE(status.ok());
      ASSERT_GT(k, 10u);
      break;
    }
    EXPECT_EQ(status.code, Code::kFailed) << "call " << k;
    EXPECT_THAT(recover_folder(memory, "/c"), IsEmpty());
    EXPECT_THAT(testing::tree(memory, "/c"), IsEmpty()) << "call " << k;
  }
}

/// A store as object stores pretend to be: a rename, or the making of a file, replaces whatever is there.
class ReplacingFs final : public testing::FsWrapper {
 public:
  enum class What { kRename, kCreate };
  ReplacingFs(Fs& inner, What what) : FsWrapper(inner), what_(what) {}
  Result<std::unique_ptr<File>> create(const std::string& path) override {
    if (what_ == What::kCreate && inner_.stat(path).ok()) TITAN_RETURN_IF_ERROR(inner_.remove_file(path));
    return inner_.create(path);
  }
  Status rename_noreplace(const std::string& from, const std::string& to) override {
    return what_ == What::kRename ? inner_.rename(from, to) : inner_.rename_noreplace(from, to);
  }

 private:
  const What what_;
};

TEST(ProbeStore, RefusesAStoreWhoseRenameReplaces) {
  MemFs memory;
  ReplacingFs fs(memory, ReplacingFs::What::kRename);
  Status status = probe_store(fs, "/");
  EXPECT_EQ(status.code, Code::kFailed);
  EXPECT_THAT(status.message, HasSubstr("refusing to rename over an existing folder"));
}

TEST(ProbeStore, RefusesAStoreThatMakesAFileTwice) {
  MemFs memory;
  ReplacingFs fs(memory, ReplacingFs::What::kCreate);
  Status status = probe_store(fs, "/");
  EXPECT_EQ(status.code, Code::kFailed);
  EXPECT_THAT(status.message, HasSubstr("exclusive creation of a file"));
}

}  // namespace
}  // namespace titan::ckpt::store_probe_test
