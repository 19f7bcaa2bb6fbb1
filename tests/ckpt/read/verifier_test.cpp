#include "ckpt/read/verifier.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "ckpt/format/checkpoint_id.h"
#include "ckpt/format/manifest_codec.h"
#include "ckpt/format/shard_file.h"
#include "ckpt/read/reader.h"
#include "tests/support/checkpoints.h"
#include "tests/support/failing_fs.h"
#include "tests/support/files.h"
#include "tests/support/make_checkpoint.h"
#include "tests/support/mem_fs.h"

namespace titan::ckpt::verifier_test {
namespace {

using ::testing::HasSubstr;
using titan::ckpt::testing::get_text;
using titan::ckpt::testing::MemFs;

// One byte of one file, and how damage there must be named.
struct Place {
  std::string file;
  std::uint64_t offset = 0;
  std::string unit;
  std::string tensor;
  std::uint64_t leaf = 0;
};

class Verifier : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto published =
        testing::save(fs_, "/run/checkpoint", testing::make_snapshot(testing::small_model(), {2, 2, 1}, 100));
    ASSERT_TRUE(published.ok()) << published.status().to_string();
    path_ = published->path;
    auto reader = CheckpointReader::open(fs_, path_);
    ASSERT_TRUE(reader.ok());
    manifest_ = reader->manifest();
    collect_places();
  }

  void collect_places() {
    for (std::uint64_t i = 0; i < fs_.stat(path_ + "/manifest.json")->size; ++i)
      places_["manifest"].push_back({"manifest.json", i, "manifest"});
    std::vector<std::vector<Place>> files;
    for (const FileEntry& file : manifest_.files) {
      const bool shard = file.role == FileRole::kShard;
      files.emplace_back(file.bytes, Place{file.path, 0, shard ? "envelope" : role_text(file.role)});
      for (std::uint64_t i = 0; shard && i < file.table_rows * kLeafRowBytes; ++i)
        files.back()[file.table_offset + i].unit = "table";
    }
    for (std::uint32_t p = 0; p < manifest_.parameters.size(); ++p) {
      for (const char* slot : {"", kExpAvg, kExpAvgSq}) mark_leaves({p, slot}, files);
    }
    for (std::vector<Place>& file : files) {
      for (std::uint64_t i = 0; i < file.size(); ++i) {
        file[i].offset = i;
        places_[file[i].unit].push_back(file[i]);
      }
    }
  }

  void mark_leaves(const TensorRef& ref, std::vector<std::vector<Place>>& files) const {
    const LeafGrid grid = manifest_.parameters[ref.index].meta.grid(manifest_.leaf_elements);
    for (const Piece& piece : manifest_.stored(ref)->pieces) {
      std::uint64_t at = piece.offset;
      for (std::uint64_t leaf = piece.first_leaf; leaf < piece.first_leaf + piece.leaf_count; ++leaf) {
        for (std::uint64_t i = 0; i < grid.length(leaf) * 4; ++i, ++at) {
          Place& place = files[piece.file][at];
          place.unit = "leaf";
          place.tensor = manifest_.stored_name(ref);
          place.leaf = leaf;
        }
      }
    }
  }

  void flip(const Place& place, unsigned bit) {
    std::string text = get_text(fs_, path_ + "/" + place.file);
    const auto byte = static_cast<std::byte>(static_cast<unsigned char>(text[place.offset]) ^ (1U << bit));
    ASSERT_TRUE(fs_.overwrite(path_ + "/" + place.file, place.offset, {&byte, 1}).ok());
  }

  void expect_found(const Place& place, unsigned bit) {
    SCOPED_TRACE(place.file + " offset " + std::to_string(place.offset) + " bit " + std::to_string(bit));
    flip(place, bit);
    const auto report = verify_checkpoint(fs_, path_);
    flip(place, bit);
    ASSERT_TRUE(report.ok()) << report.status().to_string();
    ASSERT_EQ(report->damage.size(), 1u);
    const Damage& damage = report->damage[0];
    EXPECT_EQ(damage.file, place.file);
    EXPECT_EQ(damage.unit, place.unit);
    EXPECT_EQ(damage.tensor, place.tensor);
    EXPECT_EQ(damage.leaf, place.leaf);
    EXPECT_LE(damage.offset, place.offset);
    EXPECT_GT(damage.offset + damage.bytes, place.offset);
  }

