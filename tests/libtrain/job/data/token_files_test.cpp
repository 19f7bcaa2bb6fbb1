#include "libtrain/job/data/token_files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <random>

#include "tests/support/scratch_dir.h"

namespace titan::train::token_files_test {
namespace {

namespace fs = std::filesystem;
using ckpt::Code;

std::string pattern(std::size_t size) {
  std::string text(size, '\0');
  for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>(i * 31 + (i >> 8) * 7);
  return text;
}

ckpt::DataFile print_of(const std::string& name, const std::string& content) {
  return fingerprint(name, std::as_bytes(std::span(content)));
}

TEST(FindDataFiles, ReadsFolderSortedWithoutHiddenFilesAndSubfolders) {
  const ScratchDir dir;
  dir.write("d/b.txt", "b");
  dir.write("d/a.txt", "a");
  dir.write("d/Z.txt", "z");
  dir.write("d/.hidden", "h");
  dir.write("d/sub/c.txt", "c");
  fs::create_symlink(dir / "d/sub/c.txt", dir / "d/link.txt");
  fs::create_symlink(dir / "nowhere", dir / "d/dangling.txt");
  fs::create_directory_symlink(dir / "d/sub", dir / "d/there");
  ASSERT_EQ(::mkfifo((dir / "d/fifo").c_str(), 0600), 0);
  fs::create_directory(dir / "d/.git");
  const auto found = find_data_files(dir / "d", "key");
  ASSERT_TRUE(found.ok()) << found.status().to_string();
  EXPECT_EQ(found->paths,
            (std::vector<std::string>{dir / "d/Z.txt", dir / "d/a.txt", dir / "d/b.txt", dir / "d/link.txt"}));
  EXPECT_EQ(found->left_out, (std::vector<std::string>{"dangling.txt (a dangling link)", "fifo (a FIFO)",
                                                       "sub (a folder)", "there (a link to a folder)"}));
}

TEST(FindDataFiles, KeepsTheOrderOfAListAndTakesAnExistingPathWithACommaAsOne) {
  const ScratchDir dir;
  const std::string b = dir.write("b", "b"), a = dir.write("a", "a"), comma = dir.write("x,y", "c");
  dir.write("f/2", "2");
  dir.write("f/1", "1");
  const auto list = find_data_files(b + " , " + dir / "f" + "," + a, "key");
  ASSERT_TRUE(list.ok()) << list.status().to_string();
  EXPECT_EQ(list->paths, (std::vector<std::string>{b, dir / "f/1", dir / "f/2", a}));
  const auto one = find_data_files(comma, "key");
  ASSERT_TRUE(one.ok()) << one.status().to_string();
  EXPECT_EQ(one->paths, std::vector<std::string>{comma});
}

TEST(FindDataFiles, AnIndexInAPatternStandsForItsIdsAndWhatIsNamedTwiceIsSaid) {
  const ScratchDir dir;
  for (const char* name : {"m1.bin", "m1.idx", "m2.bin", "m2.idx", "lone.idx", "n.ds", "n.ds.index", "n.ds.metadata"})
    dir.write(name, "x");
  const auto found = [&](const std::string& path) {
    const auto files = find_data_files(path, "key");
    EXPECT_TRUE(files.ok()) << files.status().to_string();
    return files.ok() ? *files : FoundFiles{};
  };
  EXPECT_EQ(found(dir / "*.idx").paths, (std::vector<std::string>{dir / "m1.bin", dir / "m2.bin"}));
  EXPECT_EQ(found(dir / "m1.*").paths, (std::vector<std::string>{dir / "m1.bin"}));
  EXPECT_EQ(found(dir / "n.ds.*").paths, (std::vector<std::string>{dir / "n.ds"})) << "once of two that are of it";
  EXPECT_TRUE(found(dir / "*").twice.empty());
  dir.write("tb[1]/m1.bin", "x");
  dir.write("tb1/m2.bin", "x");
  EXPECT_EQ(found(dir / "tb[1]/m?.bin").paths, (std::vector<std::string>{dir / "tb[1]/m1.bin"})) << "a literal name";
  EXPECT_EQ(found(std::string(dir / "m1") + "," + std::string(dir / "m*.bin")).twice,
            (std::vector<std::string>{dir / "m1.bin"}));
}

TEST(FindDataFiles, NamesWhatIsWrong) {
  const ScratchDir dir;
  const std::string a = dir.write("a", "a");
  dir.write("empty/.hidden", "h");
  const struct {
    std::string path, message;
  } cases[] = {
      {"", "key is empty"},
      {dir / "none", "does not exist"},
      {a + "," + dir / "none", "does not exist"},
      {a + ",," + a, "has an empty item"},
      {a + ",", "has an empty item"},
      {dir / "empty", "has no data files"},
  };
  for (const auto& c : cases) {
    const auto found = find_data_files(c.path, "key");
    ASSERT_FALSE(found.ok()) << c.path;
    EXPECT_EQ(found.status().code, Code::kInvalid);
    EXPECT_NE(found.status().message.find(c.message), std::string::npos) << found.status().message;
  }
}

// Digests computed by Python's xxhash over the blocks of the definition.
TEST(Fingerprint, KeepsItsKnownAnswersForEver) {
  const struct {
    std::size_t size;
    const char* digest;
  } cases[] = {
      {0, "99aa06d3014798d86001c324468d497f"},      {10, "64177989b264713959fb994c490530c5"},
      {262143, "3de622e29b853000ee4f3bf233de36e1"}, {262144, "58284869074704ecfaf9412742136111"},
      {300000, "c1be8b888106bbe6fb8b343a8db5d8a0"},
  };
  for (const auto& c : cases) {
    const ckpt::DataFile file = print_of("/some/folder/name.bin", pattern(c.size));
    EXPECT_EQ(file.name, "name.bin");
    EXPECT_EQ(file.bytes, c.size);
    EXPECT_EQ(file.blocks.hex(), c.digest) << c.size;
  }
}

TEST(Fingerprint, ChangesWithEverySampledBlockAndWithTheSize) {
  const std::string content = pattern(1000000);
  const ckpt::DataFile original = print_of("f", content);
  for (std::size_t i = 0; i < 64; ++i) {
    const std::size_t begin = i * (content.size() - 4096) / 63;
    for (std::size_t at : {begin, begin + 4095}) {
      std::string changed = content;
      changed[at] ^= 1;
      EXPECT_NE(print_of("f", changed), original) << "block " << i;
    }
  }
  EXPECT_NE(print_of("f", content + "x"), original);
  EXPECT_NE(print_of("f", content.substr(1)), original);
  EXPECT_NE(print_of("g", content), original);
  EXPECT_EQ(print_of("elsewhere/f", content), original);
  std::string unsampled = content;
  unsampled[4096] ^= 1;  // between the first two blocks: the fingerprint is a sample, not a digest
  EXPECT_EQ(print_of("f", unsampled), original);
}

TEST(TokenFiles, JoinsFilesIntoOneStreamAndReadsAcrossThem) {
  const ScratchDir dir;
  const std::string a = dir.write("a", "abc"), none = dir.write("none", "");
  const std::string b = dir.write("b", "de"), c = dir.write("c", "fghij");
  auto opened = open_token_files({a, none, b, c}, TokenKind::kUtf8Bytes, "key");
  ASSERT_TRUE(opened.ok()) << opened.status().to_string();
  const TokenStream& stream = *opened->stream;
  EXPECT_EQ(stream.size(), 10u);
  EXPECT_EQ(stream.id_bound(), 256u);
  EXPECT_EQ(opened->files.size(), 4u);
  for (std::uint64_t begin = 0; begin < 10; ++begin) {
    for (std::uint64_t count = 0; begin + count <= 10; ++count) {
      std::vector<std::int64_t> out(count), expected(count);
      for (std::uint64_t i = 0; i < count; ++i) expected[i] = 'a' + static_cast<std::int64_t>(begin + i);
      stream.read(begin, out);
      EXPECT_EQ(out, expected) << begin << "+" << count;
    }
  }
  EXPECT_EQ(stream.describe(0), "'" + a + "', token 0");
  EXPECT_EQ(stream.describe(4), "'" + b + "', token 1");
  EXPECT_EQ(stream.describe(5), "'" + c + "', token 0");
}

TEST(TokenFiles, ReadsLittleEndianTokens) {
  const ScratchDir dir;
  const std::string file = dir.write("t.bin", std::string("\x01\x02\xFF\xFF\x00\x00\x03\x80", 8));
  const struct {
    TokenKind kind;
    std::vector<std::int64_t> tokens;
  } cases[] = {{TokenKind::kUint16, {0x0201, 0xFFFF, 0, 0x8003}}, {TokenKind::kUint32, {0xFFFF0201, 0x80030000}}};
  for (const auto& c : cases) {
    auto opened = open_token_files({file}, c.kind, "key");
    ASSERT_TRUE(opened.ok()) << opened.status().to_string();
    std::vector<std::int64_t> out(opened->stream->size());
    opened->stream->read(0, out);
    EXPECT_EQ(out, c.tokens);
    EXPECT_EQ(opened->stream->id_bound(), 0u);
  }
}

TEST(TokenFiles, KeepsAByteOrderMark) {
  const ScratchDir dir;
  auto opened = open_token_files({dir.write("bom.txt", "\xEF\xBB\xBFx")}, TokenKind::kUtf8Bytes, "key");
  ASSERT_TRUE(opened.ok()) << opened.status().to_string();
  std::vector<std::int64_t> out(4);
  opened->stream->read(0, out);
  EXPECT_EQ(out, (std::vector<std::int64_t>{0xEF, 0xBB, 0xBF, 'x'}));
  ASSERT_EQ(opened->warnings.size(), 1u);
  EXPECT_NE(opened->warnings[0].find("key begins with a byte order mark, which is taken as text"), std::string::npos);
}

TEST(TokenFiles, WarnsOfControlCharactersWhereverTheyAre) {
  const ScratchDir dir;
  const std::string prose(200000, 'x');
  const std::string nul = dir.write("nul.txt", prose + '\0' + prose + '\0');
  const std::string bell = dir.write("bell.txt", prose + "\n\x07\0");
  const std::string fine = dir.write("fine.txt", prose + "\t\n\v\f\r\b\x1b[1m\x7f\xC3\xA9\n");
  const auto opened = open_token_files({fine, nul, bell}, TokenKind::kUtf8Bytes, "key");
  ASSERT_TRUE(opened.ok()) << opened.status().to_string();
  EXPECT_EQ(opened->warnings,
            (std::vector<std::string>{"key has NUL bytes, which text has not: " + nul + " (the first at offset 200000)",
                                      "key has control characters: " + bell + " (the first at offset 200001)"}));
}

template <typename Number>
std::string bytes_of(std::initializer_list<Number> numbers) {
  return std::string(reinterpret_cast<const char*>(std::data(numbers)), numbers.size() * sizeof(Number));
}

TEST(TokenFiles, IdsOfOtherProgramsAreOneStream) {
  const ScratchDir dir;
  dir.write("d/a.bin", bytes_of<std::int32_t>({1, 70000, 3}));
  dir.write("d/a.idx", std::string("MMIDIDX\0\0", 9) + bytes_of<std::uint64_t>({1}) + "\4" +
                           bytes_of<std::uint64_t>({2, 3}) + bytes_of<std::uint32_t>({1, 2}) +
                           bytes_of<std::uint64_t>({0, 4}) + bytes_of<std::uint64_t>({0, 1, 2}));
  dir.write("d/b.ds", bytes_of<std::uint32_t>({4, 5}));
  dir.write("d/b.ds.index", bytes_of<std::uint64_t>({2}));
  dir.write("d/b.ds.metadata", "gpt2|4\n2");
  dir.write("d/c.npy", std::string("\x93NUMPY\x01\x00\x37\x00", 10) +
                           "{'descr': '<i8', 'fortran_order': False, 'shape': (2,)}" + bytes_of<std::int64_t>({6, -7}));
  dir.write("d/d.bin", bytes_of<std::uint16_t>({8, 9, 10}));
  const auto found = find_data_files(dir / "d", "key");
  ASSERT_TRUE(found.ok()) << found.status().to_string();
  EXPECT_EQ(found->paths,
            (std::vector<std::string>{dir / "d/a.bin", dir / "d/b.ds", dir / "d/c.npy", dir / "d/d.bin"}));
  for (const char* name : {"d/a", "d/a.idx", "d/a.bin"})
    EXPECT_EQ(find_data_files(dir / name, "key")->paths, std::vector<std::string>{dir / "d/a.bin"}) << name;
  EXPECT_EQ(find_data_files(dir / "d/b.ds*", "key")->paths, std::vector<std::string>{dir / "d/b.ds"});
  const auto opened = open_token_files(found->paths, TokenKind::kUint16, "key");
  ASSERT_TRUE(opened.ok()) << opened.status().to_string();
  EXPECT_EQ(opened->stream->size(), 10u);
  std::vector<std::int64_t> all(10), part(3);
  opened->stream->read(0, all);
  EXPECT_EQ(all, (std::vector<std::int64_t>{1, 70000, 3, 4, 5, 6, -7, 8, 9, 10}));
  opened->stream->read(4, part);
  EXPECT_EQ(part, (std::vector<std::int64_t>{5, 6, -7}));
  EXPECT_EQ(opened->files[2].file.bytes, 10u + 55 + 16) << "a fingerprint is of the whole file";
  const std::size_t turned[] = {3, 2, 1, 0};
  opened->stream->arrange(turned);
  opened->stream->read(0, all);
  EXPECT_EQ(all, (std::vector<std::int64_t>{8, 9, 10, 6, -7, 4, 5, 1, 70000, 3}));
}

TEST(TokenFiles, NamesFileAndReasonOfEveryRefusal) {
  const ScratchDir dir;
  ASSERT_EQ(::mkfifo((dir / "fifo").c_str(), 0600), 0);
  const std::string good = dir.write("good.txt", "fine");
  const struct {
    std::string path;
    TokenKind kind;
    Code code;
    std::vector<std::string> parts;
  } cases[] = {
      {dir.write("latin1.txt", "caf\xE9 au lait"),
       TokenKind::kUtf8Bytes,
       Code::kInvalid,
       {"latin1.txt", "0xe9", "offset 3"}},
      {dir.write("cut.txt", "euro \xE2\x82"), TokenKind::kUtf8Bytes, Code::kInvalid, {"cut.txt", "0xe2", "offset 5"}},
      {dir.write("odd.bin", "abc"), TokenKind::kUint16, Code::kInvalid, {"odd.bin", "3 bytes", "size of 2"}},
      {dir.write("odd32.bin", "abcdef"), TokenKind::kUint32, Code::kInvalid, {"odd32.bin", "6 bytes", "size of 4"}},
      {dir.write("x.idx", "abcd"), TokenKind::kUint16, Code::kInvalid, {"x.idx", "is an index"}},
      {dir.write("x.ds.index", "abcd"), TokenKind::kUint16, Code::kInvalid, {"x.ds.index", "is an index"}},
      {dir / "fifo", TokenKind::kUtf8Bytes, Code::kInvalid, {"fifo", "not a regular file"}},
      {dir / "gone", TokenKind::kUtf8Bytes, Code::kInvalid, {"gone", "does not exist"}},
  };
  for (const auto& c : cases) {
    const auto opened = open_token_files({good, c.path}, c.kind, "key");
    ASSERT_FALSE(opened.ok()) << c.path;
    EXPECT_EQ(opened.status().code, c.code) << opened.status().message;
    for (const std::string& part : c.parts)
      EXPECT_NE(opened.status().message.find(part), std::string::npos) << opened.status().message;
  }
}

TEST(TokenFiles, TextIsReadInSlicesThatCutNoCharacterAndEndAtAStop) {
  const ScratchDir dir;
  constexpr std::size_t kSlice = 16 << 20;
  std::string text(kSlice - 2, 'a');
  text += "\xE2\x82\xAC and more";  // one byte of it lies behind the slice
  const std::string whole = dir.write("whole.txt", text);
  const auto opened = open_token_files({whole}, TokenKind::kUtf8Bytes, "key");
  EXPECT_TRUE(opened.ok()) << opened.status().message;
  text[kSlice + 4] = '\xE9';
  const auto refused = open_token_files({dir.write("bad.txt", text)}, TokenKind::kUtf8Bytes, "key");
  EXPECT_NE(refused.status().message.find("0xe9 at offset " + std::to_string(kSlice + 4)), std::string::npos)
      << refused.status().message;
  text.resize(kSlice - 1);
  const auto cut = open_token_files({dir.write("cut.txt", text)}, TokenKind::kUtf8Bytes, "key");
  EXPECT_NE(cut.status().message.find("offset " + std::to_string(kSlice - 2)), std::string::npos);

  ckpt::CancelSource source;
  source.request(ckpt::StopReason::kTerminate);
  const auto stopped = open_token_files({whole}, TokenKind::kUtf8Bytes, "key", {}, ckpt::CancelToken(source));
  EXPECT_EQ(stopped.status().code, Code::kTerminated);
}

// What rank 0 has read the others take from it, where two blocks say that it is the same file.
TEST(TokenFiles, AnothersFingerprintServesWhereNameSizeAndEndsAgree) {
  const ScratchDir dir;
  std::string text(1 << 20, 'a');
  const auto open = [](const std::string& path, std::span<const KnownFile> known) {
    auto opened = open_token_files({path}, TokenKind::kUtf8Bytes, "key", known);
    EXPECT_TRUE(opened.ok()) << opened.status().message;
    return std::pair(opened->files.at(0).file, opened->files.at(0).ends);
  };
  const std::string path = dir.write("a.txt", text);
  const auto [file, ends] = open(path, {});
  ASSERT_TRUE(ends);
  const ckpt::DataFile told{"a.txt", text.size(), ckpt::digest_of("told")};
  EXPECT_EQ(open(path, std::vector<KnownFile>{{told, ends}}).first, told);
  for (const KnownFile& other :
       {KnownFile{told, {}}, KnownFile{told, ckpt::digest_of("others")},
        KnownFile{{"b.txt", told.bytes, told.blocks}, ends}, KnownFile{{"a.txt", told.bytes - 1, told.blocks}, ends}})
    EXPECT_EQ(open(path, std::vector{other}).first, file) << "all of its blocks are read";
  for (const std::size_t at : {std::size_t{7}, text.size() - 7}) {
    std::string changed = text;
    changed[at] = 'b';
    const auto found = open(dir.write("a.txt", changed), std::vector<KnownFile>{{file, ends}});
    EXPECT_NE(found.first, file);
  }
  EXPECT_FALSE(open(dir.write("small.txt", "few blocks"), {}).second) << "it is read whole";
}

TEST(TokenFiles, MoreFilesThanAProcessCanMapAreRefusedWithWhatToDo) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer maps memory of its own";
#endif
  std::size_t most = 0;
  if (!(std::ifstream("/proc/sys/vm/max_map_count") >> most) || most > 100000) GTEST_SKIP() << "too many to try";
  const ScratchDir dir;
  const auto opened =
      open_token_files(std::vector<std::string>(most + 1, dir.write("a.txt", "text")), TokenKind::kUtf8Bytes, "key");
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.status().code, Code::kFailed);
  EXPECT_NE(opened.status().message.find("a.txt': this process has no room for another mapping"), std::string::npos);
  EXPECT_NE(opened.status().hint.find("join small ones"), std::string::npos);
  EXPECT_TRUE(open_token_files({dir.write("b.txt", "text")}, TokenKind::kUtf8Bytes, "key").ok())
      << "those before it were given back";
}

TEST(TokenFiles, RefusesADatasetWithoutTokens) {
  const ScratchDir dir;
  const auto opened =
      open_token_files({dir.write("a", ""), dir.write("b", "")}, TokenKind::kUtf8Bytes, "training.dataset_path");
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.status().code, Code::kInvalid);
  EXPECT_NE(opened.status().message.find("training.dataset_path: the dataset is empty"), std::string::npos);
}

}  // namespace
}  // namespace titan::train::token_files_test
