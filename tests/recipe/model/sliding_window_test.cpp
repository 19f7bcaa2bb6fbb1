#include "recipe/model/sliding_window.h"

#include <gtest/gtest.h>

namespace titan::recipe::sliding_window_test {
namespace {

TEST(SlidingWindow, IsOfAllLayersOrOfSome) {
  const auto all = sliding_window(64, kAllLayers, 10), some = sliding_window(64, "7, 0-2", 10);
  ASSERT_TRUE(all.ok() && some.ok());
  EXPECT_EQ(all->of(0), 64);
  EXPECT_EQ(all->of(9), 64);
  EXPECT_EQ(layers_text(*all), "all");
  for (const std::int64_t layer : {0, 2, 7}) EXPECT_EQ(some->of(layer), 64) << layer;
  for (const std::int64_t layer : {3, 6, 8}) EXPECT_EQ(some->of(layer), 0) << layer;
  EXPECT_EQ(layers_text(*some), "0-2, 7");
  EXPECT_EQ(SlidingWindow{}.of(3), 0);
}

TEST(SlidingWindow, EqualWindowsAreEqualValues) {
  EXPECT_EQ(*sliding_window(64, "0-4, 5-9", 10), *sliding_window(64, "all", 10));
  EXPECT_EQ(*sliding_window(64, "3,4", 10), *sliding_window(64, "3-4", 10));
  EXPECT_EQ(*sliding_window(0, "all", 10), SlidingWindow{});
}

TEST(SlidingWindow, RefusesWhatIsNoListOfLayers) {
  for (const char* text : {"", "none", "1-", "-1", "2-1", "0,,1", "10", "8-10"})
    EXPECT_EQ(sliding_window(64, text, 10).status().code, ckpt::Code::kInvalid) << text;
  EXPECT_NE(sliding_window(0, "1", 10).status().message.find("without model.sliding_window"), std::string::npos);
  EXPECT_NE(sliding_window(64, "4-12", 10).status().message.find("layer 12 is none of the model's 10"),
            std::string::npos);
}

}  // namespace
}  // namespace titan::recipe::sliding_window_test