  VerifyReport verify() {
    auto report = verify_checkpoint(fs_, path_);
    EXPECT_TRUE(report.ok()) << report.status().to_string();
    return report.ok() ? *report : VerifyReport{};
  }

  MemFs fs_;
  std::string path_;
  Manifest manifest_;
  std::map<std::string, std::vector<Place>> places_;
};

TEST_F(Verifier, Finds240SeededBitFlipsAndNamesTheUnit) {
  constexpr std::uint64_t kSeed = 4242;
  RecordProperty("seed", std::to_string(kSeed));
  std::mt19937_64 random(kSeed);
  for (const char* unit : {"manifest", "json", "table", "envelope", "leaf", "derived"}) {
    ASSERT_FALSE(places_[unit].empty()) << unit;
    for (int i = 0; i < 40; ++i) expect_found(places_[unit][random() % places_[unit].size()], random() % 8);
  }
}

TEST_F(Verifier, FindsEveryFlippedBitOfTheManifestsHead) {
  for (std::uint64_t i = 0; i < 120; ++i) {
    for (unsigned bit = 0; bit < 8; ++bit) expect_found({"manifest.json", i, "manifest"}, bit);
  }
}

TEST_F(Verifier, CountsLeavesAndBytesOfAWholeCheckpointAndReportsProgress) {
  std::uint64_t last = 0, total = 0;
  const auto report = verify_checkpoint(fs_, path_, [&](std::uint64_t done, std::uint64_t all) {
    EXPECT_GE(done, last);
    last = done;
    total = all;
  });
  ASSERT_TRUE(report.ok());
  EXPECT_TRUE(report->damage.empty());
  std::uint64_t leaves = 0, bytes = fs_.stat(path_ + "/manifest.json")->size;
  for (const FileEntry& file : manifest_.files) {
    leaves += file.table_rows;
    bytes += file.bytes;
  }
  EXPECT_EQ(report->leaves, leaves);
  EXPECT_EQ(report->bytes, bytes);
  EXPECT_EQ(last, total);
}

TEST_F(Verifier, NamesMissingAndResizedMembers) {
  ASSERT_TRUE(fs_.remove_file(path_ + "/dataloader.json").ok());
  ASSERT_TRUE(fs_.resize(path_ + "/model/shard-00000.h5", 100).ok());
  const VerifyReport report = verify();
  ASSERT_EQ(report.damage.size(), 2u);
  EXPECT_EQ(report.damage[0].unit + " " + report.damage[0].file, "size model/shard-00000.h5");
  EXPECT_EQ(report.damage[1].unit + " " + report.damage[1].file, "missing dataloader.json");
}

TEST_F(Verifier, NamesEveryDamagedLeafEvenWhenTheTableIsDamagedToo) {
  const Place leaf = places_["leaf"][1234], other = places_["leaf"][5000];
  flip(leaf, 3);
  flip(other, 3);
  const auto table = std::find_if(places_["table"].begin(), places_["table"].end(),
                                  [&](const Place& place) { return place.file == leaf.file; });
  ASSERT_NE(table, places_["table"].end());
  flip(*std::next(table, 40), 0);
  std::vector<std::string> found;
  for (const Damage& damage : verify().damage) {
    if (damage.unit == "leaf")
      found.push_back(damage.tensor + "@" + std::to_string(damage.leaf));
    else
      found.push_back(damage.unit);
  }
  EXPECT_THAT(found, ::testing::IsSupersetOf({std::string("table"), leaf.tensor + "@" + std::to_string(leaf.leaf),
                                              other.tensor + "@" + std::to_string(other.leaf)}));
}

TEST_F(Verifier, ReportsTheSameDamageInTheSameOrderWithAnyNumberOfThreads) {
  for (const char* unit : {"leaf", "leaf", "table", "envelope", "json"})
    flip(places_[unit][places_[unit].size() / 3], 1);
  flip(places_["leaf"].back(), 1);
  ASSERT_TRUE(fs_.remove_file(path_ + "/model/shard-00001.h5").ok());
  const auto one = verify_checkpoint(fs_, path_, {}, {}, 1);
  ASSERT_TRUE(one.ok());
  EXPECT_GE(one->damage.size(), 4u);
  for (const unsigned threads : {2u, 3u, 16u}) {
    const auto many = verify_checkpoint(fs_, path_, {}, {}, threads);
    ASSERT_TRUE(many.ok());
    EXPECT_EQ(many->damage, one->damage) << threads << " threads";
    EXPECT_EQ(many->leaves, one->leaves);
    EXPECT_EQ(many->bytes, one->bytes);
  }
}

