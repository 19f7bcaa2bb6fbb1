// Files of torch.save: objects of unknown classes do nothing, and tensors lie where the file says.
#include "converters/torch_save/torch_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/converters/dcp/bytes.h"
#include "tests/converters/torch_save/torch_zip.h"
#include "tests/support/mem_fs.h"

namespace titan::convert::torch_file_test {
namespace {

using ckpt::Code;
using ckpt::testing::MemFs;
using dcp::testing::bytes_of;
using ::testing::HasSubstr;
using testing::torch_file;

ckpt::Result<TorchFile> open(MemFs& fs, const std::string& bytes) {
  EXPECT_TRUE(ckpt::testing::put_text(fs, "/x.pt", bytes).ok());
  return TorchFile::open(fs, "/x.pt");
}

// {"t": a tensor of 2 x 2 from element 1 of storage 0, "n": one element, "o": an object of a class of its own}
std::string sample(const std::string& stride = "4b 02 4b 01") {
  const auto tensor = [](const std::string& first, const std::string& shape, const std::string& strides) {
    return "63 'torch._utils' 0a '_rebuild_tensor_v2' 0a 28 28 58 07 00 00 00 'storage' 63 'torch' 0a 'FloatStorage' "
           "0a 58 01 00 00 00 '0' 58 03 00 "
           "00 00 'cpu' 4b 06 74 51 " +
           first + " " + shape + " " + strides + " 89 63 'collections' 0a 'OrderedDict' 0a 29 52 74 52 ";
  };
  return torch_file(bytes_of("80 02 7d 28 58 01 00 00 00 't' " + tensor("4b 01", "4b 02 4b 02 86", stride + " 86") +
                             "58 01 00 00 00 'n' " + tensor("4b 05", "29", "29") +
                             "58 01 00 00 00 'o' 63 'trainer' 0a 'State' 0a 29 81 7d 62 "
                             "58 01 00 00 00 'g' 63 '__builtin__' 0a 'getattr' 0a 63 'm' 0a 'Outer' 0a 58 05 00 00 00 "
                             "'Inner' 86 52 29 81 7d 62 "
                             "58 01 00 00 00 'c' 63 'os' 0a 'system' 0a 58 02 00 00 00 'rm' 85 52 75 2e"),
                    {testing::floats({0, 1, 2, 3, 4, 7})});
}

TEST(TorchFile, TensorsLieWhereTheFileSaysAndObjectsDoNothing) {
  MemFs fs;
  const std::string bytes = sample();
  const auto file = open(fs, bytes);
  ASSERT_TRUE(file.ok()) << file.status().to_string();
  const Pickle& pickle = file->pickle();
  const auto tensor = file->tensor(*file->at(pickle.root(), "t"));
  ASSERT_TRUE(tensor.ok()) << tensor.status().to_string();
  EXPECT_EQ(tensor->shape, (std::vector<std::uint64_t>{2, 2}));
  EXPECT_EQ(bytes.substr(tensor->offset, 16), testing::floats({1, 2, 3, 4}));
  EXPECT_EQ(*file->number(*file->at(pickle.root(), "n")), 7.0);
  EXPECT_EQ(pickle.describe(*file->at(pickle.root(), "o")), "an instance of trainer.State");
  EXPECT_EQ(pickle.describe(*file->at(pickle.root(), "g")), "an instance of __builtin__.getattr") << "a nested class";
  EXPECT_EQ(pickle.describe(*file->at(pickle.root(), "c")), "an instance of os.system");
  EXPECT_EQ(file->at(pickle.root(), "none").status().code, Code::kCorrupt);
  EXPECT_EQ(file->tensor(*file->at(pickle.root(), "o")).status().code, Code::kCorrupt);
}

TEST(TorchFile, RefusesWhatCannotBe) {
  MemFs fs;
  const auto strided = open(fs, sample("4b 01 4b 02"));
  ASSERT_TRUE(strided.ok());
  EXPECT_EQ(strided->tensor(*strided->at(strided->pickle().root(), "t")).status().code, Code::kUnsupported);
  const std::vector<std::tuple<std::string, Code, const char*>> cases{
      {bytes_of("80 02 8a 0a"), Code::kUnsupported, "before 1.6"},
      {std::string(40, '\1'), Code::kCorrupt, "no zip end record"},
      {"Entry not found\n", Code::kUnsupported, "is text, whatever its name says"},
      {R"({"error":"x"})", Code::kUnsupported, "is JSON, whatever its name says"},
      {std::string("\x30\x08\0\0\0\0\0\0{\"__metadata__\":{", 25), Code::kUnsupported, "is a safetensors file"},
      {sample().substr(0, 100), Code::kCorrupt, ""},
      {torch_file(bytes_of("80 02 4e"), {}), Code::kCorrupt, "without STOP"},
      {"version https://git-lfs.github.com/spec/v1\noid sha256:1\n", Code::kUnsupported, "a pointer of git-lfs"},
      {"<!doctype html><html>login</html>", Code::kUnsupported, "a web page (HTML)"},
      {std::string("\x1f\x8b") + std::string(40, 'x'), Code::kUnsupported, "packed by gzip"},
      {"", Code::kCorrupt, ""}};
  for (const auto& [bytes, code, message] : cases) {
    MemFs other;
    const ckpt::Status status = open(other, bytes).status();
    EXPECT_EQ(status.code, code) << status.message;
    EXPECT_THAT(status.message, HasSubstr(message));
  }
}

TEST(TorchFile, AFolderAndALinkToNothingAreSaid) {
  MemFs fs;
  ASSERT_TRUE(fs.make_dir("/folder").ok());
  ASSERT_TRUE(fs.symlink("/nowhere", "/link").ok());
  for (const auto& [path, what] : {std::pair{"/folder", "is a folder"}, {"/link", "is a link that leads nowhere"}}) {
    const ckpt::Status status = TorchFile::open(fs, path).status();
    EXPECT_EQ(status.code, Code::kUnsupported);
    EXPECT_THAT(status.message, HasSubstr(what));
  }
  EXPECT_EQ(TorchFile::open(fs, "/nothing").status().code, Code::kNotFound);
}

}  // namespace
}  // namespace titan::convert::torch_file_test
