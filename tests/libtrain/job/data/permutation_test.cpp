#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <random>
#include <set>
#include <vector>

#include "libtrain/job/data/permutation.h"

namespace titan::train::permutation_test {
namespace {

std::vector<std::uint64_t> whole(std::uint64_t seed, std::uint64_t epoch, std::uint64_t n) {
  std::vector<std::uint64_t> order(n);
  for (std::uint64_t i = 0; i < n; ++i) order[i] = permuted_index(seed, epoch, i, n);
  return order;
}

// Computed by an independent Python implementation of the comment in permutation.cpp, with the xxhash package.
TEST(Permutation, KeepsItsKnownAnswersForEver) {
  const struct {
    std::uint64_t seed, epoch, n;
    std::vector<std::uint64_t> first;
  } cases[] = {
      {0, 0, 10, {6, 5, 1, 4, 0, 2, 3, 9, 8, 7}},
      {0, 1, 10, {6, 3, 8, 9, 4, 0, 7, 2, 1, 5}},
      {1, 0, 10, {0, 3, 2, 7, 5, 8, 6, 4, 9, 1}},
      {42, 0, 1000, {497, 89, 92, 663}},
      {42, 3, 1000003, {76798, 441111, 484548, 460143}},
      {std::numeric_limits<std::uint64_t>::max(),
       1099511627776,
       1099511627777,
       {622873041560, 988322552661, 474579716514, 662566138793}},
      // Powers of 4 need no bit more than themselves.
      {3, 2, 4, {1, 2, 0, 3}},
      {3, 2, 16, {4, 9, 7, 11, 6, 2, 5, 3}},
      {3, 2, 64, {38, 18, 28, 12, 57, 21, 20, 41}},
      {3, 2, 1024, {625, 467, 528, 280, 127, 843, 363, 634}},
      {3, 2, 4611686018427387904u, {3980591296542402456, 334541344798118276, 2887932003269226172, 4588627613176859422}},
      {7,
       0,
       9223372036854775808u,
       {2493230567388875633, 8775133968587740153, 8835697412467767407, 2868767207000363324}},
  };
  for (const auto& c : cases)
    for (std::uint64_t i = 0; i < c.first.size(); ++i)
      EXPECT_EQ(permuted_index(c.seed, c.epoch, i, c.n), c.first[i]) << "seed " << c.seed << " n " << c.n << " i " << i;
}

TEST(Permutation, IsABijectionForEverySize) {
  std::vector<std::uint64_t> sizes;
  for (std::uint64_t n = 1; n <= 300; ++n) sizes.push_back(n);
  for (std::uint64_t n : {1023, 1024, 1025, 4095, 4096, 4097, 65537, 100003}) sizes.push_back(n);
  std::mt19937_64 random(20260102);
  for (std::uint64_t n : sizes) {
    const std::uint64_t seed = random(), epoch = random() % 5;
    std::vector<bool> seen(n, false);
    for (std::uint64_t index : whole(seed, epoch, n)) {
      ASSERT_LT(index, n) << "seed " << seed << " epoch " << epoch;
      ASSERT_FALSE(seen[index]) << "n " << n << " seed " << seed << " epoch " << epoch << " index " << index;
      seen[index] = true;
    }
  }
}

TEST(Permutation, DiffersBetweenEpochsAndSeeds) {
  std::set<std::vector<std::uint64_t>> orders;
  for (std::uint64_t seed = 0; seed < 8; ++seed)
    for (std::uint64_t epoch = 0; epoch < 8; ++epoch) orders.insert(whole(seed, epoch, 500));
  EXPECT_EQ(orders.size(), 64u);
}

TEST(Permutation, MovesSamplesEvenly) {
  // Where sample 0 lands over 20,000 epochs: 20 bins of 1,000 expected; six standard deviations are about 185.
  std::vector<int> bins(20, 0);
  for (std::uint64_t epoch = 0; epoch < 20000; ++epoch) ++bins[permuted_index(5, epoch, 0, 1000) / 50];
  for (int count : bins) EXPECT_NEAR(count, 1000, 185);
  // Neighbours do not stay together.
  int adjacent = 0;
  const std::vector<std::uint64_t> order = whole(5, 0, 10000);
  for (std::size_t i = 1; i < order.size(); ++i) adjacent += order[i] == order[i - 1] + 1;
  EXPECT_LT(adjacent, 20);
}

}  // namespace
}  // namespace titan::train::permutation_test
