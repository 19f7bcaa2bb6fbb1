#include "ckpt/read/reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "ckpt/format/manifest_codec.h"
#include "ckpt/format/state_codec.h"
#include "ckpt/read/snapshot.h"
#include "tests/support/checkpoints.h"
#include "tests/support/files.h"
#include "tests/support/fs_wrapper.h"
#include "tests/support/mem_fs.h"

namespace titan::ckpt::reader_test {
namespace {

using ::testing::HasSubstr;
using titan::ckpt::testing::get_text;
using titan::ckpt::testing::MemFs;

class Reader : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto published = testing::save(fs_, "/run", snapshot_);
    ASSERT_TRUE(published.ok()) << published.status().to_string();
    path_ = published->path;
  }
  void damage(const std::string& file, std::uint64_t offset) {
    const auto byte =
        static_cast<std::byte>(static_cast<unsigned char>(get_text(fs_, path_ + "/" + file)[offset]) ^ 1U);
    ASSERT_TRUE(fs_.overwrite(path_ + "/" + file, offset, {&byte, 1}).ok());
  }
  void rewrite_manifest(const std::string& from, const std::string& to) {
    std::string text = get_text(fs_, path_ + "/manifest.json");
    text.replace(text.find(from), from.size(), to);
    text = with_self_digest(text).value();
    ASSERT_TRUE(fs_.resize(path_ + "/manifest.json", text.size()).ok());
    ASSERT_TRUE(fs_.overwrite(path_ + "/manifest.json", 0, std::as_bytes(std::span(text))).ok());
  }
  Status open_status() { return CheckpointReader::open(fs_, path_).status(); }

  MemFs fs_;
  Snapshot snapshot_ = testing::make_snapshot(testing::small_model(), {2, 2, 1}, 100);
  std::string path_;
};

TEST_F(Reader, SaysNotFoundWithoutAManifest) {
  EXPECT_EQ(CheckpointReader::open(fs_, "/nowhere").status().code, Code::kNotFound);
  ASSERT_TRUE(fs_.make_dir("/empty").ok());
  EXPECT_EQ(CheckpointReader::open(fs_, "/empty").status().code, Code::kNotFound);
}

TEST_F(Reader, RefusesAMissingOrResizedMember) {
  ASSERT_TRUE(fs_.resize(path_ + "/optimizer/shard-00001.h5", 5000).ok());
  EXPECT_EQ(open_status().code, Code::kCorrupt);
  EXPECT_THAT(open_status().message, HasSubstr("optimizer/shard-00001.h5 has 5000 bytes, expected"));
  EXPECT_THAT(open_status().message, HasSubstr("(damaged: cut off)"));
  ASSERT_TRUE(fs_.resize(path_ + "/optimizer/shard-00001.h5", 5'000'000).ok());
  EXPECT_THAT(open_status().message, HasSubstr("(damaged: too long)"));
  ASSERT_TRUE(fs_.remove_file(path_ + "/optimizer/shard-00001.h5").ok());
  EXPECT_THAT(open_status().message, HasSubstr("optimizer/shard-00001.h5 is missing"));
  ASSERT_TRUE(fs_.make_dir(path_ + "/optimizer/shard-00001.h5").ok());
  EXPECT_THAT(open_status().message, HasSubstr("not a regular file"));
}

TEST_F(Reader, RejectsManifestFromNewerMajorVersion) {
  rewrite_manifest("\"major\":1", "\"major\":2");
  EXPECT_EQ(open_status().code, Code::kIncompatible);
}

TEST_F(Reader, RefusesADamagedManifest) {
  damage("manifest.json", 600);
  EXPECT_EQ(open_status().code, Code::kCorrupt);
  EXPECT_THAT(open_status().message, HasSubstr("self-digest"));
}

TEST_F(Reader, NamesFileTensorLeafAndOffsetOfDamagedData) {
  auto reader = CheckpointReader::open(fs_, path_);
  ASSERT_TRUE(reader.ok());
  const StoredTensor& tensor = *reader->manifest().stored({1, kExpAvg});
  ASSERT_GE(tensor.pieces[0].leaf_count, 2u);
  const std::string file = reader->manifest().files[tensor.pieces[0].file].path;
  const std::uint64_t offset = tensor.pieces[0].offset + 400;
  damage(file, offset + 17);
  std::vector<std::byte> out(2 * 400);
  const Status status = reader->read({1, kExpAvg}, {0, 2}, out);
  EXPECT_EQ(status.code, Code::kCorrupt);
  for (const std::string& part : {file, std::string("leaf 1 of tensor 'layers.0.attention.wq.weight.exp_avg'"),
                                  "offset " + std::to_string(offset)})
    EXPECT_THAT(status.message, HasSubstr(part));
  EXPECT_TRUE(reader->read({1, kExpAvg}, {0, 1}, std::span(out).first(400)).ok());
}

