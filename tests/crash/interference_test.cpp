// Lives of a run beside which something goes wrong once: a bit flips between its digest and the disk, or somebody puts
// back, swaps or damages steps while it goes on. A step that was announced as saved always resumes.
// TITAN_LIVES=300 draws 300 seeds of each kind.
#include <gmock/gmock.h>

#include <cstdlib>
#include <map>
#include <random>
#include <set>

#include "ckpt/base/files.h"
#include "ckpt/base/helpers.h"
#include "ckpt/format/member_names.h"
#include "ckpt/ops/scrub.h"
#include "ckpt/read/step_proof.h"
#include "ckpt/run/retention.h"
#include "ckpt/save/commit.h"
#include "ckpt/save/writer.h"
#include "libtrain/job/start/resume_point.h"
#include "tests/crash/world.h"
#include "tests/support/checkpoints.h"
#include "tests/support/files.h"
#include "tests/support/meddling_fs.h"
#include "tests/support/mem_fs.h"

namespace titan::crash::interference_test {
namespace {

using ckpt::ReadBack;
using ckpt::testing::copy_tree;
using ckpt::testing::MeddlingFs;
using ckpt::testing::MemFs;

constexpr std::uint64_t kLast = 50;
constexpr ckpt::Mesh kMesh{1, 2, 1};
constexpr const char* kMark = "mark";  // a file in what somebody else put there

std::uint64_t lives() {
  const char* given = std::getenv("TITAN_LIVES");
  return given == nullptr ? 12 : std::strtoull(given, nullptr, 10);
}

struct Life {
  std::uint64_t keep = 1;
  ReadBack how = ReadBack::kSampled;
  ckpt::Codec codec = ckpt::Codec::kRaw;
};

Life draw(std::mt19937_64& random) {
  Life life;
  life.keep = 1 + random() % 2;
  life.how = random() % 2 == 0 ? ReadBack::kSampled : ReadBack::kAll;
  life.codec = random() % 2 == 0 ? ckpt::Codec::kRaw : ckpt::Codec::kZstd;
  return life;
}

// Changes a bit of a weight behind everybody's back.
void rot(MemFs& disk, const std::string& step) {
  const std::string path = step + "/optimizer/shard-00001.h5";
  std::byte byte{};
  ASSERT_TRUE(disk.open_read(path).value()->pread(4200, {&byte, 1}).ok());
  byte ^= std::byte{1};
  ASSERT_TRUE(disk.overwrite(path, 4200, {&byte, 1}).ok());
}

class BesideARun : public ::testing::Test {
 protected:
  void SetUp() override { ckpt::Helpers::allow_for_test(0); }

  ckpt::Result<ckpt::Published> publish(ckpt::Fs& fs, const Life& life, std::uint64_t step) {
    ckpt::Snapshot snapshot = snapshot_of(step, kMesh, life.codec, Files::kOwn);
    snapshot.read_back = life.how;
    ckpt::testing::PatternSource source(snapshot, step);
    return ckpt::testing::save(fs, kSteps, snapshot, source, "0a1b2c3d4e5" + std::to_string(step / 10));
  }

  /// Saves every step up to kLast. A save that is refused is given up, as with on_save_error = "continue".
  void live(ckpt::Fs& fs, const Life& life) {
    ASSERT_TRUE(ckpt::make_dirs(disk_, kSteps).ok());
    ckpt::Retention retention(
        fs, {kSteps, {life.keep}, {}, [](const std::string&, const std::string&) {}, [](const std::string&) {}});
    for (std::uint64_t step = 10; step <= kLast; step += 10) {
      const bool before = met_;
      const auto published = publish(fs, life, step);
      refused_ = refused_ || !published.ok();
      if (!published.ok()) continue;
      EXPECT_EQ(published->id, id_of(step));
      announced_.push_back(step);
      if (before) since_.insert(step);
      retention.judge(step, published->read_whole ? ckpt::Verdict::kProved : ckpt::Verdict::kSaved, published->id);
      retention.pass();
    }
    ASSERT_FALSE(announced_.empty());
  }

  /// The step that a start takes, after every byte of it was read; 0: none.
  std::uint64_t resumed() {
    std::set<std::uint64_t> damaged;
    while (true) {
      train::StartRequest request;
      request.checkpoint_dir = kSteps;
      const auto start = train::decide_start(disk_, request, damaged);
      if (!start.ok() || start->mode == train::StartMode::kFresh) return 0;
      if (const auto id = ckpt::prove_step(disk_, start->path); id.ok()) {
        EXPECT_EQ(*id, id_of(start->step));
        return start->step;
      }
      damaged.insert(start->step);
    }
  }

