#include "recipe/model/rope_frequencies.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>

namespace titan::recipe::rope_frequencies_test {
namespace {

using Values = std::map<std::size_t, double>;

/// The vectors are transformers 5.24's, in float32: a difference of a unit in the last place or two is their pow and
/// ours.
void expect(const std::string& text, double theta, std::int64_t head_dim, std::int64_t length, const Values& values,
            double attention = 1) {
  const auto scaling = text == "none" ? std::nullopt : std::optional(*parse_rope_scaling(text));
  const RopeFrequencies found = rope_frequencies(head_dim, theta, scaling, length);
  ASSERT_EQ(found.inverse.size(), static_cast<std::size_t>(head_dim / 2));
  EXPECT_DOUBLE_EQ(found.attention, attention) << text;
  for (const auto& [pair, value] : values)
    EXPECT_NEAR(found.inverse[pair], value, 3e-7 * value) << text << ", pair " << pair << ", length " << length;
}

const Values kPlain64 = {{0, 1},          {1, 0.7498942},  {2, 0.56234133}, {3, 0.42169651},    {4, 0.31622776},
                         {5, 0.23713736}, {6, 0.17782794}, {7, 0.13335215}, {31, 0.00013335215}};

TEST(RopeFrequencies, AreTheReferencesPlainOnes) { expect("none", 1e4, 64, 4096, kPlain64); }

TEST(RopeFrequencies, LinearDividesAll) {
  expect("linear:4", 1e4, 64, 4096,
         {{0, 0.25}, {1, 0.18747355}, {2, 0.14058533}, {5, 0.059284341}, {7, 0.033338036}, {31, 3.3338038e-05}});
}

TEST(RopeFrequencies, Llama3KeepsFastOnesAndInterpolates) {
  expect("llama3:8:1:4:8192", 5e5, 128, 4096,
         {{0, 1},
          {1, 0.81461722},
          {7, 0.23805381},
          {28, 0.0032114461},
          {29, 0.0021665706},
          {30, 0.0013718937},
          {32, 0.00052484602},
          {35, 9.5562122e-05},
          {36, 7.7846555e-05},
          {63, 3.0689259e-07}});
  expect("llama3:32:1:4:8192", 5e5, 64, 4096,
         {{14, 0.0032114461},
          {15, 0.001290548},
          {16, 0.00042955671},
          {17, 9.7082862e-05},
          {18, 1.9461639e-05},
          {31, 9.4183065e-08}});
}

TEST(RopeFrequencies, DynamicDependsOnTheLength) {
  expect("dynamic:2:2048", 1e4, 64, 4096,
         {{0, 1}, {1, 0.72378397}, {2, 0.52386332}, {3, 0.37916389}, {7, 0.104055}, {31, 4.4450713e-05}});
  expect("dynamic:2:2048", 1e4, 64, 1000, kPlain64);
  expect("dynamic:2:2048", 1e4, 64, 2048, kPlain64);
}

TEST(RopeFrequencies, YarnRampsBetweenItsBounds) {
  Values values = kPlain64;
  values.erase(31);
  values.insert(
      {{8, 0.1}, {12, 0.024325214}, {16, 0.0053846152}, {20, 0.00097300857}, {24, 0.00025000001}, {31, 3.3338038e-05}});
  expect("yarn:4:2048", 1e4, 64, 4096, values, 1.138629436111989);
  expect("yarn:4:32768", 1e6, 128, 4096,
         {{1, 0.80584222},
          {7, 0.2206734},
          {24, 0.0053753215},
          {32, 0.00060294115},
          {40, 4.4456985e-05},
          {50, 5.1338125e-06},
          {63, 3.1023444e-07}},
         1.138629436111989);
  expect("yarn:40:4096:1", 1e4, 64, 4096,
         {{10, 0.056234129}, {16, 0.0055000004}, {20, 0.00079056941}, {23, 3.3338034e-05}, {31, 3.3338035e-06}}, 1);
  expect("yarn:32:4096:1.3465735902799727:32:1:0", 1.5e5, 64, 4096,
         {{1, 0.6890443},
          {8, 0.050813273},
          {12, 0.0067949593},
          {16, 0.00045648392},
          {18, 3.8308812e-05},
          {31, 3.0235114e-07}},
         1.3465735902799727);
}

TEST(RopeFrequencies, LongropeTakesTheListOfTheLength) {
  const std::string text = "longrope:32:4096:1.19:1,2:3,4";
  expect(text, 1e4, 4, 4096, {{0, 1}, {1, 0.01 / 2}}, 1.19);
  expect(text, 1e4, 4, 4097, {{0, 1.0 / 3}, {1, 0.01 / 4}}, 1.19);
}

}  // namespace
}  // namespace titan::recipe::rope_frequencies_test