// Each sum is wrong alone: the sums that cover it are made anew from what is written.
TEST_F(Verifier, FindsAWriterThatMadeWrongSums) {
  auto reader = CheckpointReader::open(fs_, path_);
  ASSERT_TRUE(reader.ok());
  const auto lr = reader->lr_schedule();
  const auto data = reader->data_position();
  const auto train = reader->train_state();
  ASSERT_TRUE(lr.ok() && data.ok() && train.ok());
  const auto renew_id = [&](Manifest& m) { m.id = checkpoint_id(m, *lr, *data, train->tokens); };
  const auto found = [&](const Manifest& manifest) {
    const std::string text = encode_manifest(manifest);
    EXPECT_TRUE(fs_.overwrite(path_ + "/manifest.json", 0, std::as_bytes(std::span(text))).ok());
    const VerifyReport report = verify();
    EXPECT_EQ(report.damage.size(), 1u);
    if (report.damage.empty()) return std::string();
    EXPECT_EQ(report.damage[0].unit, "manifest");
    return report.damage[0].detail;
  };
  Manifest wrong = manifest_;
  wrong.parameters[0].model->digest.bytes[0] ^= 1;
  for (ComponentEntry& component : wrong.components)
    if (component.name == kModel) component.digest = component_digest(wrong, kModel);
  renew_id(wrong);
  EXPECT_EQ(found(wrong), "the digest of tensor 'tok_embeddings.weight' is not that of its leaves");
  for (const char* name : {kModel, kOptimizer}) {
    wrong = manifest_;
    for (ComponentEntry& component : wrong.components)
      if (component.name == name) component.digest.bytes[15] ^= 1;
    renew_id(wrong);
    EXPECT_EQ(found(wrong), "the digest of component '" + std::string(name) + "' is not that of its tensors");
  }
  wrong = manifest_;
  wrong.id.bytes[7] ^= 1;
  EXPECT_EQ(found(wrong), "the checkpoint's id is not that of its components");
  wrong = manifest_;
  wrong.mixture = true;
  EXPECT_EQ(found(wrong), "'requires' and the data position differ on whether data are mixed");
  wrong = manifest_;
  wrong.excluded = true;
  EXPECT_EQ(found(wrong), "'requires' and the data position differ on whether samples are left out");
}

std::vector<std::string> units(const std::vector<Damage>& places) {
  std::vector<std::string> names;
  for (const Damage& place : places)
    names.push_back(place.unit + " " + place.file +
                    (place.tensor.empty() ? "" : " " + place.tensor + " " + std::to_string(place.leaf)));
  return names;
}

TEST_F(Verifier, ABadSectorIsNamedAsUnreadableAndTheRestIsStillChecked) {
  flip(places_["leaf"].back(), 1);
  const std::vector<std::string> damaged = units(verify().damage);
  ASSERT_EQ(damaged.size(), 1u);
  testing::FailingFs failing(fs_);
  for (const char* unit : {"leaf", "table", "envelope", "json", "derived", "manifest"}) {
    const Place place = places_[unit][places_[unit].size() / 3];
    failing.arm({.op = testing::Op::kPread,
                 .path_part = place.file,
                 .repeat = testing::Repeat::kSticky,
                 .touching = place.offset});
    const auto report = verify_checkpoint(failing, path_);
    ASSERT_TRUE(report.ok()) << unit << ": " << report.status().to_string();
    const std::string leaf = place.tensor.empty() ? "" : " " + place.tensor + " " + std::to_string(place.leaf);
    EXPECT_THAT(units(report->unreadable), ::testing::ElementsAre(unit + (" " + place.file) + leaf));
    EXPECT_EQ(units(report->damage), std::string(unit) == "manifest" ? std::vector<std::string>() : damaged) << unit;
    EXPECT_THAT(report->unreadable[0].detail, HasSubstr("Input/output error"));
  }
}

