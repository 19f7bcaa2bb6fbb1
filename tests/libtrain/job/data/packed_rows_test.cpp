#include "libtrain/job/data/packed_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "libtrain/job/data/dataset.h"

namespace titan::train::packed_rows_test {
namespace {

/// A stream that is nothing but the ends of its documents.
class Ends final : public TokenStream {
 public:
  explicit Ends(std::vector<std::uint64_t> ends) : ends_(std::move(ends)) {}
  std::uint64_t size() const override { return ends_.back(); }
  void arrange(std::span<const std::size_t>) override {}
  void read(std::uint64_t, std::span<std::int64_t>) const override {}
  ckpt::Status starts(std::uint64_t begin, std::uint64_t end, std::vector<std::uint64_t>& starts) const override {
    for (const std::uint64_t place : ends_)
      if (place > begin && place < end) starts.push_back(place);
    return failure;
  }
  ckpt::Status untrained(std::uint64_t, std::uint64_t, std::vector<std::uint64_t>&) const override { return {}; }
  bool all_trained() const override { return true; }
  std::uint64_t id_bound() const override { return 0; }
  std::string describe(std::uint64_t) const override { return ""; }
  ckpt::Status failure;

 private:
  std::vector<std::uint64_t> ends_;
};

PackedRows rows_of(const Ends& stream, std::uint64_t seq_len) {
  auto rows = PackedRows::of(stream, stream.size(), seq_len);
  EXPECT_TRUE(rows.ok()) << rows.status().to_string();
  return rows.ok() ? std::move(*rows) : PackedRows();
}

TEST(PackedRows, NoDocumentIsCutThatFitsAndEachTokenIsPredictedOnce) {
  std::mt19937_64 random(5);
  for (const std::uint64_t seq_len : {1, 2, 7, 64}) {
    std::vector<std::uint64_t> ends = {0};
    while (ends.size() < 400)
      ends.push_back(ends.back() + 1 + random() % (random() % 9 == 0 ? 5 * seq_len : seq_len + 1));
    ends.erase(ends.begin());
    const Ends stream(ends);
    const PackedRows rows = rows_of(stream, seq_len);
    std::vector<int> predicted(stream.size());
    std::set<std::uint64_t> begins;
    for (std::uint64_t row = 0; row < rows.size(); ++row) {
      ASSERT_LE(rows.tokens(row), seq_len + 1);
      begins.insert(rows.begin(row));
      for (std::uint64_t place = 1; place < rows.tokens(row); ++place) ++predicted[rows.begin(row) + place];
    }
    std::uint64_t document = 0;
    for (const std::uint64_t end : ends) {
      for (std::uint64_t place = document + 1; place < end; ++place)
        EXPECT_EQ(predicted[place], 1) << place << " of " << document << " to " << end << ", seq_len " << seq_len;
      if (end - document <= seq_len + 1) {
        const auto inside = begins.upper_bound(document);
        EXPECT_TRUE(inside == begins.end() || *inside >= end) << "cut: " << document << " to " << end;
      }
      document = end;
    }
  }
}

TEST(PackedRows, WindowsOfTheStreamLeaveNoSeam) {
  const std::uint64_t window = std::uint64_t{1} << 22;
  const PackedRows rows = rows_of(Ends({window - 1, window, window + 1, window + 3, 2 * window + 5}), window);
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows.tokens(0), window + 1);
  EXPECT_EQ(rows.begin(1), window + 1);
  EXPECT_EQ(rows.tokens(1), 2u);
  EXPECT_EQ(rows.tokens(2), window + 1) << "a long one is cut";
  EXPECT_EQ(rows.begin(3), 2 * window + 3) << "and goes on with its last token";
}

TEST(PackedRows, WhatCannotBePackedIsSaid) {
  EXPECT_EQ(rows_of(Ends({1}), 8).size(), 0u) << "nothing is predicted";
  Ends broken({4, 9});
  broken.failure = ckpt::corrupt("ends");
  EXPECT_EQ(PackedRows::of(broken, 9, 8).status().code, ckpt::Code::kCorrupt);
}

}  // namespace
}  // namespace titan::train::packed_rows_test
