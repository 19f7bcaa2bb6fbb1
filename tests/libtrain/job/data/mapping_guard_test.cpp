#include "libtrain/job/data/mapping_guard.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "libtrain/job/data/mapped_file.h"
#include "tests/support/scratch_dir.h"

namespace titan::train::mapping_guard_test {
namespace {

/// Reads the last byte of `size` bytes of which the second half is gone; the optimizer must not know what is read.
int read_behind_the_end(const std::string& path) {
  auto file = MappedFile::open(path);
  if (!file.ok() || ::truncate(path.c_str(), 4096) != 0) return -1;
  const volatile std::byte* bytes = file->bytes().data();
  return static_cast<int>(bytes[file->bytes().size() - 1]);
}

TEST(MappingGuardDeathTest, AFileThatIsCutShortEndsTheProcessWithItsName) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  const ScratchDir dir;
  const std::string path = dir.write("tokens.bin", std::string(16 * 4096, 'x'));
  EXPECT_EXIT(read_behind_the_end(path), ::testing::ExitedWithCode(3),
              "error: data file '.*tokens\\.bin' cannot be read any more.*\n  hint: put the whole file back");
}

TEST(MappingGuardDeathTest, OtherBusErrorsKillAsBefore) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  const ScratchDir dir;
  const std::string watched = dir.write("watched", std::string(4096, 'x')),
                    other = dir.write("other", std::string(2 * 4096, 'x'));
  EXPECT_EXIT(
      {
        const auto file = MappedFile::open(watched);
        const int fd = ::open(other.c_str(), O_RDONLY);
        void* mapped = ::mmap(nullptr, 2 * 4096, PROT_READ, MAP_PRIVATE, fd, 0);
        watch_mapping(mapped, 2 * 4096, other);
        unwatch_mapping(mapped);
        if (::truncate(other.c_str(), 0) == 0) ::_exit(static_cast<const volatile char*>(mapped)[4096]);
      },
      ::testing::KilledBySignal(SIGBUS), "");
}

}  // namespace
}  // namespace titan::train::mapping_guard_test