TEST_F(Verifier, AMemberThatCannotBeOpenedOrLookedAtIsUnreadableOnlyForAMediaError) {
  testing::FailingFs failing(fs_);
  for (const testing::Op op : {testing::Op::kStat, testing::Op::kOpenRead}) {
    for (const char* file : {"model/shard-00001.h5", "train_state.json"}) {
      failing.arm({.op = op, .path_part = file, .repeat = testing::Repeat::kSticky});
      const auto report = verify_checkpoint(failing, path_);
      ASSERT_TRUE(report.ok()) << report.status().to_string();
      EXPECT_TRUE(report->damage.empty());
      ASSERT_EQ(report->unreadable.size(), 1u) << file;
      EXPECT_EQ(report->unreadable[0].file, file);
      failing.arm({.op = op, .path_part = file, .repeat = testing::Repeat::kSticky, .error = EMFILE});
      EXPECT_EQ(verify_checkpoint(failing, path_).status().code, Code::kFailed) << file;
    }
  }
}

// The id is computed from the JSON members, which are read a second time for that.
TEST_F(Verifier, AJsonMemberThatCannotBeReadASecondTimeIsNoDamage) {
  testing::FailingFs failing(fs_);
  for (const char* file : {"lr_scheduler.json", "dataloader.json", "train_state.json"}) {
    for (const testing::Op op : {testing::Op::kOpenRead, testing::Op::kPread, testing::Op::kClose}) {
      const std::uint64_t second = op == testing::Op::kClose ? 1 : 2;
      failing.arm({.op = op, .path_part = file, .k = second, .error = EMFILE});
      const auto refused = verify_checkpoint(failing, path_);
      ASSERT_TRUE(failing.fired()) << file << " " << op_name(op);
      EXPECT_EQ(refused.status().code, Code::kFailed) << file << " " << op_name(op);
    }
    failing.arm({.op = testing::Op::kOpenRead, .path_part = file, .k = 2});
    const auto report = verify_checkpoint(failing, path_);
    ASSERT_TRUE(report.ok());
    EXPECT_TRUE(report->damage.empty());
    EXPECT_THAT(units(report->unreadable), ::testing::ElementsAre("json " + std::string(file)));
  }
}

TEST_F(Verifier, EveryReadThatFailsOnceIsUnreadableAtWorstAndNeverDamage) {
  testing::FailingFs failing(fs_);
  for (const testing::Op op : {testing::Op::kStat, testing::Op::kOpenRead, testing::Op::kPread, testing::Op::kSize}) {
    for (std::uint64_t k = 1;; ++k) {
      failing.arm({.op = op, .k = k});
      const auto report = verify_checkpoint(failing, path_, {}, {}, 1);
      if (!failing.fired()) {
        EXPECT_GT(k, 2u) << op_name(op);
        break;
      }
      ASSERT_TRUE(report.ok()) << op_name(op) << " " << k << ": " << report.status().to_string();
      EXPECT_TRUE(report->damage.empty()) << op_name(op) << " " << k << ": " << units(report->damage)[0];
    }
  }
}

TEST_F(Verifier, ALinkInsideIsDamageEvenWhereItLeadsToTheRightBytes) {
  ASSERT_TRUE(fs_.rename(path_ + "/dataloader.json", "/elsewhere.json").ok());
  ASSERT_TRUE(fs_.symlink("/elsewhere.json", path_ + "/dataloader.json").ok());
  ASSERT_TRUE(fs_.rename(path_ + "/optimizer", "/elsewhere").ok());
  ASSERT_TRUE(fs_.symlink("/elsewhere", path_ + "/optimizer").ok());
  std::set<std::string> found;
  for (const Damage& damage : verify().damage)
    found.insert(damage.unit + " " + damage.file.substr(0, damage.file.find('/')));
  EXPECT_EQ(found, (std::set<std::string>{"link dataloader.json", "link optimizer"}));
  EXPECT_EQ(CheckpointReader::open(fs_, path_).status().code, Code::kCorrupt);
  ASSERT_TRUE(fs_.symlink(path_, "/alias").ok());
  ASSERT_TRUE(fs_.rename(path_ + "/manifest.json", "/manifest").ok());
  ASSERT_TRUE(fs_.symlink("/manifest", path_ + "/manifest.json").ok());
  EXPECT_THAT(units(verify().damage), ::testing::ElementsAre("link manifest.json"));
  EXPECT_EQ(CheckpointReader::open(fs_, "/alias").status().code, Code::kCorrupt);
}

