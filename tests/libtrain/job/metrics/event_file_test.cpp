#include "libtrain/job/metrics/event_file.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "ckpt/base/fs_posix.h"
#include "tests/support/scratch_dir.h"

namespace titan::train::event_file_test {
namespace {

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) names.push_back(entry.path().filename());
  std::ranges::sort(names);
  return names;
}

TEST(EventFile, NameSortsBehindThoseThatAreThere) {
  EXPECT_EQ(event_file_name(1700000000, "host", 7, {}), "events.out.tfevents.1700000000.host.7.0");
  EXPECT_EQ(event_file_name(5, "h", 7, {"else", "events.out.tfevents.x", "events.out.tfevents.12.h.1.0"}),
            "events.out.tfevents.0000000005.h.7.0");
  // A clock that was set back, and two starts within a second.
  EXPECT_EQ(event_file_name(1700000000, "h", 7,
                            {"events.out.tfevents.1700000300.z.9.0", "events.out.tfevents.1700000000.h.7.0"}),
            "events.out.tfevents.1700000301.h.7.0");
}

TEST(EventFile, EachStartHasAFileThatBeginsWithStart) {
  const ScratchDir dir;
  const std::string folder = dir / "run/tb";
  for (const std::uint64_t step : {0, 4}) {
    auto file = EventFile::open(ckpt::posix_fs(), folder, step);
    ASSERT_TRUE(file.ok()) << file.status().to_string();
    ASSERT_TRUE((*file)->add(step + 1, {{"loss", 2.5}}).ok());
    ASSERT_TRUE((*file)->close().ok());
    EXPECT_FALSE((*file)->add(step + 2, {{"loss", 2.5}}).ok());
    EXPECT_TRUE((*file)->close().ok());
  }
  const std::vector<std::string> names = names_in(folder);
  ASSERT_EQ(names.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    // Only the wall time, and the checksum over it, differ from one second to the next.
    const std::string text = read_text(folder + "/" + names[i]);
    const std::string version = file_version_record(0), start = start_record(0, i == 0 ? 1 : 5),
                      point = scalars_record(0, i == 0 ? 1 : 5, {{"loss", 2.5}});
    ASSERT_EQ(text.size(), version.size() + start.size() + point.size());
    const auto same = [&](std::size_t at, const std::string& record) {
      constexpr std::size_t kBefore = 12 + 9;  // frame and wall time
      EXPECT_EQ(text.substr(at, 13), record.substr(0, 13));
      EXPECT_EQ(text.substr(at + kBefore, record.size() - kBefore - 4),
                record.substr(kBefore, record.size() - kBefore - 4));
    };
    same(0, version);
    same(version.size(), start);
    same(version.size() + start.size(), point);
  }
}

}  // namespace
}  // namespace titan::train::event_file_test
