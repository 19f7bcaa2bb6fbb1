// DCP directories whose parts do not belong together: what is said, and when (by opening, reading, or verifying).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "converters/dcp/dcp_checkpoint.h"
#include "converters/dcp/metadata_writer.h"
#include "converters/dcp/reader.h"
#include "converters/little_endian.h"
#include "converters/pickle/crc32.h"
#include "converters/pickle/item_writer.h"
#include "tests/converters/dcp/dcp_builder.h"
#include "tests/support/files.h"
#include "tests/support/mem_fs.h"

namespace titan::convert::dcp::directory_test {
namespace {

using ckpt::testing::MemFs;
using testing::BuiltMetadata;
using ::testing::HasSubstr;

// Tensor "a" [4, 6] in two halves, tensor "s" without dimensions, value "v"; `metadata` says what lies where.
class MalformedDirectory : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(fs.make_dir("/d").ok());
    ASSERT_TRUE(
        testing::write_sharded(fs, "/d", {{"a", {4, 6}, {{2}, {}}}, {"s", {}, {}}}, {{"v", ItemValue::of(0.25)}}).ok());
    const auto reader = DcpReader::open(fs, "/d");
    ASSERT_TRUE(reader.ok()) << reader.status().to_string();
    const Metadata& read = (*reader)->metadata();
    const auto at = [](const ItemPlace& place, auto& built) {
      built.at = static_cast<std::int64_t>(place.offset);
      built.length = static_cast<std::int64_t>(place.length);
    };
    metadata.tensors = {{"a", "float32", {4, 6}, {{{0, 0}, {2, 6}}, {{2, 0}, {2, 6}}}},
                        {"s", "float32", {}, {{{}, {}}}}};
    metadata.values = {{"v"}};
    for (const char* name : {"a", "s"}) {
      auto& chunks = metadata.tensors[name[0] == 's'].chunks;
      for (std::size_t i = 0; i < chunks.size(); ++i) {
        at(read.tensor(name)->chunks[i].place, chunks[i]);
        chunks[i].file = read.files[read.tensor(name)->chunks[i].place.file];
      }
    }
    at(read.value("v")->place, metadata.values[0]);
    metadata.values[0].file = read.files[read.value("v")->place.file];
  }

  /// The first error of opening, of reading both tensors and the value; the damage that verify reports where opening
  /// succeeds.
  std::string first_error() {
    const std::string pickle = testing::build_metadata(metadata);
    (void)fs.remove_file("/d/.metadata");
    EXPECT_TRUE(ckpt::testing::put_text(fs, "/d/.metadata", pickle).ok());
    const auto reader = DcpReader::open(fs, "/d");
    if (!reader.ok()) return reader.status().message;
    for (const TensorEntry& tensor : (*reader)->metadata().tensors) {
      std::uint64_t elements = 1;
      for (const std::uint64_t extent : tensor.shape) elements *= extent;
      std::vector<std::byte> out(elements * torch_dtype_size(tensor.dtype));
      if (Status status = (*reader)->read(tensor, 0, out); !status.ok()) {
        const auto report = (*reader)->verify({});
        EXPECT_TRUE(report.ok() && !report->damage.empty()) << "verify did not find: " << status.message;
        return status.message;
      }
    }
    return (*reader)->value("v").status().message;
  }

  MemFs fs;
  BuiltMetadata metadata;
};

TEST_F(MalformedDirectory, TheSampleItselfIsFine) { EXPECT_EQ(first_error(), ""); }

TEST_F(MalformedDirectory, IsRefusedByName) {
  struct Row {
    const char* name;
    std::function<void()> damage;
    const char* message;
  };
  const BuiltMetadata sound = metadata;
  const Row rows[] = {
      {"OtherElementType", [&] { metadata.tensors[0].dtype = "int32"; },
       "item a at offset 1261 has element type float32, the metadata says int32"},
      {"OtherShape",
       [&] {
         metadata.tensors[0].shape = {6, 4};
         metadata.tensors[0].chunks[0].sizes = {3, 4};
         metadata.tensors[0].chunks[1].sizes = {3, 4};
         metadata.tensors[0].chunks[1].offsets = {3, 0};
       },
       "item a at offset 1261 has another shape than the metadata says"},
      {"ChunksChangedPlaces",
       [&] {
         metadata.tensors[0].chunks[0].sizes = {1, 6};
         metadata.tensors[0].chunks[1].offsets = {1, 0};
         metadata.tensors[0].chunks[1].sizes = {3, 6};
       },
       "has another shape than the metadata says"},
      {"ItemTooShort", [&] { metadata.tensors[0].chunks[0].length -= 1; }, "no zip end record"},
      {"ItemBeginsLate",
       [&] {
         metadata.tensors[0].chunks[0].at += 1;
         metadata.tensors[0].chunks[0].length -= 1;
       },
       "the zip64 end record is not where its locator says"},
      {"ItemOfNothing", [&] { metadata.tensors[0].chunks[0].length = 0; }, "an archive of 0 bytes is shorter"},
      {"ItemBeyondTheFile", [&] { metadata.tensors[0].chunks[1].length = std::int64_t{1} << 40; },
       "its items need 10995116"},
      {"FileThatIsNotThere", [&] { metadata.tensors[0].chunks[1].file = "__9_0.distcp"; },
       "/d/__9_0.distcp is missing; the metadata names it"},
      {"FileThatIsAFolder",
       [&] {
         EXPECT_TRUE(fs.make_dir("/d/sub").ok());
         metadata.tensors[0].chunks[1].file = "sub";
       },
       "/d/sub is no regular file"},
      {"TensorForAValue",
       [&] {
         std::swap(metadata.values[0].at, metadata.tensors[1].chunks[0].at);
         std::swap(metadata.values[0].length, metadata.tensors[1].chunks[0].length);
         std::swap(metadata.values[0].file, metadata.tensors[1].chunks[0].file);
       },
       "holds a plain value instead of a tensor"},
      {"ItemsThatShareAByte", [&] { metadata.values[0].length += 1; }, "overlap in"},
      {"UnknownElementType", [&] { metadata.tensors[0].dtype = "float31"; }, "float31"},
  };
  for (const Row& row : rows) {
    metadata = sound;
    row.damage();
    EXPECT_THAT(first_error(), HasSubstr(row.message)) << row.name;
  }
}

