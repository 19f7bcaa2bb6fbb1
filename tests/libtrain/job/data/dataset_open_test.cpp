#include <gmock/gmock.h>

#include <filesystem>
#include <map>
#include <set>

#include "corpus/token_data.h"
#include "libtrain/job/data/dataset.h"
#include "libtrain/job/data/token_files.h"
#include "recipe/keys/config.h"
#include "tests/support/scratch_dir.h"

namespace titan::train::dataset_open_test {
namespace {

using ckpt::Code;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Tokens = std::vector<std::int64_t>;

template <typename Number>
std::string bytes_of(const std::vector<Number>& numbers) {
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(Number)};
}

/// u16 ids `first`, `first` + 1, ...
std::string counting(std::size_t tokens, std::size_t first = 0) {
  std::vector<std::uint16_t> ids;
  for (std::size_t i = 0; i < tokens; ++i) ids.push_back(static_cast<std::uint16_t>(first + i));
  return bytes_of(ids);
}

/// An index of Megatron's for u16 ids in sequences of these lengths.
std::string megatron_index(const std::vector<std::uint32_t>& lengths) {
  std::vector<std::uint64_t> offsets, bounds = {0};
  std::uint64_t at = 0;
  for (const std::uint32_t length : lengths) {
    offsets.push_back(2 * at);
    at += length;
    bounds.push_back(bounds.size());
  }
  return std::string("MMIDIDX\0\0", 9) + bytes_of<std::uint64_t>({1}) + "\x8" +
         bytes_of<std::uint64_t>({lengths.size(), bounds.size()}) + bytes_of(lengths) + bytes_of(offsets) +
         bytes_of(bounds);
}

class OpenedData : public ::testing::Test {
 protected:
  void SetUp() override {
    config.training.dataset = "tokens";
    config.training.seq_len = 10;
    config.training.shuffle = false;
  }
  std::unique_ptr<Dataset> open(std::span<const KnownFile> known = {}) const {
    auto opened = Dataset::open(config, 7, 65536, known);
    EXPECT_TRUE(opened.ok()) << opened.status().to_string();
    return opened.ok() ? std::move(opened).value() : nullptr;
  }
  static Tokens sample(const Dataset& data, std::uint64_t number) {
    Tokens out(data.origin().seq_len + 1);
    EXPECT_TRUE(data.sample(number, out).ok());
    return out;
  }
  static Tokens starts(const Dataset& data, std::uint64_t number) {
    const auto marks = data.marks(number, sample(data, number));
    EXPECT_TRUE(marks.ok()) << marks.status().to_string();
    return marks.ok() ? marks->starts : Tokens();
  }
  /// A folder as `titan-ckpt tokenize` makes it, of one shard of counting ids.
  void write_folder(const std::string& name, const std::vector<std::uint64_t>& ends,
                    const std::vector<std::uint64_t>& answers = {}) {
    corpus::TokenData made;
    made.vocabulary = 300;
    made.tokens = ends.back();
    made.documents = ends.size();
    made.shards.push_back({"tokens-0", "ends-0", made.tokens, made.documents, {}, {}});
    if (!answers.empty()) made.shards[0].answers_file = "answers-0";
    made.shards[0].answers = answers.size() / 2;
    dir.write(name + "/tokens-0", counting(made.tokens));
    dir.write(name + "/ends-0", bytes_of(ends));
    if (!answers.empty()) dir.write(name + "/answers-0", bytes_of(answers));
    dir.write(name + "/tokenizer.json", "{}");
    dir.write(name + "/data.json", corpus::write_token_data(made));
  }

