#include "ckpt/ops/repair.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "ckpt/base/files.h"
#include "ckpt/format/parity_file.h"
#include "tests/support/failing_fs.h"
#include "tests/support/files.h"
#include "tests/support/make_checkpoint.h"
#include "tests/support/mem_fs.h"

namespace titan::ckpt::repair_test {
namespace {

using namespace titan::ckpt::testing;  // NOLINT: the file is about these
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class Repair : public ::testing::TestWithParam<Codec> {
 protected:
  Repair() {
    made_.codec = GetParam();
    made_.dp = made_.pp = 2;
    EXPECT_TRUE(make_checkpoint(fs_, "/run", made_).ok());
    Synthetic elsewhere = made_;  // the same state on another layout
    elsewhere.dp = 3;
    elsewhere.pp = 1;
    elsewhere.codec = Codec::kRaw;
    EXPECT_TRUE(make_checkpoint(fs_, "/copy", elsewhere).ok());
    elsewhere.seed = 2;  // and another one
    EXPECT_TRUE(make_checkpoint(fs_, "/odd", elsewhere).ok());
    EXPECT_TRUE(fs_.make_dir("/out").ok());
    options_.src = "/run/step-00000010";
    options_.dst = "/out/fixed";
    options_.donors = {"/odd/step-00000010", "/copy/step-00000010"};
    options_.open = CheckpointReader::open;
    options_.writer = "test";
    options_.created = "2026-01-02T03:04:05Z";
    manifest_ = *read_manifest(fs_, options_.src);
  }

  void flip(const std::string& member, std::uint64_t offset) {
    const std::string path = options_.src + "/" + member, text = get_text(fs_, path);
    const std::byte changed = static_cast<std::byte>(text[offset]) ^ std::byte{4};
    ASSERT_TRUE(fs_.overwrite(path, offset, {&changed, 1}).ok());
  }
  const FileEntry& file(const std::string& path) const {
    for (const FileEntry& entry : manifest_.files)
      if (entry.path == path) return entry;
    ADD_FAILURE() << path;
    return manifest_.files[0];
  }
  void lose(const std::string& member) { ASSERT_TRUE(fs_.remove_file(options_.src + "/" + member).ok()); }
  /// Where the first leaf of a parameter lies.
  std::pair<std::string, std::uint64_t> first_leaf(const std::string& name) const {
    for (const ParameterRecord& record : manifest_.parameters)
      if (record.meta.name == name)
        return {manifest_.files[record.model->pieces[0].file].path, record.model->pieces[0].offset};
    return {};
  }
  RepairReport repaired() {
    const auto report = repair_checkpoint(fs_, options_);
    EXPECT_TRUE(report.ok()) << report.status().to_string();
    return report.ok() ? *report : RepairReport{};
  }
  void expect_whole() {
    const auto found = verify_checkpoint(fs_, options_.dst);
    ASSERT_TRUE(found.ok()) << found.status().to_string();
    EXPECT_THAT(found->damage, IsEmpty());
    EXPECT_EQ(found->id, manifest_.id);
  }

  MemFs fs_;
  Synthetic made_;
  RepairOptions options_;
  Manifest manifest_;
};

TEST_P(Repair, TakesALeafFromTheDonorThatHasTheSameBytes) {
  const auto [member, offset] = first_leaf("norm.weight");
  flip(member, offset + 3);
  const RepairReport report = repaired();
  EXPECT_TRUE(report.written);
  EXPECT_EQ(report.places, 1u);
  EXPECT_THAT(report.files, ElementsAre(member));
  ASSERT_EQ(report.given.size(), 2u);
  EXPECT_EQ(report.given[0].leaves, 0u) << "of another seed";
  EXPECT_EQ(report.given[1].leaves, 1u);
  expect_whole();
}

TEST_P(Repair, MakesLostFilesOfEveryKind) {
  for (const char* member : {"model/shard-00000.h5", "optimizer/shard-00003.h5", "model/model.h5", "dataloader.json"})
    lose(member);
  flip("train_state.json", 5);
  EXPECT_TRUE(make_checkpoint(fs_, "/twin", made_).ok());  // the train state knows its layout
  options_.donors.push_back("/twin/step-00000010");
  const RepairReport report = repaired();
  EXPECT_TRUE(report.written);
  EXPECT_THAT(report.files, UnorderedElementsAre("model/shard-00000.h5", "optimizer/shard-00003.h5", "model/model.h5",
                                                 "dataloader.json", "train_state.json"));
  ASSERT_EQ(report.given.size(), 3u);
  EXPECT_EQ(report.given[2].files, 1u);
  expect_whole();
}

// Where the table is lost the tensors' digests prove the leaves, as far as it is known where they lie.
TEST_P(Repair, MakesUpForALostLeafTable) {
  flip("model/shard-00001.h5", file("model/shard-00001.h5").table_offset + 40);
  if (GetParam() == Codec::kRaw) options_.donors = {"/odd/step-00000010"};
  const RepairReport report = repaired();
  EXPECT_TRUE(report.written);
  const bool raw = GetParam() == Codec::kRaw;  // the leaves are whole, and it is known where they lie
  EXPECT_EQ(report.given.back().leaves == 0, raw);
  expect_whole();
}

TEST_P(Repair, MakesUpForALostTableWithDamagedLeaves) {
  const auto [member, offset] = first_leaf("tok_embeddings.weight");
  flip(member, file(member).table_offset + 40);
  flip(member, offset + 3);
  EXPECT_TRUE(repaired().written);
  expect_whole();
}

TEST_P(Repair, NamesLeavesThatNobodyHasAndLeavesNothing) {
  options_.donors = {"/odd/step-00000010"};
  const auto [member, offset] = first_leaf("norm.weight");
  flip(member, offset + 3);
  const RepairReport report = repaired();
  EXPECT_FALSE(report.written);
  ASSERT_EQ(report.lost.size(), 1u);
  EXPECT_EQ(report.lost[0].file, member);
  EXPECT_EQ(report.lost[0].tensor, "norm.weight");
  EXPECT_EQ(report.lost[0].leaf, 0u);
  EXPECT_THAT(tree(fs_, "/out"), IsEmpty());
}

// On 10 GB a refusal that comes after the check of SRC comes minutes late.
TEST_P(Repair, RefusesWhatIsKnownBeforeItReadsEverything) {
  flip(first_leaf("norm.weight").first, first_leaf("norm.weight").second);
  FailingFs log(fs_);
  options_.donors = {"/nowhere"};
  EXPECT_EQ(repair_checkpoint(log, options_).status().code, Code::kNotFound);
  options_.donors = {"/copy/step-00000010"};
  options_.dst = "/out/step-00000011";
  EXPECT_EQ(repair_checkpoint(log, options_).status().code, Code::kInvalid);
  for (const Call& call : log.calls()) {
    if (call.op != Op::kPread) continue;
    EXPECT_THAT(call.path, ::testing::Not(::testing::HasSubstr("shard-")));
  }
}

TEST_P(Repair, ADamagedDonorIsPassedOver) {
  const auto [member, offset] = first_leaf("norm.weight");
  EXPECT_TRUE(make_checkpoint(fs_, "/hurt", made_).ok());
  const std::byte changed{0x55};
  ASSERT_TRUE(fs_.overwrite("/hurt/step-00000010/" + member, offset + 3, {&changed, 1}).ok());
  flip(member, offset + 3);
  options_.donors = {"/hurt/step-00000010", "/copy/step-00000010"};
  const RepairReport report = repaired();
  EXPECT_TRUE(report.written);
  EXPECT_EQ(report.given[1].leaves, 1u);
  expect_whole();
}

class RepairByParity : public Repair {
 protected:
  RepairByParity() {
    EXPECT_TRUE(remove_tree(fs_, "/run").ok());
    made_.parity = 2;
    EXPECT_TRUE(make_checkpoint(fs_, "/run", made_).ok());
    manifest_ = *read_manifest(fs_, options_.src);
    options_.donors.clear();
  }
  void expect_repaired(std::uint64_t by_parity) {
    const RepairReport report = repaired();
    EXPECT_TRUE(report.written);
    EXPECT_EQ(report.by_parity, by_parity);
    expect_whole();
    const Manifest made = *read_manifest(fs_, options_.dst);
    EXPECT_TRUE(without_parity(made).files == without_parity(manifest_).files) << "every file as it was";
    EXPECT_EQ(parity_rows(made), 2u);
  }
};

TEST_P(RepairByParity, OfLostAndDamagedMembers) {
  lose("optimizer/shard-00002.h5");
  flip("train_state.json", 5);
  expect_repaired(2);
}

TEST_P(RepairByParity, OfTheManifestAndAMember) {
  lose("manifest.json");
  lose("optimizer/shard-00002.h5");
  expect_repaired(2);
}

TEST_P(RepairByParity, OfParityFilesThemselves) {
  lose("parity/parity-00000.bin");
  flip("parity/parity-00001.bin", 200);
  expect_repaired(0);
}

TEST_P(RepairByParity, DonorsHelpWhereMoreIsLost) {
  lose("lr_scheduler.json");
  lose("dataloader.json");
  flip("train_state.json", 5);
  EXPECT_FALSE(repaired().written);
  EXPECT_TRUE(make_checkpoint(fs_, "/twin", made_).ok());
  options_.donors = {"/twin/step-00000010"};
  expect_repaired(0);
}

// What a store may do to a file.
void hurt(MemFs& fs, const std::string& path, std::mt19937& dice) {
  const std::string text = get_text(fs, path);
  const std::uint64_t at = dice() % text.size();
  switch (dice() % 4) {
    case 0: ASSERT_TRUE(fs.remove_file(path).ok()); break;
    case 1: ASSERT_TRUE(fs.resize(path, at).ok()); break;
    case 2: ASSERT_TRUE(fs.resize(path, text.size() + 1 + at).ok()); break;
    default: {
      const std::byte changed = static_cast<std::byte>(text[at]) ^ static_cast<std::byte>(1u << dice() % 8);
      ASSERT_TRUE(fs.overwrite(path, at, {&changed, 1}).ok());
    }
  }
}

// On random layouts: as many files as there is parity, of any kind, the manifest and parity files among them.
TEST(RepairOfRandomFiles, GivesBackEveryByteOfAnyChoice) {
  std::mt19937 dice(20261126);
  for (int trial = 0; trial < 40; ++trial) {
    MemFs fs;
    Synthetic made;
    made.dp = 1 + dice() % 3;
    made.pp = 1 + dice() % 2;
    made.codec = dice() % 2 == 0 ? Codec::kRaw : Codec::kZstd;
    made.parity = 1 + dice() % 4;
    ASSERT_TRUE(make_checkpoint(fs, "/run", made).ok());
    ASSERT_TRUE(fs.make_dir("/out").ok());
    RepairOptions options;
    options.src = "/run/step-00000010";
    options.dst = "/out/fixed";
    options.open = CheckpointReader::open;
    options.threads = 1;
    std::map<std::string, std::string> before;
    for (const std::string& name : tree(fs, options.src))
      if (!name.ends_with('/')) before[name] = get_text(fs, options.src + "/" + name);
    std::vector<std::string> names;
    for (const auto& [name, text] : before) names.push_back(name);
    std::shuffle(names.begin(), names.end(), dice);
    names.resize(made.parity);
    std::string which = "trial " + std::to_string(trial) + ":";
    for (const std::string& name : names) {
      which += " " + name;
      hurt(fs, options.src + "/" + name, dice);
    }
    const auto report = repair_checkpoint(fs, options);
    ASSERT_TRUE(report.ok()) << which << "\n" << report.status().to_string();
    ASSERT_TRUE(report->written) << which;
    for (const auto& [name, text] : before) {
      // The manifest names another writer and time, and parity files hold it.
      if (name == "manifest.json" || is_parity(name)) continue;
      EXPECT_TRUE(get_text(fs, "/out/fixed/" + name) == text) << which << ", " << name;
    }
    const auto found = verify_checkpoint(fs, options.dst);
    ASSERT_TRUE(found.ok() && found->damage.empty()) << which;
    EXPECT_EQ(found->id, report->id);
  }
}

TEST_P(Repair, WritesNothingWhereNothingIsDamaged) {
  const RepairReport report = repaired();
  EXPECT_TRUE(report.whole());
  EXPECT_FALSE(report.written);
  EXPECT_EQ(report.step, manifest_.step);
  EXPECT_THAT(tree(fs_, "/out"), IsEmpty());
}

TEST_P(Repair, WithoutAManifestNothingIsKnown) {
  flip("manifest.json", 300);
  const RepairReport report = repaired();
  EXPECT_FALSE(report.written);
  ASSERT_EQ(report.lost.size(), 1u);
  EXPECT_EQ(report.lost[0].file, "manifest.json");
}

INSTANTIATE_TEST_SUITE_P(Codecs, Repair, ::testing::Values(Codec::kRaw, Codec::kZstd),
                         [](const auto& info) { return info.param == Codec::kRaw ? "raw" : "zstd"; });

INSTANTIATE_TEST_SUITE_P(Codecs, RepairByParity, ::testing::Values(Codec::kRaw, Codec::kZstd),
                         [](const auto& info) { return info.param == Codec::kRaw ? "raw" : "zstd"; });

}  // namespace
}  // namespace titan::ckpt::repair_test