// A tensor that was saved transposed: its storage is read whole and put in order.
TEST(Transposed, IsPutInOrderAndItsCrcIsChecked) {
  for (const bool flipped : {false, true}) {
    MemFs fs;
    ASSERT_TRUE(fs.make_dir("/d").ok());
    auto file = AppendFile::create(fs, "/d/f.distcp");
    ASSERT_TRUE(file.ok());
    const float stored[] = {0, 1, 2, 3, 4, 5};
    const auto range = append_tensor(**file, "float32", {2, 3}, std::as_bytes(std::span(stored)));
    ASSERT_TRUE(range.ok() && (*file)->finish().ok());
    std::string bytes = ckpt::testing::get_text(fs, "/d/f.distcp");
    const auto put = [&](std::size_t at, std::uint64_t value, std::size_t count) {
      std::string text;
      put_le(text, value, count);
      bytes.replace(at, count, text);
    };
    // Strides (1, 2) in place of (3, 1), and the pickle's CRC in its descriptor and in the directory.
    const std::size_t strides = bytes.find(std::string("K\3K\1\x86", 5)),
                      pickle = bytes.find(
                          "\x80\x02"
                          "ctorch"),
                      descriptor = bytes.find("PK\7\b");
    ASSERT_TRUE(strides != std::string::npos && pickle < descriptor && descriptor != std::string::npos);
    bytes[strides + 1] = 1;
    bytes[strides + 3] = 2;
    const std::uint32_t crc = crc32(0, std::as_bytes(std::span(bytes).subspan(pickle, descriptor - pickle)));
    put(descriptor + 4, crc, 4);
    put(bytes.find("PK\1\2") + 16, crc, 4);
    if (flipped) {
      const std::size_t payload = bytes.find(std::string(reinterpret_cast<const char*>(stored), sizeof stored));
      bytes[payload + 9] = static_cast<char>(bytes[payload + 9] ^ 1);
    }
    ASSERT_TRUE(fs.overwrite("/d/f.distcp", 0, std::as_bytes(std::span(bytes))).ok());
    const std::string metadata = encode_metadata("f.distcp", {{{"a"}, "float32", {2, 3}, *range}});
    ASSERT_TRUE(ckpt::testing::put_text(fs, "/d/.metadata", metadata).ok());
    const auto reader = DcpReader::open(fs, "/d");
    ASSERT_TRUE(reader.ok()) << reader.status().to_string();
    std::vector<float> out(6);
    const Status status =
        (*reader)->read(*(*reader)->metadata().tensor("a"), 0, std::as_writable_bytes(std::span(out)));
    if (flipped) {
      EXPECT_EQ(status.code, ckpt::Code::kCorrupt);
      EXPECT_THAT(status.message, HasSubstr("entry data/0, 24 bytes"));
      EXPECT_THAT(status.message, HasSubstr("does not match its CRC"));
    } else {
      ASSERT_TRUE(status.ok()) << status.to_string();
      EXPECT_EQ(out, (std::vector<float>{0, 2, 4, 1, 3, 5}));
    }
  }
}

TEST_F(MalformedDirectory, ElementTypesThatACheckpointCannotHoldAreNamedUnlessSkipped) {
  metadata.tensors[0].dtype = "complex64";
  (void)fs.remove_file("/d/.metadata");
  ASSERT_TRUE(ckpt::testing::put_text(fs, "/d/.metadata", testing::build_metadata(metadata)).ok());
  const auto opened = dcp_format().open(fs, "/d");
  ASSERT_TRUE(opened.ok()) << opened.status().to_string();
  const Status refused = (*opened)->plan({}).status();
  EXPECT_EQ(refused.code, ckpt::Code::kUnsupported);
  EXPECT_THAT(refused.message,
              HasSubstr("tensor 'a' has the element type complex64, which a Titan checkpoint cannot have"));
  const Status others = (*opened)->plan({.skip = {"a"}}).status();
  EXPECT_EQ(others.code, ckpt::Code::kIncompatible) << "what is left is no parameter of a Llama";
  EXPECT_THAT(others.message, HasSubstr("a Titan checkpoint has no place for"));
  EXPECT_TRUE((*opened)->plan({.skip = {"a"}, .look = true}).ok());
}

TEST_F(MalformedDirectory, AMissingOrEmptyMetadataIsSaid) {
  ASSERT_TRUE(fs.remove_file("/d/.metadata").ok());
  const Status unfinished = DcpReader::open(fs, "/d").status();
  EXPECT_EQ(unfinished.code, ckpt::Code::kCorrupt);
  EXPECT_THAT(unfinished.message, HasSubstr("/d/.metadata is missing"));
  ASSERT_TRUE(ckpt::testing::put_text(fs, "/d/__0.metadata", "").ok());
  EXPECT_EQ(DcpReader::open(fs, "/d").status().code, ckpt::Code::kUnsupported);
  ASSERT_TRUE(ckpt::testing::put_text(fs, "/d/.metadata", "").ok());
  EXPECT_THAT(DcpReader::open(fs, "/d").status().message, HasSubstr("ends at offset 0 without STOP"));
}

}  // namespace
}  // namespace titan::convert::dcp::directory_test