TEST_F(Reader, RefusesADamagedLeafTable) {
  const Manifest manifest = CheckpointReader::open(fs_, path_)->manifest();
  const FileEntry& file = manifest.files[manifest.stored({0, ""})->pieces[0].file];
  damage(file.path, file.table_offset + 40);
  auto reader = CheckpointReader::open(fs_, path_);
  std::vector<std::byte> out(400);
  const Status status = reader->read({0, ""}, {0, 1}, out);
  EXPECT_EQ(status.code, Code::kCorrupt);
  EXPECT_THAT(status.message, HasSubstr("leaf table of " + path_ + "/" + file.path));
}

TEST_F(Reader, ChecksJsonComponents) {
  damage("dataloader.json", 20);
  auto reader = CheckpointReader::open(fs_, path_);
  ASSERT_TRUE(reader.ok());
  EXPECT_EQ(reader->data_position().status().code, Code::kCorrupt);
  EXPECT_TRUE(reader->lr_schedule().ok());
}

TEST_F(Reader, RefusesRangesAndBuffersThatDoNotFit) {
  auto reader = CheckpointReader::open(fs_, path_);
  std::vector<std::byte> out(400);
  EXPECT_EQ(reader->read({0, ""}, {0, 2}, out).code, Code::kInvalid);
  EXPECT_EQ(reader->read({0, ""}, {1000, 1}, out).code, Code::kInvalid);
  EXPECT_EQ(reader->read({0, ""}, {1, ~std::uint64_t{0}}, out).code, Code::kInvalid);
  EXPECT_EQ(reader->read({0, "momentum"}, {0, 1}, out).code, Code::kNotFound);
  EXPECT_EQ(reader->read({99, ""}, {0, 1}, out).code, Code::kNotFound);
  EXPECT_TRUE(reader->read({0, ""}, {3, 0}, {}).ok());
}

TEST_F(Reader, ElementsOfOurOwnFormatAreReadInWholeLeaves) {
  auto reader = CheckpointReader::open(fs_, path_);
  const Manifest& manifest = reader->manifest();
  const LeafGrid grid = manifest.parameters[0].meta.grid(manifest.leaf_elements);
  ASSERT_GT(grid.count(), 2u);
  const std::uint64_t size = dtype_size(manifest.stored({0, ""})->dtype), leaf = grid.leaf_elements;
  std::vector<std::byte> all(grid.elements * size), out;
  ASSERT_TRUE(reader->read({0, ""}, {0, grid.count()}, all).ok());
  for (const auto& [first, end] : {std::pair{std::uint64_t{0}, leaf}, {leaf, 3 * leaf}, {leaf, grid.elements}}) {
    out.resize((end - first) * size);
    EXPECT_TRUE(reader->read({0, ""}, first, out).ok());
    EXPECT_TRUE(std::ranges::equal(out, std::span(all).subspan(first * size, out.size())));
  }
  EXPECT_TRUE(reader->read({0, ""}, grid.elements, {}).ok());
  out.resize(leaf * size);
  EXPECT_EQ(reader->read({0, ""}, 1, out).code, Code::kInvalid);
  EXPECT_EQ(reader->read({0, ""}, 0, std::span(out).first(size)).code, Code::kInvalid);
}

TEST_F(Reader, RefusesATrainStateOfAnotherStepThanTheManifests) {
  auto reader = CheckpointReader::open(fs_, path_);
  ASSERT_TRUE(reader.ok());
  Manifest manifest = reader->manifest();
  TrainState state = *reader->train_state();
  ++state.step;
  const std::string text = encode_train_state(state);
  for (FileEntry& file : manifest.files) {
    if (file.path != "train_state.json") continue;
    file.bytes = text.size();
    file.whole = digest_of(std::string_view(text));
    ComponentEntry& entry = *std::find_if(manifest.components.begin(), manifest.components.end(),
                                          [](const ComponentEntry& c) { return c.name == "train_state"; });
    entry.digest = file.whole;
    entry.bytes = entry.stored_bytes = file.bytes;
  }
  for (const auto& [name, bytes] :
       {std::pair<std::string, std::string>{"train_state.json", text}, {"manifest.json", encode_manifest(manifest)}}) {
    ASSERT_TRUE(fs_.remove_file(path_ + "/" + name).ok());
    ASSERT_TRUE(testing::put_text(fs_, path_ + "/" + name, bytes).ok());
  }
  reader = CheckpointReader::open(fs_, path_);
  ASSERT_TRUE(reader.ok()) << reader.status().to_string();
  EXPECT_EQ(reader->train_state().status().code, Code::kCorrupt);
  EXPECT_THAT(reader->train_state().status().message, HasSubstr("says step"));
}

