#include "ckpt/ops/strip.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <map>

#include "ckpt/base/files.h"
#include "ckpt/format/manifest_builder.h"
#include "ckpt/format/manifest_codec.h"
#include "ckpt/format/shard_file.h"
#include "ckpt/ops/lr_set.h"
#include "ckpt/ops/lr_show.h"
#include "ckpt/read/verifier.h"
#include "ckpt/run/run_check.h"
#include "ckpt/run/run_folder.h"
#include "tests/support/failing_fs.h"
#include "tests/support/files.h"
#include "tests/support/make_checkpoint.h"
#include "tests/support/mem_fs.h"

namespace titan::ckpt::strip_test {
namespace {

using namespace titan::ckpt::testing;  // NOLINT: the file is about these
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kSrc = "/run/checkpoint/step-00000010";

class Strip : public ::testing::Test {
 protected:
  Strip() {
    made_.dp = made_.pp = 2;
    EXPECT_TRUE(make_checkpoint(fs_, "/run/checkpoint", made_).ok());
    EXPECT_TRUE(fs_.make_dir("/out").ok());
    options_.src = kSrc;
    options_.dst = "/out/step-00000010";
    options_.writer = "test";
    options_.created = "2026-01-02T03:04:05Z";
  }

  Result<StripReport> strip(Fs& fs) {
    TITAN_ASSIGN_OR_RETURN(StripReport report, plan_strip(fs, options_));
    TITAN_RETURN_IF_ERROR(write_strip(fs, options_, report));
    return report;
  }
  bool whole(const std::string& path) {
    const auto report = verify_checkpoint(fs_, path);
    return report.ok() && report->damage.empty();
  }
  std::map<std::string, std::string> contents(const std::string& folder) {
    std::map<std::string, std::string> all;
    for (const std::string& name : tree(fs_, folder))
      all[name] = name.ends_with('/') ? "" : get_text(fs_, folder + "/" + name);
    return all;
  }
  static std::vector<std::byte> tensor(const CheckpointReader& reader, std::uint32_t index) {
    const StoredTensor* stored = reader.manifest().stored({index, ""});
    const LeafGrid grid = reader.manifest().parameters[index].meta.grid(reader.manifest().leaf_elements);
    std::vector<std::byte> bytes(grid.elements * dtype_size(stored->dtype));
    EXPECT_TRUE(reader.read({index, ""}, {0, grid.count()}, bytes).ok());
    return bytes;
  }

