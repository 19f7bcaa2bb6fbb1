#include "recipe/model/byte_ids.h"

#include <gtest/gtest.h>

namespace titan::recipe::byte_ids_test {
namespace {

TEST(ByteIds, AreThoseOfARunOnTextWithTheByteTokenizer) {
  EXPECT_TRUE(reads_bytes({{"model.tokenizer", "\"byte\""}, {"training.dataset", "\"text\""}}));
  EXPECT_FALSE(reads_bytes({{"model.tokenizer", "\"byte\""}, {"training.dataset", "\"tokens\""}}));
  EXPECT_FALSE(reads_bytes({{"model.tokenizer", "\"words.json\""}, {"training.dataset", "\"text\""}}));
}

TEST(ByteIds, AreNotGuessedWhereTheDataAreNotKnown) {
  EXPECT_FALSE(reads_bytes({}));
  EXPECT_FALSE(reads_bytes({{"model.tokenizer", "\"byte\""}}));
  EXPECT_FALSE(reads_bytes({{"model.vocab_size", "256"}}));
}

}  // namespace
}  // namespace titan::recipe::byte_ids_test