// Counts the files that are open at once.
class CountingFs final : public testing::FsWrapper {
 public:
  using FsWrapper::FsWrapper;
  std::size_t open = 0, most = 0;

  Result<std::unique_ptr<File>> open_member(const std::string& folder, const std::string& member,
                                            Access access) override {
    TITAN_ASSIGN_OR_RETURN(std::unique_ptr<File> file, inner_.open_member(folder, member, access));
    most = std::max(most, ++open);
    return std::unique_ptr<File>(std::make_unique<Counted>(*this, std::move(file)));
  }

 private:
  struct Counted final : File {
    Counted(CountingFs& f, std::unique_ptr<File> i) : fs(f), inner(std::move(i)) {}
    ~Counted() override { --fs.open; }
    Status pread(std::uint64_t offset, std::span<std::byte> out) override { return inner->pread(offset, out); }
    Status pwrite(std::uint64_t, std::span<const std::byte>) override { return no(); }
    Status truncate(std::uint64_t) override { return no(); }
    Result<std::uint64_t> size() override { return inner->size(); }
    Status datasync() override { return no(); }
    Status close() override { return inner->close(); }
    CountingFs& fs;
    std::unique_ptr<File> inner;
  };
  static Status no() { return failed("for reading alone"); }
};

TEST(ManyFiles, AReaderKeepsAtMost128OpenAndClosesThemAll) {
  MemFs memory;
  const auto published =
      testing::save(memory, "/run", testing::make_snapshot({{"tok_embeddings.weight", {300 * 16}}}, {1, 150, 1}, 16));
  ASSERT_TRUE(published.ok()) << published.status().to_string();
  CountingFs fs(memory);
  {
    auto reader = CheckpointReader::open(fs, published->path);
    ASSERT_TRUE(reader.ok());
    ASSERT_GE(reader->manifest().parameters[0].model->pieces.size(), 150u);
    std::vector<std::byte> out(300 * 16 * 4);
    ASSERT_TRUE(reader->read({0, ""}, {0, 300}, out).ok());
    EXPECT_GT(fs.most, 100u);
    EXPECT_LE(fs.most, 129u) << "128, and the one that is being opened";
    EXPECT_LE(fs.open, 128u);
  }
  EXPECT_EQ(fs.open, 0u);
}

TEST_F(Reader, RefusesALinkInPlaceOfAMemberOrOfItsFolder) {
  ASSERT_TRUE(fs_.rename(path_ + "/model", "/outside").ok());
  ASSERT_TRUE(fs_.symlink("/outside", path_ + "/model").ok());
  const Status status = CheckpointReader::open(fs_, path_).status();
  EXPECT_EQ(status.code, Code::kCorrupt);
  EXPECT_THAT(status.message, HasSubstr(path_ + "/model is a symbolic link"));
}

TEST_F(Reader, AFolderThatBecomesALinkLaterIsNotReadThrough) {
  auto reader = CheckpointReader::open(fs_, path_);
  ASSERT_TRUE(reader.ok());
  ASSERT_TRUE(fs_.rename(path_ + "/model", "/outside").ok());
  ASSERT_TRUE(fs_.symlink("/outside", path_ + "/model").ok());
  const LeafGrid grid = reader->manifest().parameters[0].meta.grid(reader->manifest().leaf_elements);
  std::vector<std::byte> out(grid.length(0) * 4);
  EXPECT_EQ(reader->read({0, ""}, {0, 1}, out).code, Code::kCorrupt);
}

TEST_F(Reader, ServesManyThreads) {
  auto reader = CheckpointReader::open(fs_, path_);
  ASSERT_TRUE(reader.ok());
  std::vector<std::thread> threads;
  std::vector<int> good(4);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (std::uint32_t i = 0; i < snapshot_.parameters.size(); ++i) {
        const LeafRange all{0, snapshot_.parameters[i].grid(100).count()};
        const std::vector<std::byte> expected = testing::pattern(snapshot_, {i, kExpAvgSq}, all);
        std::vector<std::byte> out(expected.size());
        good[t] += reader->read({i, kExpAvgSq}, all, out).ok() && out == expected;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const int count : good) EXPECT_EQ(count, static_cast<int>(snapshot_.parameters.size()));
}

}  // namespace
}  // namespace titan::ckpt::reader_test