TEST_F(Verifier, ACheckpointBehindALinkIsWhole) {
  ASSERT_TRUE(fs_.symlink(path_, "/alias").ok());
  const auto report = verify_checkpoint(fs_, "/alias");
  ASSERT_TRUE(report.ok());
  EXPECT_TRUE(report->damage.empty());
  EXPECT_TRUE(CheckpointReader::open(fs_, "/alias").ok());
}

// The same questions to a checkpoint whose leaves are compressed.
class CompressedVerifier : public ::testing::Test {
 protected:
  void SetUp() override {
    testing::Synthetic options;
    options.codec = Codec::kZstd;
    options.dp = options.pp = 2;
    const auto published = testing::make_checkpoint(fs_, "/run/checkpoint", options);
    ASSERT_TRUE(published.ok()) << published.status().to_string();
    path_ = published->path;
    auto reader = CheckpointReader::open(fs_, path_);
    ASSERT_TRUE(reader.ok()) << reader.status().to_string();
    manifest_ = reader->manifest();
  }
  void flip(const std::string& file, std::uint64_t offset, unsigned bit) {
    const std::string path = path_ + "/" + file;
    std::byte byte{};
    ASSERT_TRUE((*fs_.open_read(path))->pread(offset, {&byte, 1}).ok());
    byte ^= static_cast<std::byte>(1U << bit);
    ASSERT_TRUE(fs_.overwrite(path, offset, {&byte, 1}).ok());
  }
  std::vector<LeafRow> rows(const FileEntry& file) {
    const std::string text = get_text(fs_, path_ + "/" + file.path);
    return decode_leaf_table(
        std::as_bytes(std::span(text)).subspan(file.table_offset, file.table_rows * kLeafRowBytes));
  }
  std::vector<Damage> damage() {
    const auto report = verify_checkpoint(fs_, path_);
    EXPECT_TRUE(report.ok()) << report.status().to_string();
    return report.ok() ? report->damage : std::vector<Damage>();
  }

  MemFs fs_;
  std::string path_;
  Manifest manifest_;
};

TEST_F(CompressedVerifier, FindsNothingInAWholeCheckpointAndReadsEveryByte) {
  const auto report = verify_checkpoint(fs_, path_);
  ASSERT_TRUE(report.ok());
  EXPECT_TRUE(report->damage.empty());
  std::uint64_t bytes = fs_.stat(path_ + "/manifest.json")->size;
  for (const FileEntry& file : manifest_.files) bytes += file.bytes;
  EXPECT_EQ(report->bytes, bytes);
}

TEST_F(CompressedVerifier, FindsFlippedBitsInEveryRegionAndNamesThem) {
  constexpr std::uint64_t kSeed = 99;
  RecordProperty("seed", std::to_string(kSeed));
  std::mt19937_64 random(kSeed);
  std::map<std::string, int> seen;
  for (const FileEntry& file : manifest_.files) {
    if (file.role != FileRole::kShard) continue;
    const std::vector<LeafRow> table = rows(file);
    for (int i = 0; i < 120; ++i) {
      // A third each in leaves, table, and anywhere.
      const LeafRow& row = table[random() % table.size()];
      const std::uint64_t offset = i % 3 == 0   ? row.offset + random() % row.stored_bytes
                                   : i % 3 == 1 ? file.table_offset + random() % (file.table_rows * kLeafRowBytes)
                                                : random() % file.bytes;
      const unsigned bit = random() % 8;
      SCOPED_TRACE(file.path + " offset " + std::to_string(offset) + " bit " + std::to_string(bit));
      flip(file.path, offset, bit);
      const std::vector<Damage> found = damage();
      flip(file.path, offset, bit);
      ASSERT_FALSE(found.empty());
      EXPECT_EQ(found[0].file, file.path);
      const auto hit = std::find_if(table.begin(), table.end(), [&](const LeafRow& leaf) {
        return offset >= leaf.offset && offset < leaf.offset + leaf.stored_bytes;
      });
      const bool in_table = offset >= file.table_offset && offset < file.table_offset + file.table_rows * kLeafRowBytes;
      EXPECT_EQ(found[0].unit, hit != table.end() ? "leaf" : in_table ? "table" : "envelope");
      ++seen[found[0].unit];
      if (hit != table.end()) {
        EXPECT_EQ(found.size(), 1u);
        EXPECT_EQ(found[0].offset, hit->offset);
        EXPECT_EQ(found[0].bytes, hit->stored_bytes);
      }
      if (in_table) {
        // Digests and the reserved field can be told from the bytes; without place, length or mask the leaf goes with
        // its row.
        const std::uint64_t field = (offset - file.table_offset) % kLeafRowBytes;
        EXPECT_EQ(found.size(), field < 28 ? 2u : 1u);
        EXPECT_EQ(found[0].detail.ends_with("the leaves are whole"), field >= 28);
      }
    }
  }
  EXPECT_EQ(seen.size(), 3u);
  EXPECT_TRUE(damage().empty());
}

