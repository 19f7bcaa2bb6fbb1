#include "ckpt/model/dtype.h"

#include <gtest/gtest.h>

#include <string>

namespace titan::ckpt::dtype_test {
namespace {

TEST(DType, EveryTypeHasItsSizeAndItsNameParsesBack) {
  struct Case {
    DType dtype;
    std::uint64_t size;
    std::string name;
  };
  for (const Case& c : {Case{DType::kF32, 4, "float32"},
                        {DType::kBF16, 2, "bfloat16"},
                        {DType::kF16, 2, "float16"},
                        {DType::kF64, 8, "float64"},
                        {DType::kI64, 8, "int64"},
                        {DType::kI32, 4, "int32"},
                        {DType::kU8, 1, "uint8"}}) {
    EXPECT_EQ(dtype_size(c.dtype), c.size) << c.name;
    EXPECT_EQ(dtype_name(c.dtype), c.name);
    Result<DType> parsed = parse_dtype(c.name);
    ASSERT_TRUE(parsed.ok()) << c.name;
    EXPECT_EQ(*parsed, c.dtype);
  }
}

TEST(DType, UnknownNameIsRefusedWithTheKnownOnes) {
  for (const char* name : {"", "Float32", "float32 ", "int8", "f32"}) {
    Result<DType> parsed = parse_dtype(name);
    ASSERT_FALSE(parsed.ok()) << name;
    EXPECT_EQ(parsed.status().code, Code::kInvalid);
    EXPECT_NE(parsed.status().message.find("bfloat16"), std::string::npos);
  }
}

}  // namespace
}  // namespace titan::ckpt::dtype_test
