#include "ckpt/plan/mixture.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace titan::ckpt::mixture_test {
namespace {

using ::testing::ElementsAre;
using Places = std::vector<std::pair<std::size_t, std::uint64_t>>;

/// Sets of 1,000 samples and one file each.
DataPosition position_of(const std::vector<double>& weights) {
  DataPosition position;
  position.kind = "text";
  position.seq_len = position.sample_stride = 16;
  const std::vector<std::uint64_t> shares = shares_of(weights);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const std::string name = "set" + std::to_string(i);
    position.sets.push_back({.name = name, .share = shares[i], .samples = 1000, .files = 1});
    position.files.push_back({name + ".txt", 16001, digest_of(name)});
    position.samples_per_epoch += 1000;
  }
  return position;
}

Places places(const Mixture& mixture, std::uint64_t count) {
  Places found;
  for (std::uint64_t n = 0; n < count; ++n) {
    const Draw draw = mixture.at(n).value();
    found.emplace_back(draw.set, draw.number);
  }
  return found;
}

TEST(Mixture, SharesAreTheLargestRemainders) {
  EXPECT_THAT(shares_of(std::vector{0.5, 0.3, 0.2}), ElementsAre(2147483648, 1288490189, 858993459));
  EXPECT_THAT(shares_of(std::vector{7.0, 2.0, 1.0}), ElementsAre(3006477107, 858993459, 429496730));
  EXPECT_THAT(shares_of(std::vector{2.0, 2.0, 2.0}), ElementsAre(1431655766, 1431655765, 1431655765));
  EXPECT_THAT(shares_of(std::vector{1e308, 1e308, 1e-300}), ElementsAre(2147483648, 2147483648, 0));
}