TEST_F(CompressedVerifier, FindsAWriterWhoseStoredDigestsHoldButWhoseRawDigestsDoNot) {
  FileEntry& file = manifest_.files[manifest_.stored({0, ""})->pieces[0].file];
  std::vector<LeafRow> table = rows(file);
  table[0].raw.bytes[3] ^= 1;
  const std::vector<std::byte> bytes = encode_leaf_table(table);
  file.table = digest_of(bytes);
  ASSERT_TRUE(fs_.overwrite(path_ + "/" + file.path, file.table_offset, bytes).ok());
  const std::string text = encode_manifest(manifest_);
  ASSERT_TRUE(fs_.overwrite(path_ + "/manifest.json", 0, std::as_bytes(std::span(text))).ok());
  ASSERT_FALSE(damage().empty());
  EXPECT_EQ(damage()[0].unit, "leaf");
  auto reader = CheckpointReader::open(fs_, path_);
  ASSERT_TRUE(reader.ok());
  std::vector<std::byte> out(table[0].raw_bytes);
  EXPECT_THAT(reader->read({0, ""}, {0, 1}, out).message, HasSubstr("data do not match their digest"))
      << "the reader sees it too";
}

// The manifest may be as whole as it likes: a piece begins where its first row says.
TEST_F(CompressedVerifier, APieceThatBeginsElsewhereThanItsFirstRowIsDamageForVerifyAndForTheReader) {
  Piece& piece = manifest_.parameters[0].model->pieces[0];
  ASSERT_EQ(piece.codec, Codec::kZstd);
  piece.offset += 8;
  const std::string text = encode_manifest(manifest_);
  ASSERT_TRUE(fs_.overwrite(path_ + "/manifest.json", 0, std::as_bytes(std::span(text))).ok());
  ASSERT_TRUE(fs_.resize(path_ + "/manifest.json", text.size()).ok());
  const std::vector<Damage> found = damage();
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found[0].unit, "leaf");
  EXPECT_EQ(found[0].leaf, piece.first_leaf);
  auto reader = CheckpointReader::open(fs_, path_);
  ASSERT_TRUE(reader.ok()) << reader.status().to_string();
  const LeafGrid grid = manifest_.parameters[0].meta.grid(manifest_.leaf_elements);
  std::vector<std::byte> out(grid.length(piece.first_leaf) * dtype_size(manifest_.parameters[0].model->dtype));
  const Status read = reader->read({0, ""}, {piece.first_leaf, 1}, out);
  EXPECT_EQ(read.code, Code::kCorrupt);
  EXPECT_THAT(read.message, HasSubstr("does not agree with the manifest"));
}

TEST_F(CompressedVerifier, ABadSectorInALeafLosesThatLeafAlone) {
  FileEntry& file = manifest_.files[manifest_.stored({0, ""})->pieces[0].file];
  const LeafRow row = rows(file)[2];
  testing::FailingFs failing(fs_);
  failing.arm({.op = testing::Op::kPread,
               .path_part = file.path,
               .repeat = testing::Repeat::kSticky,
               .touching = row.offset + row.stored_bytes / 2});
  const auto report = verify_checkpoint(failing, path_);
  ASSERT_TRUE(report.ok());
  EXPECT_TRUE(report->damage.empty());
  ASSERT_EQ(report->unreadable.size(), 1u);
  EXPECT_EQ(report->unreadable[0].unit, "leaf");
  EXPECT_EQ(report->unreadable[0].offset, row.offset);
}

