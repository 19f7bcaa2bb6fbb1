#include "converters/pickle/zip.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "ckpt/base/files.h"
#include "converters/little_endian.h"
#include "converters/pickle/crc32.h"
#include "converters/pickle/item_writer.h"
#include "tests/support/mem_fs.h"

namespace titan::convert::zip_test {
namespace {

using ckpt::testing::MemFs;
using ::testing::HasSubstr;

constexpr const char* kFile = "/f";

std::string contents(MemFs& fs) {
  auto file = fs.open_read(kFile);
  std::string text(*(*file)->size(), '\0');
  EXPECT_TRUE((*file)->pread(0, std::as_writable_bytes(std::span(text))).ok());
  return text;
}

// The archive of the int 5, or of the bfloat16 tensor [[0, 1, 2], [3, 4, 5]].
std::string archive(bool tensor) {
  MemFs fs;
  auto file = AppendFile::create(fs, kFile);
  EXPECT_TRUE(file.ok());
  const std::uint16_t elements[] = {0x0000, 0x3f80, 0x4000, 0x4040, 0x4080, 0x40a0};
  const auto range = tensor ? append_tensor(**file, "bfloat16", {2, 3}, std::as_bytes(std::span(elements)))
                            : append_value(**file, ItemValue::of(std::int64_t{5}));
  EXPECT_TRUE(range.ok());
  EXPECT_TRUE((*file)->finish().ok());
  return contents(fs);
}

Result<ZipArchive> open(MemFs& fs, std::unique_ptr<ckpt::File>& file, const std::string& bytes, std::uint64_t offset,
                        std::uint64_t length) {
  EXPECT_TRUE(ckpt::write_new_file(fs, kFile, std::as_bytes(std::span(bytes))).ok());
  auto opened = fs.open_read(kFile);
  EXPECT_TRUE(opened.ok());
  file = std::move(*opened);
  return ZipArchive::open(*file, "z", offset, length);
}

TEST(Zip, WritesTheBytesThatTorchWrites) {
  // \source torch.save of torch 2.11, apart from the 40 digits of serialization_id and its CRC
  const std::string tensor = archive(true);
  ASSERT_EQ(tensor.size(), 1577u);
  const auto at = [&](std::size_t offset, std::size_t count) {
    std::string hex;
    for (const char c : tensor.substr(offset, count)) {
      constexpr char digits[] = "0123456789abcdef";
      hex += digits[static_cast<unsigned char>(c) >> 4];
      hex += digits[c & 15];
    }
    return hex;
  };
  EXPECT_EQ(at(0, 64),
            "504b0304000008080000000000000000000000000000000000001000120061726368697665"
            "2f646174612e706b6c46420e00"
            "5a5a5a5a5a5a5a5a5a5a5a5a5a5a");
  EXPECT_EQ(
      tensor.substr(64, 157),
      std::string("\x80\x02"
                  "ctorch._utils\n_rebuild_tensor_v2\nq\0((X\7\0\0\0storageq\1ctorch\nBFloat16Storage\nq\2X\1\0\0\0"
                  "0q\3X\3\0\0\0cpuq\4"
                  "K\6tq\5QK\0K\2K\3\x86q\6K\3K\1\x86q\7\x89"
                  "ccollections\nOrderedDict\nq\x08)Rq\ttq\nRq\x0b.",
                  157));
  EXPECT_EQ(at(221, 16), "504b0708fd14a8169d0000009d000000");
  EXPECT_EQ(at(704, 28), "0000803f004040408040a040504b0708b321e03a0c0000000c000000");
  EXPECT_EQ(at(1479, 98),
            "504b06062c000000000000001e032d000000000000000000070000000000000007000000000000"
            "00cf01000000000000f803000000000000504b060700000000c70500000000000001000000504b05060000000007000700cf010000"
            "f80300000000");
  EXPECT_EQ(archive(false).size(), 1261u);
}

TEST(Zip, ReadsAnArchiveInTheMiddleOfAFile) {
  MemFs fs;
  std::unique_ptr<ckpt::File> file;
  const std::string bytes = archive(true);
  const Result<ZipArchive> zip = open(fs, file, "PK\3\4 something before" + bytes + "after", 21, bytes.size());
  ASSERT_TRUE(zip.ok()) << zip.status().to_string();
  std::vector<std::string> names;
  for (const ZipEntry& entry : zip->entries()) names.push_back(entry.name);
  EXPECT_EQ(names, (std::vector<std::string>{"data.pkl", ".format_version", ".storage_alignment", "byteorder", "data/0",
                                             "version", ".data/serialization_id"}));
  EXPECT_EQ(*zip->payload(*zip->find("data/0")), 21u + 704);
  EXPECT_EQ(*zip->read(*zip->find("byteorder"), 16), "little");
  const Result<ItemContent> item = read_item(*zip);
  ASSERT_TRUE(item.ok()) << item.status().to_string();
  EXPECT_EQ(std::get<ItemTensor>(*item), (ItemTensor{"bfloat16", {2, 3}, {3, 1}, 0, "data/0"}));
}

struct Malformed {
  const char* name;
  std::function<void(std::string&)> damage;
  const char* message;
};

class MalformedZip : public ::testing::TestWithParam<Malformed> {};

// Positions in the archive of the tensor: directory at 1016, rows of 46 bytes and a name.
constexpr std::size_t kDirectory = 1016, kEnd64 = 1479, kLocator = 1535, kEnd = 1555;

TEST_P(MalformedZip, IsRefused) {
  std::string bytes = archive(true);
  GetParam().damage(bytes);
  MemFs fs;
  std::unique_ptr<ckpt::File> file;
  const Result<ZipArchive> zip = open(fs, file, bytes, 0, bytes.size());
  if (!zip.ok()) {
    EXPECT_EQ(zip.status().code, ckpt::Code::kCorrupt);
    EXPECT_THAT(zip.status().message, HasSubstr(GetParam().message));
    return;
  }
  const Result<ItemContent> item = read_item(*zip);
  Status status = item.status();
  if (item.ok()) status = zip->payload(*zip->find(std::get<ItemTensor>(*item).storage)).status();
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.message, HasSubstr(GetParam().message));
}

void put(std::string& bytes, std::size_t at, std::uint64_t value, std::size_t count) {
  std::string text;
  put_le(text, value, count);
  bytes.replace(at, count, text);
}

INSTANTIATE_TEST_SUITE_P(
    Table, MalformedZip,
    ::testing::Values(
        Malformed{"TooShort", [](auto& b) { b.resize(21); }, "is shorter than a zip's end record"},
        Malformed{"CutOff", [](auto& b) { b.resize(b.size() - 1); }, "no zip end record"},
        Malformed{"BytesAfterEnd", [](auto& b) { b += "x"; }, "no zip end record"},
        Malformed{"Comment", [](auto& b) { put(b, kEnd + 20, 1, 2); }, "a zip with a comment"},
        Malformed{"SeveralDisks", [](auto& b) { put(b, kEnd + 4, 1, 2); }, "a zip of several disks"},
        Malformed{"LocatorElsewhere", [](auto& b) { put(b, kLocator + 8, 100, 8); }, "not where its locator says"},
        Malformed{"LocatorBeyond", [](auto& b) { put(b, kLocator + 8, ~std::uint64_t{0}, 8); }, "not where its locator says"},
        Malformed{"End64Damaged", [](auto& b) { b[kEnd64] = 'X'; }, "zip64 end record is damaged"},
        Malformed{"LocatorGone", [](auto& b) { b[kLocator] = 'X'; put(b, kEnd + 16, 0xffffffff, 4); }, "points to a zip64 end record that is not there"},
        Malformed{"DirectoryBeyond", [](auto& b) { put(b, kEnd64 + 48, 5000, 8); }, "does not end at the end records"},
        Malformed{"DirectoryTooLong", [](auto& b) { put(b, kEnd64 + 40, ~std::uint64_t{0}, 8); }, "does not end at the end records"},
        Malformed{"TooManyEntries", [](auto& b) { put(b, kEnd64 + 32, 1'000'000, 8); }, "a central directory of 1000000 entries"},
        Malformed{"OneEntryMore", [](auto& b) { put(b, kEnd64 + 32, 8, 8); }, "central directory entry 7 is damaged"},
        Malformed{"OneEntryLess", [](auto& b) { put(b, kEnd64 + 32, 6, 8); }, "bytes follow the last entry"},
        Malformed{"RowDamaged", [](auto& b) { b[kDirectory] = 'X'; }, "central directory entry 0 is damaged"},
        Malformed{"Compressed", [](auto& b) { put(b, kDirectory + 10, 8, 2); }, "is compressed (method 8)"},
        Malformed{"Encrypted", [](auto& b) { put(b, kDirectory + 8, 0x0809, 2); }, "is encrypted"},
        Malformed{"TwoSizes", [](auto& b) { put(b, kDirectory + 20, 7, 4); }, "has two sizes, 7 and 157"},
        Malformed{"NameTooLong", [](auto& b) { put(b, kDirectory + 28, 60000, 2); }, "runs over the directory's end"},
        Malformed{"NameLeavesArchive", [](auto& b) { b.replace(kDirectory + 46, 16, "archive/../x.pkl"); }, "a name that leaves the archive"},
        Malformed{"NoRootFolder", [](auto& b) { b[kDirectory + 46 + 7] = '_'; }, "has no root folder"},
        Malformed{"OtherRootFolder", [](auto& b) { b[kDirectory + 46] = 'X'; }, "lies in another root folder"},
        Malformed{"HeaderBeyond", [](auto& b) { put(b, kDirectory + 42, 1000, 4); }, "lies outside of the archive"},
        Malformed{"SizeBeyond", [](auto& b) { put(b, kDirectory + 20, 4000, 4); put(b, kDirectory + 24, 4000, 4); }, "lies outside of the archive"},
        Malformed{"Overlap", [](auto& b) { put(b, kDirectory + 20, 500, 4); put(b, kDirectory + 24, 500, 4); }, "entries data.pkl and .format_version overlap"},
        Malformed{"OverlapOfALocalHeader", [](auto& b) {
                    const std::size_t second = b.find("archive/.format_version", kDirectory);
                    const std::uint64_t next = get_le(b, second - 46 + 42, 4);
                    for (const std::size_t size : {20, 24}) put(b, kDirectory + size, next - 20, 4);  // a local header takes 30
                  }, "entries data.pkl and .format_version overlap"},
        Malformed{"Zip64FieldTooShort", [](auto& b) {
                    // The last 8 bytes of a name become an extra field of 4 bytes that should be 8.
                    const std::size_t name = b.find("archive/.data/serialization_id", kDirectory);
                    put(b, name - 46 + 28, 22, 2);
                    put(b, name - 46 + 30, 8, 2);
                    put(b, name + 22, 1, 2);
                    put(b, name + 24, 4, 2);
                    put(b, name - 46 + 24, 0xffffffff, 4);
                  }, "central directory entry 6 has a short zip64 field"},
        Malformed{"Zip64WithoutField", [](auto& b) { put(b, kDirectory + 20, 0xffffffff, 4); put(b, kDirectory + 24, 0xffffffff, 4); }, "lies outside of the archive"},
        Malformed{"LocalHeaderGone", [](auto& b) { b[0] = 'X'; }, "data.pkl has no local header at 0"},
        Malformed{"LocalCompressed", [](auto& b) { put(b, 8, 8, 2); }, "compressed in its local header"},
        Malformed{"LocalExtraBeyond", [](auto& b) { put(b, 28, 65535, 2); }, "runs over the archive's end"},
        Malformed{"PickleFlipped", [](auto& b) { b[70] = static_cast<char>(b[70] ^ 1); }, "data.pkl, 157 bytes at offset 64, does not match its CRC"},
        Malformed{"ByteorderFlipped", [](auto& b) { b[577] = static_cast<char>(b[577] ^ 1); }, "byteorder, 6 bytes"},
        Malformed{"StorageRenamed", [](auto& b) { const auto at = b.find("archive/data/0", kDirectory); b[at + 13] = '7'; }, "no entry data/0"}),
    [](const auto& info) { return std::string(info.param.name); });

/// The archive of the tensor with its pickle changed in place, CRCs renewed.
std::string repickled(const std::string& from, const std::string& to) {
  std::string bytes = archive(true);
  const std::size_t at = bytes.find(from);
  EXPECT_NE(at, std::string::npos);
  bytes.replace(at, to.size(), to);
  const std::uint32_t crc = crc32(0, std::as_bytes(std::span(bytes).subspan(64, 157)));
  put(bytes, 221 + 4, crc, 4);
  put(bytes, kDirectory + 16, crc, 4);
  return bytes;
}

// The pickle says how many elements a storage has, and the archive how many bytes: each is looked at for itself.
TEST(Zip, ATensorThatReachesBehindItsStorageIsRefused) {
  MemFs fs, other;
  std::unique_ptr<ckpt::File> file;
  const std::string short_count = repickled(std::string("cpuq\4K\6tq\5", 10), std::string("cpuq\4K\5tq\5", 10));
  auto zip = open(fs, file, short_count, 0, short_count.size());
  ASSERT_TRUE(zip.ok()) << zip.status().to_string();
  EXPECT_THAT(read_item(*zip).status().message, HasSubstr("the tensor reaches element 5 of a storage of 5"));

  std::string short_entry = archive(true);
  const std::size_t row = short_entry.find("archive/data/0", kDirectory) - 46;
  for (const std::size_t size : {20, 24}) put(short_entry, row + size, 10, 4);
  zip = open(other, file, short_entry, 0, short_entry.size());
  ASSERT_TRUE(zip.ok()) << zip.status().to_string();
  EXPECT_THAT(read_item(*zip).status().message, HasSubstr("the tensor reaches element 5, entry data/0 has 10 bytes"));
}

TEST(Zip, RefusesTwoEntriesOfOneName) {
  std::string bytes = archive(true);
  // The last entry takes the name of the third, its row's length made up by a comment of 4 bytes.
  const std::size_t name = bytes.find("archive/.data/serialization_id", kDirectory);
  bytes.replace(name, 26, "archive/.storage_alignment");
  put(bytes, name - 46 + 28, 26, 2);
  put(bytes, name - 46 + 32, 4, 2);
  MemFs fs;
  std::unique_ptr<ckpt::File> file;
  EXPECT_THAT(open(fs, file, bytes, 0, bytes.size()).status().message,
              HasSubstr("entry .storage_alignment is there twice"));
}

}  // namespace
}  // namespace titan::convert::zip_test
