#include "libtrain/job/data/text_cache.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "ckpt/base/fs_posix.h"
#include "recipe/keys/config.h"
#include "tests/recipe/support/small_tokenizer.h"
#include "tests/support/failing_fs.h"
#include "tests/support/mem_fs.h"
#include "tests/support/scratch_dir.h"

namespace titan::train::text_cache_test {
namespace {

using ckpt::Code;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::uint64_t kVocabulary = 301;

class TextCaches : public ::testing::Test {
 protected:
  void SetUp() override {
    dir.write("tok/tokenizer.json", recipe::testing::small_tokenizer());
    dir.write("tok/tokenizer_config.json", R"({"eos_token":"<eos>"})");
    dir.write("data/a.jsonl", "{\"text\":\"hello\",\"body\":\"he\"}\n");
    dir.write("data/b.txt", "hell he");
    std::filesystem::create_directory(std::string(dir / "run"));
    config.job.dump_folder = dir / "run";
    config.model.tokenizer = dir / "tok";
    config.training.dataset_path = dir / "data";
    config.training.seq_len = 2;
    config.training.shuffle = false;
  }
  TextCache found(const ckpt::DataPosition* stored = nullptr) const {
    auto cache =
        find_text_cache(ckpt::posix_fs(), config, *config.training.dataset_path, "data", kVocabulary, {}, stored);
    EXPECT_TRUE(cache.ok()) << cache.status().to_string();
    return cache.ok() ? *cache : TextCache();
  }
  TextCache made(const ckpt::DataPosition* stored = nullptr) {
    TextCache cache = found(stored);
    const ckpt::Status status = make_text_cache(
        ckpt::posix_fs(), config, {}, [&](const std::string& line) { said.push_back(line); }, cache);
    EXPECT_TRUE(status.ok()) << status.to_string();
    return cache;
  }
  std::vector<std::int64_t> ids(const TextCache& cache) const {
    const auto data = Dataset::open(reading_tokens(config, {&cache, 1}), 0, kVocabulary);
    EXPECT_TRUE(data.ok()) << data.status().to_string();
    std::vector<std::int64_t> all;
    for (std::uint64_t i = 0; i < (*data)->samples_per_epoch(); ++i) {
      std::vector<std::int64_t> sample(3);
      EXPECT_TRUE((*data)->sample(i, sample).ok());
      all.insert(all.end(), sample.begin() + (i > 0 ? 1 : 0), sample.end());
    }
    return all;
  }
  ckpt::Status error() const {
    return find_text_cache(ckpt::posix_fs(), config, *config.training.dataset_path, "data", kVocabulary, {}, nullptr)
        .status();
  }