  MemFs fs_;
  Synthetic made_;
  StripOptions options_;
};

TEST_F(Strip, LinksWhatStaysAndKeepsTheDigestsOfComponents) {
  const auto before = contents("/run");
  const auto report = strip(fs_);
  ASSERT_TRUE(report.ok()) << report.status().to_string();
  const bool untouched = contents("/run") == before;
  EXPECT_TRUE(untouched);
  EXPECT_TRUE(whole(options_.dst));
  EXPECT_THAT(report->kept, ElementsAre("model", "lr_scheduler", "dataloader", "train_state"));
  EXPECT_THAT(report->dropped, ElementsAre("optimizer"));
  EXPECT_THAT(report->rewritten, IsEmpty());
  for (const CarriedFile& file : report->files) EXPECT_EQ(file.method, LinkMethod::kLink);
  const auto source = CheckpointReader::open(fs_, kSrc), made = CheckpointReader::open(fs_, options_.dst);
  for (const char* component : {"model", "lr_scheduler", "dataloader", "train_state"})
    EXPECT_EQ(*made->manifest().component(component), *source->manifest().component(component));
  EXPECT_EQ(made->manifest().component("optimizer"), nullptr);
  EXPECT_EQ(made->manifest().id, report->new_id);
  EXPECT_NE(report->new_id, report->old_id);
  EXPECT_EQ(fs_.stat(options_.dst + "/optimizer").status().code, Code::kNotFound);
  ASSERT_TRUE(delete_step(fs_, "/run/checkpoint", "step-00000010", "test").ok());
  EXPECT_TRUE(whole(options_.dst)) << "pruning the source leaves the result whole";
}

TEST_F(Strip, KeepModelKeepsTheParametersAlone) {
  options_.keep = StripKeep::kModel;
  const auto report = strip(fs_);
  ASSERT_TRUE(report.ok()) << report.status().to_string();
  EXPECT_TRUE(whole(options_.dst));
  const auto made = CheckpointReader::open(fs_, options_.dst);
  ASSERT_EQ(made->manifest().components.size(), 1u);
  EXPECT_EQ(made->manifest().step, 10u);
  const auto shown = lr_show(fs_, options_.dst, {});
  EXPECT_EQ(shown.status().code, Code::kIncompatible);
  EXPECT_THAT(shown.status().hint, HasSubstr(kSrc));
}

TEST_F(Strip, ASourceThatWasReplacedSinceItWasPlannedIsRefused) {
  auto report = plan_strip(fs_, options_);
  ASSERT_TRUE(report.ok()) << report.status().to_string();
  ASSERT_TRUE(delete_step(fs_, "/run/checkpoint", "step-00000010", "test").ok());
  made_.seed = 2;
  ASSERT_TRUE(make_checkpoint(fs_, "/run/checkpoint", made_).ok());
  const Status status = write_strip(fs_, options_, *report);
  EXPECT_EQ(status.code, Code::kFailed);
  EXPECT_THAT(status.message, HasSubstr("has changed since it was looked at"));
  EXPECT_THAT(tree(fs_, "/out"), IsEmpty());
}

// No writer of ours makes such a file; the format allows it.
TEST_F(Strip, AFileThatHoldsModelAndOptimizerIsRefusedByName) {
  const std::string manifest_path = std::string(kSrc) + "/manifest.json";
  Manifest manifest = CheckpointReader::open(fs_, kSrc)->manifest();
  // The first piece of the optimizer moves into a file of the model: rows, room and sums follow.
  ParameterRecord& record = manifest.parameters[0];
  Piece& moved = record.slots[0].tensor.pieces[0];
  const std::uint32_t from = moved.file, to = record.model->pieces[0].file;
  const std::uint64_t size = record.meta.grid(manifest.leaf_elements).begin(moved.first_leaf + moved.leaf_count) * 4 -
                             record.meta.grid(manifest.leaf_elements).begin(moved.first_leaf) * 4;
  const std::uint64_t gone = moved.row;
  moved.file = to;
  moved.row = manifest.files[to].table_rows;
  moved.offset = manifest.files[to].table_offset;
  manifest.files[to].table_rows += moved.leaf_count;
  manifest.files[to].table_offset += size;
  manifest.files[to].bytes += size + moved.leaf_count * kLeafRowBytes;
  manifest.files[from].table_rows -= moved.leaf_count;
  for (ParameterRecord& other : manifest.parameters)
    for (SlotTensor& slot : other.slots)
      for (Piece& piece : slot.tensor.pieces)
        if (piece.file == from && piece.row > gone) piece.row -= moved.leaf_count;
  ManifestBuilder builder(manifest);
  builder.sum_up(kModel);
  builder.sum_up(kOptimizer);
  ASSERT_TRUE(fs_.resize(std::string(kSrc) + "/" + manifest.files[to].path, manifest.files[to].bytes).ok());
  ASSERT_TRUE(fs_.remove_file(manifest_path).ok());
  ASSERT_TRUE(put_text(fs_, manifest_path, encode_manifest(manifest)).ok());
  const auto refused = plan_strip(fs_, options_);
  EXPECT_EQ(refused.status().code, Code::kUnsupported) << refused.status().to_string();
  EXPECT_THAT(refused.status().message, HasSubstr(manifest.files[to].path + " holds leaves of both"));
  EXPECT_THAT(refused.status().hint, HasSubstr("titan-ckpt reshard"));
}

TEST_F(Strip, AResumeNeverTakesTheResult) {
  made_.step = 20;
  ASSERT_TRUE(make_checkpoint(fs_, "/run/checkpoint", made_).ok());
  options_.src = "/run/checkpoint/step-00000020";
  options_.dst = "/other/checkpoint/step-00000020";
  ASSERT_TRUE(make_dirs(fs_, "/other/checkpoint").ok());
  made_.step = 10;
  ASSERT_TRUE(make_checkpoint(fs_, "/other/checkpoint", made_).ok());
  ASSERT_TRUE(strip(fs_).ok());
  const auto scan = scan_run(fs_, "/other/checkpoint");
  const ResumeChoice choice = select_resume(*scan);
  ASSERT_NE(choice.entry, nullptr);
  EXPECT_EQ(choice.entry->step, 10u);
  EXPECT_THAT(choice.skipped, ElementsAre(HasSubstr("has no optimizer")));
}

TEST_F(Strip, ConvertsWhileStreamingAndSaysWhatItCost) {
  options_.dtype = DType::kBF16;
  std::uint64_t last = 0, total = 0;
  options_.progress = [&](std::uint64_t done, std::uint64_t of) { EXPECT_GT(done, last), last = done, total = of; };
  const auto report = strip(fs_);
  ASSERT_TRUE(report.ok()) << report.status().to_string();
  EXPECT_EQ(last, total);
  EXPECT_TRUE(whole(options_.dst));
  const auto source = CheckpointReader::open(fs_, kSrc), made = CheckpointReader::open(fs_, options_.dst);
  ASSERT_TRUE(made.ok());
  RoundingError worst;
  std::string where;
  for (std::uint32_t i = 0; i < made->manifest().parameters.size(); ++i) {
    const std::vector<std::byte> from = tensor(*source, i), to = tensor(*made, i);
    std::vector<std::byte> expected(from.size() / 2);
    const RoundingError error = convert_elements(DType::kF32, from, DType::kBF16, expected);
    EXPECT_EQ(to, expected) << made->manifest().parameters[i].meta.name;
    if (error.largest > worst.largest) worst = error, where = made->manifest().parameters[i].meta.name;
  }
  EXPECT_GT(worst.largest, 0);
  EXPECT_EQ(report->error.largest, worst.largest);
  EXPECT_EQ(report->error.at, worst.at);
  EXPECT_EQ(report->worst_tensor, where);
  EXPECT_EQ(made->manifest().component("model")->bytes * 2, source->manifest().component("model")->bytes);

  // And back: exact, so the same digests as a second conversion.
  options_.src = options_.dst;
  options_.dst = "/out/wide";
  options_.dtype = DType::kF32;
  options_.progress = {};
  const auto back = strip(fs_);
  ASSERT_TRUE(back.ok()) << back.status().to_string();
  EXPECT_EQ(back->error.rounded, 0u);
  EXPECT_TRUE(whole("/out/wide"));
}

TEST_F(Strip, ADtypeThatIsThereAlreadyLinks) {
  options_.dtype = DType::kF32;
  const auto report = strip(fs_);
  ASSERT_TRUE(report.ok());
  EXPECT_FALSE(report->dtype.has_value());
  EXPECT_THAT(report->rewritten, IsEmpty());
}

TEST_F(Strip, ADamagedLeafIsNamedAndNothingIsLeft) {
  const auto reader = CheckpointReader::open(fs_, kSrc);
  const Manifest& manifest = reader->manifest();
  const Piece piece = manifest.parameters[1].model->pieces[0];
  const std::byte bad[] = {std::byte{0xFF}, std::byte{0xFF}};
  ASSERT_TRUE(fs_.overwrite(std::string(kSrc) + "/" + manifest.files[piece.file].path, piece.offset, bad).ok());
  options_.dtype = DType::kBF16;
  const Status status = strip(fs_).status();
  EXPECT_EQ(status.code, Code::kCorrupt) << status.to_string();
  EXPECT_THAT(status.message, HasSubstr("leaf 0 of tensor '" + manifest.parameters[1].meta.name + "'"));
  EXPECT_THAT(tree(fs_, "/out"), IsEmpty());
}

TEST_F(Strip, LinksUnreadAndSaysSoUnlessItIsToldToVerify) {
  FailingFs fs(fs_);
  const auto shard_reads = [&] {
    const std::vector<Call> calls = fs.calls();
    return std::count_if(calls.begin(), calls.end(),
                         [](const Call& call) { return call.op == Op::kPread && call.path.ends_with(".h5"); });
  };
  const auto unread = strip(fs);
  ASSERT_TRUE(unread.ok()) << unread.status().to_string();
  EXPECT_FALSE(unread->verified);
  EXPECT_EQ(shard_reads(), 0) << "as fast for a terabyte";
  options_.dst = "/out/verified";
  options_.verify = true;
  const auto verified = strip(fs);
  ASSERT_TRUE(verified.ok()) << verified.status().to_string();
  EXPECT_TRUE(verified->verified);
  EXPECT_GT(shard_reads(), 0);
}

TEST_F(Strip, ADamagedSourceNeverReplacesACheckpoint) {
  ASSERT_TRUE(strip(fs_).ok());
  const FileEntry file = CheckpointReader::open(fs_, kSrc)->manifest().files[0];
  const std::byte wrong[] = {std::byte{0xEE}};
  ASSERT_TRUE(fs_.overwrite(std::string(kSrc) + "/" + file.path, file.bytes / 2, wrong).ok());
  const auto good = contents("/out");  // links to the same files
  const auto refused = [&](Code code) {
    const auto report = strip(fs_);
    EXPECT_EQ(report.status().code, code) << report.status().to_string();
    EXPECT_THAT(report.status().to_string(), HasSubstr("nothing was written"));
    EXPECT_THAT(report.status().to_string(), HasSubstr(file.path));
    EXPECT_THAT(report.status().hint, HasSubstr("titan-ckpt verify"));
    const bool same = contents("/out") == good;
    EXPECT_TRUE(same);
  };
  options_.force = true;
  refused(Code::kCorrupt);
  options_.force = false;
  options_.verify = true;
  options_.dst = "/out/new";
  refused(Code::kCorrupt);
  LrSetOptions lr;
  static_cast<RewriteOptions&>(lr) = options_;
  lr.force = true;
  lr.dst = "/out/step-00000010";
  lr.steps = 1000;
  EXPECT_EQ(plan_lr_set(fs_, lr).status().code, Code::kCorrupt);
}

TEST_F(Strip, ASourceThatCannotBeReadWholeIsNotCalledDamaged) {
  FailingFs fs(fs_);
  fs.arm({.op = Op::kPread, .path_part = "model/shard", .repeat = Repeat::kSticky});
  options_.verify = true;
  const auto report = strip(fs);
  EXPECT_EQ(report.status().code, Code::kMediaError) << report.status().to_string();
  EXPECT_THAT(tree(fs_, "/out"), IsEmpty());
}

TEST_F(Strip, NothingBehindALinkComesAlong) {
  ASSERT_TRUE(fs_.rename(std::string(kSrc) + "/model", "/outside").ok());
  ASSERT_TRUE(fs_.symlink("/outside", std::string(kSrc) + "/model").ok());
  const auto report = strip(fs_);
  EXPECT_EQ(report.status().code, Code::kCorrupt);
  EXPECT_THAT(report.status().message, HasSubstr("symbolic link"));
  EXPECT_THAT(tree(fs_, "/out"), IsEmpty());
}

TEST_F(Strip, RefusesWhatCannotWorkAndWritesNothing) {
  options_.dst = kSrc;
  EXPECT_EQ(strip(fs_).status().code, Code::kInvalid);
  options_.dst = std::string(kSrc) + "/model/new";
  EXPECT_EQ(strip(fs_).status().code, Code::kInvalid);
  options_.dst = "/out/new";
  options_.src = "/run@11";
  EXPECT_EQ(strip(fs_).status().code, Code::kNotFound);
  EXPECT_THAT(tree(fs_, "/out"), IsEmpty());
}

TEST_F(Strip, AnyFailedCallOfAConversionLeavesTheSourceAndNoHalfMadeResult) {
  options_.dtype = DType::kBF16;
  const auto before = contents(kSrc);
  std::uint64_t k = 1;
  for (bool fired = true; fired; k += 3) {
    SCOPED_TRACE("call " + std::to_string(k));
    FailingFs failing(fs_);
    failing.arm({.k = k, .repeat = Repeat::kSticky, .error = ENOSPC});
    const auto report = strip(failing);
    fired = failing.fired();
    EXPECT_FALSE(failing.synced_after_failure());
    EXPECT_EQ(fs_.stat(options_.dst).ok(), whole(options_.dst));
    EXPECT_TRUE(fired || report.ok());
    ASSERT_TRUE(remove_tree(fs_, "/out").ok());
    ASSERT_TRUE(fs_.make_dir("/out").ok());
  }
  const bool untouched = contents(kSrc) == before;
  EXPECT_TRUE(untouched);
  EXPECT_GT(k, 150u);
}

}  // namespace
}  // namespace titan::ckpt::strip_test
