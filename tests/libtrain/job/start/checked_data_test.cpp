#include "libtrain/job/start/checked_data.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace titan::train::checked_data_test {
namespace {

TEST(CheckedData, ComesBackAsItWas) {
  const std::vector<KnownFile> files{{{"a.txt", 5, ckpt::digest_of("a")}, ckpt::digest_of("ends")},
                                     {{"", 0, {}}, {}},
                                     {{"b", 7, ckpt::digest_of("b")}, {}, /*alone=*/true}};
  EXPECT_EQ(decode_files(encode_files(files)), files);
  EXPECT_TRUE(decode_files("").empty());
  EXPECT_THROW(decode_files(encode_files(files).substr(0, 20)), std::runtime_error);
}

TEST(CheckedData, FilesOfACheckpointAreKnownAsWhatTheyWereReadAs) {
  const KnownFile here{{"a", 1, {}}, ckpt::digest_of("ends")}, before{{"b", 2, {}}, {}};
  ckpt::DataPosition stored;
  stored.kind = "text";
  stored.files = {before.file};
  EXPECT_EQ(known_files({here}, nullptr, "text"), std::vector{here});
  EXPECT_EQ(known_files({here}, &stored, "text"), (std::vector{here, before}));
  EXPECT_EQ(known_files({here}, &stored, "tokens"), std::vector{here});
}

}  // namespace
}  // namespace titan::train::checked_data_test
