#include "recipe/text/bpe.h"

#include <gmock/gmock.h>

namespace titan::recipe::bpe_test {
namespace {

using testing::ElementsAre;

std::vector<std::uint32_t> ids(const BpeParts& parts, std::string_view piece) {
  const auto bpe = Bpe::make(parts);
  EXPECT_TRUE(bpe.ok()) << bpe.status().message;
  Bpe::Scratch scratch;
  std::vector<std::uint32_t> made;
  const ckpt::Status status = bpe->encode(piece, scratch, made);
  EXPECT_TRUE(status.ok()) << status.message;
  return made;
}

BpeParts letters() {
  BpeParts parts;
  parts.vocabulary = {{"a", 0}, {"b", 1}, {"c", 2}, {"ab", 3}, {"bc", 4}, {"abc", 5}, {"aa", 6}, {"aaaa", 7}};
  parts.merges = {{"a", "b"}, {"b", "c"}, {"ab", "c"}, {"a", "a"}, {"aa", "aa"}};
  return parts;
}

TEST(Bpe, MergesByRankAndFromTheLeft) {
  EXPECT_THAT(ids(letters(), "abc"), ElementsAre(5u));
  EXPECT_THAT(ids(letters(), "bcab"), ElementsAre(4u, 3u));
  EXPECT_THAT(ids(letters(), "aaa"), ElementsAre(6u, 0u));
  EXPECT_THAT(ids(letters(), "aaaaa"), ElementsAre(7u, 0u));
  BpeParts other = letters();
  other.merges = {{"b", "c"}, {"a", "b"}, {"ab", "c"}};
  EXPECT_THAT(ids(other, "abc"), ElementsAre(0u, 4u)) << "the token abc is not made by these merges";
  other.ignore_merges = true;
  EXPECT_THAT(ids(other, "abc"), ElementsAre(5u)) << "but it is the whole piece";
}

TEST(Bpe, OfEqualMergesTheLastCounts) {
  BpeParts parts = letters();
  parts.merges = {{"a", "b"}, {"b", "c"}, {"a", "b"}};
  EXPECT_THAT(ids(parts, "abc"), ElementsAre(0u, 4u));
}

TEST(Bpe, AMergeCountsOnlyWhileItsHalvesAreThere) {
  BpeParts parts = letters();
  parts.vocabulary.push_back({"aab", 8});
  parts.merges = {{"a", "b"}, {"a", "a"}, {"ab", "c"}, {"a", "ab"}};
  EXPECT_THAT(ids(parts, "aabc"), ElementsAre(0u, 5u))
      << "a a has gone when its turn comes; a ab is of a later rank than ab c";
}

TEST(Bpe, WritesUnknownSymbols) {
  BpeParts parts = letters();
  parts.vocabulary.insert(parts.vocabulary.end(), {{"<unk>", 8}, {"<0xC3>", 9}, {"<0xA9>", 10}});
  const auto none = Bpe::make(parts);
  Bpe::Scratch scratch;
  std::vector<std::uint32_t> made;
  EXPECT_EQ(none->encode("x", scratch, made).code, ckpt::Code::kInvalid);
  parts.unknown = "<unk>";
  EXPECT_THAT(ids(parts, "axxb"), ElementsAre(0u, 8u, 8u, 1u));
  parts.fuse_unknown = true;
  EXPECT_THAT(ids(parts, "axxbx"), ElementsAre(0u, 8u, 1u, 8u));
  parts.byte_fallback = true;
  EXPECT_THAT(ids(parts, "a\xc3\xa9x"), ElementsAre(0u, 9u, 10u, 8u));
}

TEST(Bpe, BytesAreSymbolsOfAByteLevelVocabulary) {
  BpeParts parts;
  parts.byte_level = true;
  parts.vocabulary = {{"\xc4\xa0", 0},
                      {"a", 1},
                      {"\xc4\xa0"
                       "a",
                       2},
                      {"\xc3\x83", 3},
                      {"\xc2\xa9", 4}};  // " ", "a", " a", C3, A9
  parts.merges = {{"\xc4\xa0", "a"}};
  EXPECT_THAT(ids(parts, " a\xc3\xa9"), ElementsAre(2u, 3u, 4u));
}

TEST(Bpe, KnowsWhetherWordsMayBeCut) {
  BpeParts parts;
  const std::string mark(Bpe::kSpaceMark), word = mark + "a", after = "a" + mark, two = mark + mark;
  parts.vocabulary = {{mark, 0}, {"a", 1}, {word, 2}, {two, 3}};
  parts.merges = {{mark, "a"}, {mark, mark}};
  EXPECT_TRUE(Bpe::make(parts)->never_joins(mark));
  parts.vocabulary.push_back({after, 4});
  parts.merges.push_back({"a", mark});
  EXPECT_FALSE(Bpe::make(parts)->never_joins(mark));
}

TEST(Bpe, RefusesMergesOfWhatIsNotThere) {
  for (const auto& [left, right] : {std::pair("x", "a"), std::pair("a", "x"), std::pair("c", "a")}) {
    BpeParts parts = letters();
    parts.merges.push_back({left, right});
    EXPECT_EQ(Bpe::make(parts).status().code, ckpt::Code::kInvalid) << left << right;
  }
  BpeParts parts = letters();
  parts.unknown = "<unk>";
  EXPECT_FALSE(Bpe::make(parts).ok());
}

TEST(Bpe, LongPiecesAreQuick) { EXPECT_EQ(ids(letters(), std::string(2'000'000, 'a')).size(), 500'000u); }

}  // namespace
}  // namespace titan::recipe::bpe_test