TEST(Mixture, TheOrderIsThatOfTheFormat) {
  EXPECT_EQ(places(Mixture(position_of({0.5, 0.3, 0.2})), 12),
            (Places{{0, 0}, {1, 0}, {0, 1}, {2, 0}, {0, 2}, {1, 1}, {0, 3}, {2, 1}, {0, 4}, {1, 2}, {0, 5}, {1, 3}}));
  EXPECT_EQ(places(Mixture(position_of({0.7, 0.2, 0.1})), 12),
            (Places{{0, 0}, {1, 0}, {0, 1}, {0, 2}, {2, 0}, {0, 3}, {0, 4}, {0, 5}, {1, 1}, {0, 6}, {0, 7}, {1, 2}}));
  EXPECT_EQ(places(Mixture(position_of({1, 1, 1})), 9),
            (Places{{1, 0}, {0, 0}, {2, 0}, {1, 1}, {0, 1}, {2, 1}, {1, 2}, {0, 2}, {2, 2}}));
  const Mixture far(position_of({0.5, 0.3, 0.2}));
  EXPECT_EQ(far.at(1'000'000), (Draw{0, 500'000}));
  EXPECT_EQ(far.at(1'000'000'000), (Draw{0, 500'000'000}));
  EXPECT_EQ(far.at(1'000'000'000'007), (Draw{1, 300'000'000'048}));
}

// At every position: each sample of each set once and in turn, and no set more than two samples from its share.
void expect_even(const std::vector<double>& weights, std::uint64_t samples) {
  const Mixture mixture(position_of(weights));
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<std::uint64_t> counts(weights.size());
  for (std::uint64_t n = 0; n < samples; ++n) {
    const Draw draw = mixture.at(n).value();
    ASSERT_EQ(draw.number, counts[draw.set]++) << n;
    for (std::size_t i = 0; i < weights.size(); ++i)
      ASSERT_LT(std::abs(static_cast<double>(counts[i]) - weights[i] / sum * static_cast<double>(n + 1)), 2)
          << "set " << i << " at " << n;
  }
  EXPECT_EQ(mixture.drawn(samples), counts);
}

TEST(Mixture, CountsAreWithinTwoSamplesOfTheWeightsAtEveryPosition) {
  expect_even({1, 3}, 5000);
  expect_even({0.5, 0.3, 0.2}, 5000);
  std::vector<double> many;
  for (int i = 0; i < 200; ++i) many.push_back(1 + i * i % 37);
  expect_even(many, 20000);
}

TEST(Mixture, ASetThatHasGivenAllLeavesItsShareToTheOthers) {
  DataPosition position = position_of({2, 1, 1});
  position.sets[0].most = 10;
  position.sets[1].drawn = 3;
  position.epoch_base = 100;
  const Mixture mixture(position);
  EXPECT_FALSE(mixture.end().has_value());
  std::vector<std::uint64_t> counts = {0, 3, 0};
  for (std::uint64_t n = 100; n < 160; ++n) {
    EXPECT_EQ(mixture.drawn(n), counts) << n;
    const Draw draw = mixture.at(n).value();
    EXPECT_EQ(draw.number, counts[draw.set]++) << n;
  }
  EXPECT_EQ(counts[0], 10u);
  EXPECT_LE(counts[1] - 3 - counts[2] + 2, 4u) << "half and half of what was left";
}

TEST(Mixture, TheDataEndWithASetThatStopsThemAndWithTheLastOne) {
  DataPosition position = position_of({1, 1});
  position.sets[0].most = 8;
  position.sets[0].stops = true;
  const Mixture stops(position);
  ASSERT_TRUE(stops.end().has_value());
  EXPECT_EQ(stops.drawn(*stops.end())[0], 8u);
  EXPECT_TRUE(stops.at(*stops.end() - 1).has_value());
  EXPECT_FALSE(stops.at(*stops.end()).has_value());
  EXPECT_EQ(stops.last_set(), 0u);
  EXPECT_EQ(stops.drawn(1000), stops.drawn(*stops.end()));

  position.sets[0].stops = false;
  position.sets[1].most = 20;
  const Mixture both(position);
  EXPECT_EQ(both.end(), 28u);
  EXPECT_EQ(both.last_set(), 1u);

  position.sets[0].drawn = 8;
  position.sets[1].drawn = 25;  // of weights that were changed
  EXPECT_EQ(Mixture(position).end(), 0u);
  EXPECT_THAT(Mixture(position).drawn(5), ElementsAre(8, 25));
}

TEST(Mixture, SetsAreKnownByTheirContentsAndGoOnAtTheirOwnPlace) {
  DataPosition stored = position_of({1, 1});
  stored.samples = 20;
  DataPosition there = position_of({3, 2, 1});
  std::swap(there.sets[0], there.sets[2]);
  std::swap(there.files[0], there.files[2]);
  there.files[2].name = "renamed.txt";
  const DataPosition next = continued_mixture(stored, there);
  ASSERT_EQ(next.sets.size(), 3u);
  EXPECT_EQ(next.sets[0].drawn, 10u);
  EXPECT_EQ(next.sets[0].share, there.sets[2].share);
  EXPECT_EQ(next.files[0], stored.files[0]) << "under the name of before";
  EXPECT_EQ(next.sets[1].drawn, 10u);
  EXPECT_EQ(next.sets[2].name, "set2");
  EXPECT_EQ(next.sets[2].drawn, 0u);

  there.seq_len = 32;  // samples are cut anew: the next pass begins
  EXPECT_EQ(continued_mixture(stored, there).sets[0].drawn, 1000u);

  DataPosition single = stored;
  single.sets.clear();
  single.files.pop_back();
  single.samples_per_epoch = 1000;
  single.first_epoch = 2;
  there.seq_len = 16;
  EXPECT_EQ(continued_mixture(single, there).sets[0].drawn, 2020u);
}

TEST(Mixture, EpochsCountWhatASetGaveItself) {
  DataPosition there = position_of({1, 1});
  for (MixedSet& set : there.sets) set.most = 1000;
  DataPosition single = there;
  single.sets.clear();
  single.files.pop_back();
  single.samples_per_epoch = 1000;
  single.first_epoch = 1;  // other data gave the first one
  single.samples = 20;
  DataPosition next = continued_mixture(single, there);
  EXPECT_EQ(next.sets[0].drawn, 1020u);
  EXPECT_EQ(next.sets[0].most, 2000u) << "980 are left of its epoch";
  EXPECT_EQ(next.sets[1].most, 1000u);

  next.samples = next.epoch_base = 20;
  EXPECT_EQ(continued_mixture(next, there).sets[0], next.sets[0]) << "also at the next start";

  there.sets[0].samples = there.sets[0].most = 500;  // cut anew
  const MixedSet cut = continued_mixture(next, there).sets[0];
  EXPECT_EQ(cut.drawn, 1000u) << "a pass that nobody has seen";
  EXPECT_EQ(cut.most - cut.drawn, 490u) << "20 of 1,000 samples were 10 of these";

  const MixedSet anew = continued_mixture(next, position_of({1, 1}), /*cut_anew=*/true).sets[0];
  EXPECT_EQ(anew.drawn, 2000u) << "as many samples in another order";
}

TEST(Mixture, WhatAChangeDoesToEachSetIsSaid) {
  DataPosition stored = position_of({1, 1, 2});
  stored.samples = 100;
  DataPosition next = position_of({1, 1, 2});
  EXPECT_EQ(mixture_difference(stored, next), "");
  next = position_of({1, 2, 1});
  next.sets[0].most = 2 * next.sets[0].samples;
  const std::string a = stored.sets[0].name, b = stored.sets[1].name, c = stored.sets[2].name;
  EXPECT_EQ(mixture_difference(stored, next),
            a + " is dropped after 2 epochs, " + b + " 25 -> 50 %, " + c + " 50 -> 25 %");
  next = position_of({1, 1});
  EXPECT_EQ(mixture_difference(stored, next),
            a + " 25 -> 50 %, " + b + " 25 -> 50 %; left out: " + c + " (50 samples drawn), which loses its place");
  EXPECT_EQ(mixture_difference(next, stored), a + " 50 -> 25 %, " + b + " 50 -> 25 %; new: " + c);
  DataPosition many = position_of(std::vector<double>(200, 1)), few = many;
  few.sets.resize(1);
  few.files.resize(1);
  const std::string text = mixture_difference(many, few);
  EXPECT_THAT(text, ::testing::HasSubstr("set20 (0 samples drawn), "));
  EXPECT_THAT(text, ::testing::ContainsRegex("and 1[0-9]+ more, which lose their places"));
  EXPECT_LT(text.size(), 800u);
}

TEST(Mixture, ASetThatHasOtherContentsIsNamedAsThat) {
  DataPosition stored = position_of({1, 1, 2}), next = stored;
  stored.samples = 100;
  next.files[2].bytes = 20001;
  EXPECT_EQ(mixture_difference(stored, next),
            "other contents under the same file name, which begin: set2 (50 samples drawn before)");
  next.sets[1].name = "moved";
  next.files[1].bytes = 20001;
  next.sets[2].most = 2000;
  EXPECT_EQ(
      mixture_difference(stored, next),
      "set2 is dropped after 2 epochs; other contents under the same file name, which begin: set2 (50 samples drawn "
      "before); new: moved; left out: set1 (25 samples drawn), which loses its place");
}

TEST(Mixture, SetsOfOneNameAreNumbered) {
  DataPosition stored = position_of({1, 1, 2});
  for (MixedSet& set : stored.sets) set.name = "train.jsonl";
  stored.sets[1].name = "other.jsonl";
  DataPosition next = stored;
  EXPECT_EQ(mixture_text(stored.sets), "train.jsonl (1) 25 %, other.jsonl 25 %, train.jsonl (2) 50 %");
  EXPECT_EQ(mixture_as_stored(stored.sets), "train.jsonl 25 %, other.jsonl 25 %, train.jsonl 50 %");
  stored.samples = 100;
  next.files[2].bytes = 20001;
  EXPECT_EQ(mixture_difference(stored, next),
            "new: train.jsonl (3); left out: train.jsonl (2) (50 samples drawn), which loses its place")
      << "which of them it replaces is not known";
  next = stored;
  next.files[0].bytes = 20001;
  EXPECT_EQ(mixture_difference(stored, next),
            "new: train.jsonl (3); left out: train.jsonl (1) (25 samples drawn), which loses its place");
}

TEST(Mixture, FromWhereTheEpochsOfASingleSetCountIsSaid) {
  const DataPosition there = position_of({1, 1});
  DataPosition single = there;
  single.sets.clear();
  single.files.pop_back();
  single.samples_per_epoch = 1000;
  single.epoch_base = 500;
  single.first_epoch = 1;
  single.samples = 520;
  EXPECT_EQ(mixture_difference(single, there),
            "set0.txt 100 -> 50 %; new: set1; the epochs of set0.txt count from sample 500 on");
  const MixedSet set = continued_mixture(single, there).sets[0];
  EXPECT_EQ(passes_of(set, set.drawn), 0.02);
  single.first_epoch = single.epoch_base = 0;
  EXPECT_EQ(mixture_difference(single, there), "set0.txt 100 -> 50 %; new: set1") << "all of it counts";

  single.epoch_base = 500;
  single.first_epoch = 1;
  DataPosition other = there;
  std::swap(other.sets[0], other.sets[1]);
  other.files[0].bytes = other.files[1].bytes = 77;
  other.files[0].name = "other.txt";
  EXPECT_THAT(mixture_difference(single, other), ::testing::HasSubstr("left out: set0.txt (20 samples drawn)"))
      << "not what other data gave before";
}

TEST(Mixture, ContentsAreTheSameInAnyOrderAndUnderAnyName) {
  const std::vector<DataFile> files = {{"a", 5, digest_of("a")}, {"b", 7, digest_of("b")}, {"empty", 0, {}}};
  const std::vector<DataFile> moved = {{"x", 7, digest_of("b")}, {"y", 5, digest_of("a")}};
  EXPECT_EQ(contents_of(files), contents_of(moved));
  EXPECT_NE(contents_of(files), contents_of(std::span(files).first(1)));
}

TEST(Mixture, WordsNameSetsAndShares) {
  EXPECT_EQ(mixture_text(position_of({7, 3}).sets), "set0 70 %, set1 30 %");
  EXPECT_THAT(mixture_text(position_of(std::vector<double>(200, 1)).sets), ::testing::HasSubstr("and 192 more"));
}

}  // namespace
}  // namespace titan::ckpt::mixture_test