  ScratchDir dir;
  recipe::Config config;
};

TEST_F(OpenedData, AMixtureHoldsBackTheTailOfEachSet) {
  const std::vector<std::size_t> sizes = {400, 200, 120};
  std::map<std::int64_t, std::int64_t> border;  // the first token that is held back, by the set's thousand
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const std::string number = std::to_string(i);
    const std::string path = dir.write("set" + number, counting(sizes[i], 1000 * i));
    config.training.datasets.push_back("path=" + path + " weight=" + (i == 2 ? "6" : "3"));
    border[static_cast<std::int64_t>(i)] = static_cast<std::int64_t>(1000 * i + sizes[i] - sizes[i] / 4);
  }
  config.validation.enable = true;
  config.validation.holdout = 0.25;
  config.validation.seq_len = 4;
  const auto data = open();
  ASSERT_TRUE(data);
  EXPECT_EQ(data->origin().sets[0].samples, 29u) << "of 300 tokens";
  for (std::uint64_t i = 0; i < 200; ++i) {
    const Tokens tokens = sample(*data, i);
    EXPECT_LT(tokens.back(), border[tokens[0] / 1000]);
  }
  // (100 - 5) / 4 + 1, and so on
  ASSERT_EQ(data->validation_samples(), 24u + 12u + 7u);
  std::map<std::int64_t, std::vector<std::int64_t>> held_back;
  std::map<std::int64_t, std::size_t> of_first;
  for (std::uint64_t i = 0; i < data->validation_samples(); ++i) {
    Tokens out(5);
    ASSERT_TRUE(data->validation_sample(i, out).ok());
    held_back[out[0] / 1000].push_back(out[0]);
    if (i < 8) ++of_first[out[0] / 1000];
    EXPECT_EQ(out.back(), out.front() + 4);
  }
  EXPECT_EQ(of_first, (std::map<std::int64_t, std::size_t>{{0, 2}, {1, 2}, {2, 4}})) << "each set has its share";
  for (const auto& [set, first] : held_back)
    for (std::size_t i = 0; i < first.size(); ++i)
      EXPECT_EQ(first[i], border[set] + static_cast<std::int64_t>(4 * i)) << "set " << set;

  std::swap(config.training.datasets[0], config.training.datasets[2]);
  const auto later = open();
  ASSERT_TRUE(later->continue_from(data->origin()).ok());
  for (std::uint64_t i = 0; i < data->validation_samples(); ++i) {
    Tokens out(5), again(5);
    ASSERT_TRUE(data->validation_sample(i, out).ok());
    ASSERT_TRUE(later->validation_sample(i, again).ok());
    EXPECT_EQ(again, out);
  }
}