  ScratchDir dir;
  recipe::Config config;
  std::vector<std::string> said;
};

TEST_F(TextCaches, TextBecomesTokensOnce) {
  const TextCache before = found();
  EXPECT_FALSE(before.there);
  EXPECT_FALSE(std::filesystem::exists(before.folder)) << "a look writes nothing";
  const TextCache cache = made();
  EXPECT_THAT(said, ElementsAre(HasSubstr("2 files"), HasSubstr("2 documents, 6 tokens in " + cache.folder)));
  EXPECT_THAT(ids(cache), ElementsAre(259, 300, 257, 256, 260));
  const TextCache again = found();
  EXPECT_TRUE(again.there);
  EXPECT_EQ(again.folder, before.folder);
  EXPECT_EQ(again.tokenizer, before.tokenizer) << "a look knows what the folder will say";
  EXPECT_THAT(again.tokenizer, HasSubstr("; behind 300"));
}

TEST_F(TextCaches, WhatIsLostOrCutIsMadeAgainWithTheSameBytes) {
  const TextCache cache = made();
  const std::string tokens = cache.folder + "/tokens-00000.bin", data = cache.folder + "/data.json";
  const std::string bytes = read_text(tokens), json = read_text(data);
  std::filesystem::permissions(tokens, std::filesystem::perms::owner_all);
  std::filesystem::resize_file(tokens, 4);
  EXPECT_FALSE(found().there) << "it is not whole";
  made();
  EXPECT_EQ(read_text(tokens), bytes);
  std::filesystem::remove_all(cache.folder);
  EXPECT_FALSE(found().there);
  EXPECT_EQ(made().folder, cache.folder);
  EXPECT_EQ(read_text(tokens), bytes);
  EXPECT_EQ(read_text(data), json);
}

TEST_F(TextCaches, WhatIsDamagedIsMadeAgainWithTheSameBytes) {
  TextCache cache = made();
  const auto prove = [&](TextCache& one) {
    said.clear();
    const ckpt::Status status = prove_text_cache(
        ckpt::posix_fs(), {}, [&](const std::string& line) { said.push_back(line); }, one);
    EXPECT_TRUE(status.ok()) << status.to_string();
    return one.there;
  };
  EXPECT_TRUE(prove(cache));
  EXPECT_THAT(said, IsEmpty());
  for (const char* name : {"/tokens-00000.bin", "/ends-00000.bin", "/tokenizer.json"}) {
    const std::string path = cache.folder + name, bytes = read_text(path);
    std::string changed = bytes;
    changed[1] ^= 1;
    std::filesystem::remove(path);
    std::ofstream(path) << changed;
    TextCache damaged = found();
    EXPECT_TRUE(damaged.there) << "the sizes are right";
    EXPECT_FALSE(prove(damaged));
    EXPECT_THAT(said, ElementsAre(HasSubstr("have to be made again: '" + path + "' is damaged")));
    made();
    EXPECT_EQ(read_text(path), bytes);
  }
}

TEST_F(TextCaches, TextTokenizerAndFieldEachMakeAnother) {
  const TextCache cache = found();
  config.training.text_field = "body";
  EXPECT_NE(found().folder, cache.folder);
  EXPECT_THAT(ids(made()), ElementsAre(257, 300, 257, 256, 260));
  config.training.text_field = "text";
  dir.write("data/b.txt", "hell hE");
  EXPECT_NE(found().folder, cache.folder);
  dir.write("data/b.txt", "hell he");
  EXPECT_EQ(found().folder, cache.folder);
  dir.write("tok/tokenizer_config.json", R"({"eos_token":"l"})");
  EXPECT_NE(found().folder, cache.folder);
  EXPECT_NE(found().tokenizer, cache.tokenizer);
}

TEST_F(TextCaches, TheOrderOfARunIsKept) {
  ckpt::DataPosition stored;
  stored.kind = "text";
  for (const KnownFile& known : made().files) stored.files.push_back(known.file);
  const std::string folder = found().folder;
  std::filesystem::rename(std::string(dir / "data/a.jsonl"), std::string(dir / "data/z.jsonl"));
  dir.write("data/empty.txt", "");
  EXPECT_NE(found().folder, folder);
  EXPECT_THAT(ids(made(&stored)), ElementsAre(259, 300, 257, 256, 260));
  dir.write("data/c.txt", "one more");
  EXPECT_THAT(found(&stored).paths, SizeIs(4)) << "other data are read as they are";
}

TEST_F(TextCaches, EachSetOfAMixtureHasItsOwn) {
  dir.write("more/c.txt", "he he hell hello he he");
  config.training.dataset_path.reset();
  config.training.datasets = {"path=" + std::string(dir / "data"), "path=" + std::string(dir / "more") + " weight=3"};
  std::vector<TextCache> caches;
  for (const char* folder : {"data", "more"}) {
    auto cache = find_text_cache(ckpt::posix_fs(), config, dir / folder, "data", kVocabulary, {}, nullptr,
                                 caches.empty() ? nullptr : &caches.front());
    ASSERT_TRUE(cache.ok()) << cache.status().to_string();
    const std::string looked = cache->tokenizer;
    ASSERT_TRUE(make_text_cache(
                    ckpt::posix_fs(), config, {}, [](const std::string&) {}, *cache)
                    .ok());
    EXPECT_EQ(cache->tokenizer, looked);
    caches.push_back(std::move(*cache));
  }
  EXPECT_THAT(reading_tokens(config, caches).training.datasets,
              ElementsAre("path=" + caches[0].folder, "path=" + caches[1].folder));
  const auto data = Dataset::open(config, 7, kVocabulary, {}, {}, caches);
  ASSERT_TRUE(data.ok()) << data.status().to_string();
  const ckpt::DataPosition& origin = (*data)->origin();
  EXPECT_EQ(origin.kind, "text");
  EXPECT_EQ(origin.tokenizer, caches[0].tokenizer);
  ASSERT_THAT(origin.sets, SizeIs(2));
  EXPECT_EQ(origin.sets[0].name, "data");
  EXPECT_EQ(origin.sets[0].files, 2u);
  EXPECT_EQ(origin.sets[1].share, std::uint64_t{3} << 30);
  EXPECT_THAT(origin.files, SizeIs(3));
  EXPECT_EQ(origin.files[2].name, "c.txt") << "known by the texts";
  std::vector<std::int64_t> sample(3);
  for (std::uint64_t i = 0; i < 8; ++i) EXPECT_TRUE((*data)->sample(i, sample).ok());

  // The order of a set's files is that of the run, whatever the names are now.
  std::filesystem::rename(std::string(dir / "data/a.jsonl"), std::string(dir / "data/z.jsonl"));
  const auto again = find_text_cache(ckpt::posix_fs(), config, dir / "data", "data", kVocabulary, {}, &origin);
  EXPECT_EQ(again->folder, caches[0].folder);
  EXPECT_TRUE(again->there);
}

TEST_F(TextCaches, WhatCannotBecomeTokensIsRefusedBeforeAnythingIsMade) {
  dir.write("data/p.txt", std::string("PAR1") + std::string(100, '\0') + "PAR1");
  EXPECT_THAT(error().message, HasSubstr("p.txt' is "));
  std::filesystem::remove(std::string(dir / "data/p.txt"));
  dir.write("tok/tokenizer_config.json", "{}");
  EXPECT_THAT(error().hint, HasSubstr("--eos TOKEN"));
  dir.write("tok/tokenizer_config.json", R"({"eos_token":"<eos>"})");
  const auto small = find_text_cache(ckpt::posix_fs(), config, *config.training.dataset_path, "data", 300, {}, nullptr);
  EXPECT_THAT(small.status().hint, HasSubstr("--model.vocab_size=301"));
  config.model.tokenizer = dir / "none";
  EXPECT_THAT(error().message, HasSubstr("model.tokenizer"));
  EXPECT_EQ(error().code, Code::kInvalid);
}

TEST_F(TextCaches, HintsNameWhatARunCanDo) {
  const auto hint = [&](const std::string& text) {
    dir.write("data/a.jsonl", text);
    TextCache cache = found();
    return make_text_cache(
               ckpt::posix_fs(), config, {}, [](const std::string&) {}, cache)
        .hint;
  };
  EXPECT_EQ(hint("{\"body\":\"he\"}\n"), "training.text_field names the member of a line that is the text");
  dir.write("data/b.txt", "hell\xff");
  EXPECT_THAT(hint("{\"text\":\"he\"}\n"), HasSubstr("where --replace-malformed puts U+FFFD there; iconv -t UTF-8"));
}

TEST_F(TextCaches, WhatLooksLikeSomethingElseIsAWarning) {
  dir.write("data/b.txt", "\xef\xbb\xbfhell");
  dir.write("data/c.txt", "[{\"text\": \"he\"}]");
  const TextCache cache = made();
  EXPECT_THAT(cache.warnings,
              ElementsAre(HasSubstr("b.txt' begins with a byte order mark"),
                          AllOf(HasSubstr("c.txt' looks like JSON"), HasSubstr("training.text_field names its text"))));
  EXPECT_THAT(said, ::testing::Not(::testing::Contains(HasSubstr("looks like"))));
}

TEST_F(TextCaches, AStopLeavesNothing) {
  ckpt::CancelSource source;
  source.request(ckpt::StopReason::kTerminate);
  TextCache cache = found();
  EXPECT_EQ(make_text_cache(
                ckpt::posix_fs(), config, ckpt::CancelToken(source), [](const std::string&) {}, cache)
                .code,
            Code::kTerminated);
  EXPECT_FALSE(std::filesystem::exists(cache.folder));
  EXPECT_FALSE(std::filesystem::exists(cache.folder + ".tmp-rewrite"));
}

TEST_F(TextCaches, TokensAreMadeAndReadThroughTheFileSystemThatIsGiven) {
  using ckpt::testing::Op;
  TextCache cache = found();
  ckpt::testing::FailingFs fs(ckpt::posix_fs());
  fs.arm({.op = Op::kCreate, .repeat = ckpt::testing::Repeat::kSticky});
  const auto say = [](const std::string&) {};
  EXPECT_FALSE(make_text_cache(fs, config, {}, say, cache).ok());
  EXPECT_FALSE(std::filesystem::exists(cache.folder));
  fs.disarm();
  ASSERT_TRUE(make_text_cache(fs, config, {}, say, cache).ok());
  fs.arm({.op = Op::kPread, .path_part = cache.folder + "/tokenizer.json", .repeat = ckpt::testing::Repeat::kSticky});
  EXPECT_TRUE(prove_text_cache(fs, {}, say, cache).ok());
  EXPECT_FALSE(cache.there) << "an unreadable folder is made again";
  EXPECT_EQ(text_tokenizer(fs, config), std::string(dir / "tok"));
  ckpt::testing::MemFs memory;
  EXPECT_FALSE(find_text_cache(memory, config, *config.training.dataset_path, "data", kVocabulary, {}, nullptr).ok());
}

TEST_F(TextCaches, TorchtitansAssetsMayBeElsewhere) {
  std::string note;
  EXPECT_EQ(text_tokenizer(ckpt::posix_fs(), config, &note), std::string(dir / "tok"));
  config.model.tokenizer = "byte";
  EXPECT_EQ(text_tokenizer(ckpt::posix_fs(), config, &note), "");
  config.model.hf_assets_path = dir / "tok";
  EXPECT_EQ(text_tokenizer(ckpt::posix_fs(), config, &note), std::string(dir / "tok"));
  config.model.hf_assets_path = "./assets/hf";
  EXPECT_EQ(text_tokenizer(ckpt::posix_fs(), config, &note), "./assets/hf") << "who asks for it has it";
  EXPECT_THAT(note, IsEmpty());
  config.training.corpus = "c4";
  EXPECT_EQ(text_tokenizer(ckpt::posix_fs(), config, &note), "");
  EXPECT_THAT(note, HasSubstr("text is read as bytes"));
  config.training.dataset = "tokens";
  config.model.tokenizer = dir / "tok";
  EXPECT_EQ(text_tokenizer(ckpt::posix_fs(), config, &note), "");
}

TEST_F(TextCaches, PatternsNameFiles) {
  config.training.dataset_path = std::string(dir / "data") + "/*.jsonl," + std::string(dir / "data") + "/b.t?t";
  EXPECT_THAT(ids(made()), ElementsAre(259, 300, 257, 256, 260));
  config.training.dataset_path = std::string(dir / "data") + "/*.csv";
  EXPECT_THAT(error().message, HasSubstr("nothing fits"));
}

}  // namespace
}  // namespace titan::train::text_cache_test
