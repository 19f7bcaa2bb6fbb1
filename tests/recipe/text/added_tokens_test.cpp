#include "recipe/text/added_tokens.h"

#include <gmock/gmock.h>

namespace titan::recipe::added_tokens_test {
namespace {

using testing::ElementsAre;

std::vector<std::string> cut(const std::vector<AddedToken>& tokens, const std::string& text) {
  TokenFinder finder;
  for (const AddedToken& token : tokens) finder.add(token.content, token);
  std::vector<std::string> parts;
  EXPECT_TRUE(finder
                  .cut(text,
                       [&](std::string_view part, std::size_t begin, const AddedToken* token) -> ckpt::Status {
                         EXPECT_EQ(text.substr(begin, part.size()), part);
                         parts.push_back((token == nullptr ? "" : std::to_string(token->id) + ":") + std::string(part));
                         return {};
                       })
                  .ok());
  return parts;
}

TEST(AddedTokens, TheLeftmostAndLongestIsTaken) {
  const std::vector<AddedToken> tokens = {{.id = 1, .content = "<a>"}, {.id = 2, .content = "<a><b>"}};
  EXPECT_THAT(cut(tokens, "<a><b><a>"), ElementsAre("2:<a><b>", "1:<a>"));
  EXPECT_THAT(cut(tokens, "x<a><y"), ElementsAre("x", "1:<a>", "<y"));
  EXPECT_THAT(cut({}, "x"), ElementsAre("x"));
  EXPECT_THAT(cut({{.id = 1, .content = ""}}, "x"), ElementsAre("x"));
}

TEST(AddedTokens, TakeWhiteSpaceAlong) {
  const AddedToken left{.id = 1, .content = "<m>", .lstrip = true}, right{.id = 2, .content = "<r>", .rstrip = true};
  EXPECT_THAT(cut({left}, "x  <m> y"), ElementsAre("x", "1:  <m>", " y"));
  EXPECT_THAT(cut({right}, "x <r>  \n y"), ElementsAre("x ", "2:<r>  \n ", "y"));
  EXPECT_THAT(cut({left, right}, "<r> <m>"), ElementsAre("2:<r> ", "1:<m>")) << "not beyond the token before";
}

TEST(AddedTokens, SingleWordsStandAlone) {
  const std::vector<AddedToken> tokens = {{.id = 1, .content = "<w>", .single_word = true}};
  EXPECT_THAT(cut(tokens, "x<w> <w> <w>y _<w>"), ElementsAre("x<w> ", "1:<w>", " <w>y _<w>"));
  EXPECT_THAT(cut(tokens, "\xc3\xa9<w>"), ElementsAre("\xc3\xa9<w>"));
}

}  // namespace
}  // namespace titan::recipe::added_tokens_test
