#include "ckpt/io/leaf_check.h"

#include <gtest/gtest.h>

namespace titan::ckpt {
namespace {

const CompressedLeaf kLeaf{400, 400, 4};

/// The row of `stored` in a table that was made for it, with this raw digest.
LeafRow row_of(std::span<const std::byte> stored, const Digest& raw) {
  return {0, stored.size(), kLeaf.raw_bytes, 0, raw, digest_of(stored)};
}

TEST(LeafCheck, BytesOfALeafHaveItsRow) {
  const std::vector<std::byte> raw(400, std::byte{7});
  LeafEncoder encoder;
  const auto encoded = encoder.encode(raw, 4, 400);
  ASSERT_TRUE(encoded.ok());
  const LeafRow row = row_of(encoded->bytes, digest_of(raw));
  EXPECT_EQ(CompressedLeafReader().measure(encoded->bytes, row, kLeaf), row);
}

// A table may say of bytes that are no frame whatever it likes: verify must not call them whole.
TEST(LeafCheck, BytesThatCannotBeDecodedHaveNoRow) {
  const std::vector<std::byte> stored(100, std::byte{7});
  for (const Digest& raw : {digest_of(std::string_view()), Digest{}, digest_of(stored)}) {
    const LeafRow row = row_of(stored, raw), found = CompressedLeafReader().measure(stored, row, kLeaf);
    EXPECT_NE(found.raw, row.raw);
    EXPECT_EQ(found.stored, row.stored);
  }
}

}  // namespace
}  // namespace titan::ckpt