  MemFs disk_;
  bool met_ = false;                      ///< what goes wrong has happened
  bool refused_ = false;                  ///< a save was
  std::vector<std::uint64_t> announced_;  ///< as saved
  std::set<std::uint64_t> since_;         ///< of these, begun after that
};

class Flipped : public BesideARun {};

TEST_F(Flipped, AStepThatWasAnnouncedAsSavedResumes) {
  std::map<std::pair<ReadBack, ckpt::Codec>, std::uint64_t> writes;
  for (std::uint64_t seed = 1; seed <= lives(); ++seed) {
    std::mt19937_64 random(seed);
    const Life life = draw(random);
    std::uint64_t& count = writes[{life.how, life.codec}];
    if (count == 0) {
      disk_ = MemFs();
      MeddlingFs counting(disk_);
      live(counting, life);
      count = counting.writes();
    }
    announced_.clear();
    disk_ = MemFs();
    const ckpt::testing::Flip flip{"", 1 + random() % count, random()};
    SCOPED_TRACE("seed " + std::to_string(seed) + ", write " + std::to_string(flip.k) + ", keep " +
                 std::to_string(life.keep) + (life.how == ReadBack::kAll ? ", all" : ", sampled"));
    MeddlingFs fs(disk_, flip);
    live(fs, life);
    const std::uint64_t found = resumed();
    EXPECT_THAT(announced_, ::testing::Contains(found));
    // What was read whole is the newest. A leaf that no sample met costs one step, never the run.
    const std::uint64_t newest = announced_.back();
    EXPECT_GE(found, life.how == ReadBack::kAll ? newest : newest - 10) << "of " << newest;
  }
}

class Meddled : public BesideARun {
 protected:
  enum Deed { kPutBackRotten, kPutBackWhole, kPutAnother, kSwap, kDamage, kScrub, kDeeds };

  /// Another process acts, while `under_way` is being saved. Returns whether it could.
  bool meddle(Deed deed, std::uint64_t under_way) {
    const std::string next = step_path(under_way), before = step_path(under_way - 10);
    if (deed == kScrub) {
      ckpt::ScrubOptions options;
      options.run = kRun;
      options.status = std::string(kRun) + "/scrub.prom";
      options.now = [] { return std::uint64_t{1000}; };
      const auto scrubbed = ckpt::scrub_run(disk_, options);
      EXPECT_TRUE(scrubbed.ok() && scrubbed->verified.damage == 0) << scrubbed.status().to_string();
      return true;
    }
    if (deed == kSwap || deed == kDamage) {
      if (!disk_.stat(before + "/manifest.json").ok()) return false;
      if (deed == kDamage) {
        rot(disk_, before);
        return true;
      }
      EXPECT_TRUE(ckpt::remove_tree(disk_, before).ok());
      EXPECT_TRUE(copy_tree(library_, step_path(kLast), disk_, before));
      return ckpt::testing::put_text(disk_, before + "/" + kMark, "").ok();
    }
    if (disk_.stat(next).ok()) return false;
    EXPECT_TRUE(copy_tree(library_, deed == kPutAnother ? step_path(kLast) : next, disk_, next));
    if (deed == kPutBackRotten) rot(disk_, next);
    return deed == kPutBackWhole || ckpt::testing::put_text(disk_, next + "/" + kMark, "").ok();
  }

  bool marked() {
    for (const std::string& name : ckpt::testing::tree(disk_, kSteps))
      if (name.ends_with(std::string("/") + kMark)) return true;
    return false;
  }

  MemFs library_;
};

TEST_F(Meddled, AStepThatWasAnnouncedAsSavedResumesAndNobodyElsesIsDeleted) {
  constexpr std::uint64_t kCalls = 400;  // about those of two saves
  std::map<Deed, std::uint64_t> done;
  for (std::uint64_t seed = 1; seed <= lives(); ++seed) {
    std::mt19937_64 random(seed);
    Life life = draw(random);
    const auto deed = static_cast<Deed>(seed % kDeeds);
    library_ = MemFs();
    ASSERT_TRUE(ckpt::make_dirs(library_, kSteps).ok());
    for (std::uint64_t step = 10; step <= kLast; step += 10) ASSERT_TRUE(publish(library_, life, step).ok());
    announced_.clear();
    since_.clear();
    met_ = refused_ = false;
    disk_ = MemFs();
    MeddlingFs fs(disk_);
    const std::uint64_t at = random() % kCalls;
    SCOPED_TRACE("seed " + std::to_string(seed) + ", deed " + std::to_string(deed) + ", from call " +
                 std::to_string(at) + ", keep " + std::to_string(life.keep));
    std::uint64_t call = 0;
    fs.before_calls([&](const char* name, const std::string& path) {
      // Nothing fences between the last look and a rename.
      const bool too_late = std::string(name) == "rename" && path.find("/.") != std::string::npos;
      const std::uint64_t under_way = announced_.empty() ? 10 : announced_.back() + 10;
      if (met_ || too_late || ++call < at || under_way == 10 || under_way == kLast || under_way > kLast) return;
      met_ = meddle(deed, under_way);
      done[deed] += met_ ? 1 : 0;
    });
    live(fs, life);
    EXPECT_EQ(announced_.back(), kLast);
    EXPECT_TRUE(!met_ || since_.contains(kLast));
    EXPECT_EQ(resumed(), kLast);
    // A copy of the run's own step that no save met is a step like any other.
    const bool own = deed == kPutBackWhole || deed == kDamage || deed == kScrub || (deed == kPutBackRotten && refused_);
    EXPECT_TRUE(!met_ || own || marked()) << "what somebody put there is gone";
  }
  EXPECT_GE(done.size(), lives() < kDeeds ? 1u : 4u) << "hardly anything was done";
}

}  // namespace
}  // namespace titan::crash::interference_test