TEST_F(CompressedVerifier, ARowThatCannotBeReadASecondTimeIsNoDamage) {
  FileEntry& file = manifest_.files[manifest_.stored({0, ""})->pieces[0].file];
  testing::FailingFs failing(fs_);
  // The first read is for the table's digest, the second for its rows; later ones touch it only beside leaves, which
  // are read again alone.
  for (std::uint64_t k = 1; k <= 2; ++k) {
    failing.arm({.op = testing::Op::kPread, .path_part = file.path, .k = k, .touching = file.table_offset + 100});
    const auto report = verify_checkpoint(failing, path_, {}, {}, 1);
    ASSERT_TRUE(failing.fired());
    ASSERT_TRUE(report.ok());
    EXPECT_TRUE(report->damage.empty()) << k << ": " << report->damage[0].unit;
    ASSERT_EQ(report->unreadable.size(), 1u) << k;
    EXPECT_EQ(report->unreadable[0].unit, "table");
  }
}

TEST_F(CompressedVerifier, FindsRowsThatCannotBe) {
  FileEntry& file = manifest_.files[manifest_.stored({0, ""})->pieces[0].file];
  const std::vector<LeafRow> good = rows(file);
  const auto with = [&](std::size_t row, const LeafRow& bad) {
    std::vector<LeafRow> table = good;
    table[row] = bad;
    const std::vector<std::byte> bytes = encode_leaf_table(table);
    Manifest manifest = manifest_;
    manifest.files[static_cast<std::size_t>(&file - manifest_.files.data())].table = digest_of(bytes);
    EXPECT_TRUE(fs_.overwrite(path_ + "/" + file.path, file.table_offset, bytes).ok());
    const std::string text = encode_manifest(manifest);
    EXPECT_TRUE(fs_.overwrite(path_ + "/manifest.json", 0, std::as_bytes(std::span(text))).ok());
    return damage();
  };
  EXPECT_TRUE(with(1, good[1]).empty());
  std::vector<LeafRow> bad(7, good[1]);
  bad[0] = {};
  bad[1].offset = file.bytes;
  bad[2].offset = ~std::uint64_t{0};
  bad[3].stored_bytes = ~std::uint64_t{0};
  bad[4].raw_bytes += 4;
  bad[5].filter_mask = 2;
  bad[6] = good[0];  // two leaves in one place
  for (std::size_t i = 0; i < bad.size(); ++i) {
    const std::vector<Damage> found = with(1, bad[i]);
    ASSERT_FALSE(found.empty()) << "row " << i;
    EXPECT_EQ(found[0].unit, i == 6 ? "table" : "leaf") << "row " << i;
  }
  // The reader stops at the same rows, apart from the last, which is a whole leaf of its own.
  for (std::size_t i = 0; i + 1 < bad.size(); ++i) {
    (void)with(1, bad[i]);
    auto reader = CheckpointReader::open(fs_, path_);
    ASSERT_TRUE(reader.ok());
    std::vector<std::byte> out(256 * 4);
    EXPECT_TRUE(reader->read({0, ""}, {0, 1}, out).ok());
    EXPECT_THAT(reader->read({0, ""}, {1, 1}, out).message, HasSubstr("leaf table does not agree with the manifest"))
        << "row " << i;
  }
}

TEST_F(Verifier, SaysNotFoundWithoutAManifestAndIncompatibleForANewerFormat) {
  EXPECT_EQ(verify_checkpoint(fs_, "/nowhere").status().code, Code::kNotFound);
  std::string text = get_text(fs_, path_ + "/manifest.json");
  text.replace(text.find("\"major\":1"), 9, "\"major\":2");
  text = *with_self_digest(text);
  ASSERT_TRUE(fs_.overwrite(path_ + "/manifest.json", 0, std::as_bytes(std::span(text))).ok());
  EXPECT_EQ(verify_checkpoint(fs_, path_).status().code, Code::kIncompatible);
}

}  // namespace
}  // namespace titan::ckpt::verifier_test
