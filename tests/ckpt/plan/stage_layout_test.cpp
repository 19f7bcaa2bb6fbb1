#include "ckpt/plan/stage_layout.h"

#include <gtest/gtest.h>

#include <numeric>

namespace titan::ckpt::stage_layout_test {
namespace {

using Cuts = std::vector<std::uint32_t>;

TEST(StageLayout, ExpandsGroupsThenCharacters) {
  struct Row {
    const char* layout;
    std::uint32_t layers;
    Cuts cuts;
  };
  const Row rows[] = {
      {"EL", 0, {}},
      {"E|L", 0, {1}},
      {"Et*4L", 4, {}},
      {"Et*2|t*3|t*3|L", 8, {3, 6, 9}},
      {"Et*3|(t*3|)*3(t*4|)*3L", 24, {4, 7, 10, 13, 17, 21, 25}},
      {"E(tt|)*2L", 4, {3, 5}},
      {"Et,t|,t*2,L", 4, {3}},
      {"Et*3|(tt|)*29,L", 61,
       [] {
         Cuts cuts(30);
         std::iota(cuts.begin(), cuts.end(), 0);
         for (std::uint32_t& cut : cuts) cut = 4 + 2 * cut;
         return cuts;
       }()},
  };
  for (const Row& row : rows) {
    const auto cuts = parse_stage_layout(row.layout, row.layers);
    ASSERT_TRUE(cuts.ok()) << row.layout << ": " << cuts.status().to_string();
    EXPECT_EQ(*cuts, row.cuts) << row.layout;
  }
}

TEST(StageLayout, NamesWhatIsWrong) {
  struct Row {
    const char* layout;
    const char* says;
    Code code = Code::kInvalid;
  };
  const Row rows[] = {
      {"", "E must come first"},
      {"t*4L", "E must come first"},
      {"EEt*4L", "E must come first, and once"},
      {"Et*4", "L must come last"},
      {"Et*4L|", "L must come last"},
      {"Et*4LL", "L must come last, and once"},
      {"Et*3L", "it has 3 layers, the model has 4"},
      {"E||t*4L", "stage 1 is empty"},
      {"Et*4|*2L", "stage 1 is empty"},
      {"Et*0L", "needs a number"},
      {"Et*L", "needs a number"},
      {"Et*99999999999999999999L", "needs a number"},
      {"E(t|*2L", "`(` without `)`"},
      {"Et)*2L", "`)` without `(`"},
      {"E((t)*2)*2L", "groups in groups"},
      {"E(t|)L", "must be followed by"},
      {"E(*2)*2L", "cannot begin with"},
      {"Ex*4L", "`x` is none of"},
      {"E(t*60000)*60000L", "longer than"},
      {"Et*4m|L", "multi-token", Code::kUnsupported},
  };
  for (const Row& row : rows) {
    const auto cuts = parse_stage_layout(row.layout, 4);
    ASSERT_FALSE(cuts.ok()) << row.layout;
    EXPECT_EQ(cuts.status().code, row.code) << row.layout;
    EXPECT_NE(cuts.status().message.find(row.says), std::string::npos) << row.layout << ": " << cuts.status().message;
  }
}

TEST(StageLayout, WritesWhatItReads) {
  for (const char* layout : {"EL", "E|L", "E|t|L", "Et*4|tL", "Et*2|t*3|t*3|L"}) {
    std::uint32_t layers = 0;
    for (; !parse_stage_layout(layout, layers).ok(); ++layers) ASSERT_LT(layers, 10u);
    EXPECT_EQ(stage_layout_text(*parse_stage_layout(layout, layers), layers), layout);
  }
}

}  // namespace
}  // namespace titan::ckpt::stage_layout_test