TEST_F(OpenedData, IndexesSayWhereDocumentsEnd) {
  dir.write("m/a.bin", counting(25));
  dir.write("m/a.idx", megatron_index({3, 0, 1, 20, 1}));
  dir.write("m/b.ds", counting(20));
  dir.write("m/b.ds.index", bytes_of<std::uint64_t>({4, 20}));
  config.training.dataset_path = dir / "m";
  EXPECT_THAT(starts(*open(), 0), IsEmpty()) << "nobody asked";
  config.training.document_mask = true;
  EXPECT_THAT(starts(*open(), 0), ElementsAre(3, 4));
  EXPECT_THAT(starts(*open(), 1), IsEmpty());
  EXPECT_THAT(starts(*open(), 2), ElementsAre(4, 5, 9)) << "24, the file behind, and 4 of that";
  config.training.document_end = 6;
  EXPECT_THAT(starts(*open(), 0), ElementsAre(7)) << "the id stands in for the index";
  config.training.document_end = 9;
  EXPECT_THAT(starts(*open(), 0), ElementsAre(10)) << "its last place";
  config.training.document_end.reset();
  config.training.pack = "whole";
  const auto whole = open();
  EXPECT_EQ(sample(*whole, 0), (Tokens{0, 1, 2, 3, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(sample(*whole, 1)[0], 4) << "20 tokens in pieces";

  config.training.pack = "cut";
  std::string odd = megatron_index({3, 0, 1, 20, 1});
  odd[34 + 5 * 4 + 2 * 8] = 7;  // the third begins in the middle of an id
  dir.write("m/a.idx", odd);
  EXPECT_EQ(Dataset::open(config, 7, 65536).status().code, Code::kCorrupt);
  const std::vector<std::string> index = {dir / "m/a.idx"};
  const std::string ids = counting(25);
  const KnownFile known = *known_file(dir / "m/a.bin", std::as_bytes(std::span(ids)), {}, index);
  const auto broken = open(std::span(&known, 1));
  EXPECT_EQ(broken->marks(0, sample(*broken, 0)).status().code, Code::kCorrupt) << "a run goes on until it meets it";
}

TEST_F(OpenedData, AnIndexThatContradictsItselfIsDamageWhoeverAsks) {
  config.training.dataset_path = dir.write("a.bin", counting(25));
  std::string odd = megatron_index({3, 1, 21});
  std::swap(odd[34], odd[34 + 4]);  // the first two lengths; the last one still ends where the file does
  dir.write("a.idx", odd);
  const auto opened = Dataset::open(config, 7, 65536);
  EXPECT_EQ(opened.status().code, Code::kCorrupt);
  EXPECT_THAT(opened.status().message, HasSubstr("does not lay its documents one after the other"));
}

TEST_F(OpenedData, TheWidthOfIdsBelongsToTheFingerprint) {
  config.training.dataset_path = dir.write("a.ds", counting(50));
  const std::unique_ptr<Dataset> plain = open();
  dir.write("a.ds.metadata", "tok|4\n25\n");
  const std::unique_ptr<Dataset> wide = open();
  EXPECT_EQ(wide->samples_per_epoch(), 2u);
  EXPECT_NE(wide->files(), plain->files());
  const std::unique_ptr<Dataset> continued = open(plain->known());
  EXPECT_EQ(continued->files(), plain->files());
  EXPECT_EQ(continued->samples_per_epoch(), plain->samples_per_epoch())
      << "a run that began without it reads on as it did";
  EXPECT_NE(open(wide->known())->files(), plain->files());
  dir.write("a.ds.index", bytes_of<std::uint64_t>({25}));
  const std::vector<ckpt::DataFile> indexed = open()->files();
  dir.write("a.ds.metadata", "tok|4\n25 tokens\n");
  EXPECT_EQ(open()->files(), indexed) << "the index says it, too";
}

TEST_F(OpenedData, APassGoesOnOnlyInAsManySamples) {
  for (const bool mixed : {false, true}) {
    config = {};
    SetUp();
    config.training.pack = "whole";
    const std::string path = dir.write("a.bin", counting(40));
    dir.write("a.idx", megatron_index({3, 8, 6, 23}));
    if (mixed) config.training.datasets = {"path=" + path, "path=" + dir.write("b.bin", counting(30, 500))};
    if (!mixed) config.training.dataset_path = path;
    ckpt::DataPosition begun = open()->origin();
    begun.samples = 2;
    EXPECT_TRUE(open()->continue_from(begun).ok());
    (mixed ? begun.sets[0].samples : begun.samples_per_epoch) += 1;
    const ckpt::Status status = open()->continue_from(begun);
    EXPECT_EQ(status.code, Code::kIncompatible) << mixed;
    EXPECT_THAT(status.message, HasSubstr("and the data have"));
    if (mixed) continue;
    begun.epoch_base = 2;
    EXPECT_TRUE(open()->continue_from(begun).ok()) << "nothing of it was read";
  }
}

TEST_F(OpenedData, KeysOfDocumentsThatDoNothingAreSaid) {
  config.training.dataset_path = dir.write("a.bin", counting(40));
  EXPECT_THAT(open()->warnings(), IsEmpty());
  config.training.document_end = 7;
  EXPECT_THAT(open()->warnings(), ElementsAre(HasSubstr("training.document_end has no effect")));
  config.training.document_mask = true;
  EXPECT_THAT(open()->warnings(), IsEmpty());
  config.training.document_end.reset();
  EXPECT_THAT(open()->warnings(), ElementsAre(HasSubstr("training.document_mask: nothing says where documents end")));
  config.training.document_end = 65535;
  EXPECT_TRUE(open()->doubt().ok());
  config.training.document_end = 65536;
  EXPECT_THAT(open()->doubt().message, HasSubstr("outside the vocabulary of 65536"));
  write_folder("d", {3, 25});
  config.training.dataset_path = dir / "d";
  config.training.document_end.reset();
  EXPECT_THAT(open()->warnings(), IsEmpty()) << "a folder says it";
}

TEST_F(OpenedData, WholeDocumentsEndBehindAnId) {
  // 0 to 7 again and again: documents of 8 tokens, of which 7 is the last.
  std::vector<std::uint16_t> ids;
  for (std::uint16_t i = 0; i < 60; ++i) ids.push_back(i % 8);
  config.training.dataset_path = dir.write("raw.bin", bytes_of(ids));
  config.training.pack = "whole";
  config.training.seq_len = 17;
  config.training.document_end = 7;
  const auto data = open();
  ASSERT_TRUE(data);
  EXPECT_EQ(data->samples_per_epoch(), 4u);
  for (std::uint64_t i = 0; i < 3; ++i) {
    const Tokens tokens = sample(*data, i);
    EXPECT_EQ(tokens[0], 0);
    EXPECT_EQ(tokens[15], 7);
    EXPECT_THAT(data->marks(i, tokens)->untrained, ElementsAre(16, 17));
  }
  EXPECT_EQ(data->marks(3, sample(*data, 3))->untrained.size(), 6u) << "the last 12";
  config.training.document_mask = true;
  EXPECT_THAT(starts(*open(), 0), ElementsAre(8, 16));
}

TEST_F(OpenedData, WhatSaysWhereDocumentsEndBelongsToTheFingerprint) {
  write_folder("d", {3, 4, 25}, {2, 5});
  config.training.dataset_path = dir / "d";
  const std::vector<ckpt::DataFile> files = open()->files();
  dir.write("d/ends-0", bytes_of<std::uint64_t>({3, 5, 25}));
  const std::vector<ckpt::DataFile> other_ends = open()->files();
  EXPECT_NE(other_ends, files);
  EXPECT_EQ(other_ends[0].bytes, files[0].bytes) << "its size is that of the tokens";
  dir.write("d/answers-0", bytes_of<std::uint64_t>({2, 6}));
  EXPECT_NE(open()->files(), other_ends);

  dir.write("m.bin", counting(25));
  config.training.dataset_path = dir / "m.bin";
  const std::unique_ptr<Dataset> plain = open();
  dir.write("m.idx", megatron_index({5, 20}));
  const std::vector<ckpt::DataFile> indexed = open()->files();
  EXPECT_NE(indexed, plain->files());
  EXPECT_EQ(open(plain->known())->files(), plain->files()) << "a run that began without it has its data still";
  std::vector<KnownFile> both = plain->known();
  both.push_back({indexed[0], std::nullopt});
  EXPECT_EQ(open(both)->files(), indexed);
}

// 300 KB: ranks take the fingerprint of such a file from rank 0, which says that the file is alone.
TEST_F(OpenedData, DocumentEndsThatCameAfterARunBeganChangeNoSample) {
  for (const std::uint32_t count : {25u, 150'000u}) {
    std::vector<std::uint16_t> ids;
    for (std::uint32_t i = 0; i < count; ++i) ids.push_back(static_cast<std::uint16_t>(i % 60'000));
    config.training.dataset_path = dir.write("late.bin", bytes_of(ids));
    for (const char* pack : {"cut", "whole"}) {
      std::filesystem::remove(std::string(dir / "late.idx"));
      config.training.pack = pack;
      config.training.document_mask = true;
      const std::unique_ptr<Dataset> begun = open();
      dir.write("late.idx", megatron_index({5, count - 5}));
      EXPECT_THAT(starts(*open(), 0), Contains(5)) << "a new run uses it";
      std::vector<KnownFile> stored = begun->known();  // a checkpoint has the fingerprint alone
      for (KnownFile& file : stored) file.ends.reset();
      const std::unique_ptr<Dataset> rank0 = open(stored), rank1 = open(rank0->known());
      for (const Dataset* const next : {rank0.get(), rank1.get()}) {
        EXPECT_EQ(next->files(), begun->files());
        EXPECT_EQ(next->samples_per_epoch(), begun->samples_per_epoch());
        EXPECT_EQ(starts(*next, 0), starts(*begun, 0)) << count << " " << pack;
        EXPECT_EQ(sample(*next, 0), sample(*begun, 0));
        EXPECT_THAT(next->warnings(), Contains(HasSubstr("does not use them (a new run does): " + (dir / "late.idx"))));
      }
    }
  }
}

TEST_F(OpenedData, WhatLiesBesideAFileStaysWithItInAList) {
  dir.write("m.bin", counting(25));
  dir.write("m.idx", megatron_index({25}));
  write_folder("d", {3, 25});
  config.training.document_mask = true;
  for (const char* folder : {"d", "d*"}) {
    config.training.dataset_path = std::string(dir / "m") + "," + std::string(dir / folder);
    EXPECT_THAT(starts(*open(), 2), ElementsAre(5, 8)) << folder;
  }
  std::filesystem::create_symlink("nowhere", std::string(dir / "lost*"));
  config.training.dataset_path = dir / "lost*";
  EXPECT_THAT(Dataset::open(config, 7, 65536).status().message, HasSubstr("does not exist"));
}

}  // namespace
}  // namespace titan::train::dataset_open_test
