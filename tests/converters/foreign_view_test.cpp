#include "converters/foreign_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "ckpt/read/range_reader.h"

namespace titan::convert::foreign_view_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Reads = std::vector<std::pair<std::uint64_t, std::size_t>>;

constexpr std::uint64_t kElements = 3 * ckpt::kDefaultLeafElements / 2;

// A tensor whose element i is i. Notes the first element and the number of elements of each read.
class Numbers final : public ForeignCheckpoint {
 public:
  explicit Numbers(Reads& reads) : ForeignCheckpoint("/theirs"), reads_(reads) {
    tensors_.push_back({"w", DType::kF32, {kElements}});
  }
  Status read(std::size_t, std::uint64_t first, std::span<std::byte> out) const override {
    reads_.emplace_back(first, out.size() / sizeof(float));
    std::vector<float> values(out.size() / sizeof(float));
    std::iota(values.begin(), values.end(), static_cast<float>(first));
    std::memcpy(out.data(), values.data(), out.size());
    return {};
  }
  Result<ImportPlan> plan(const ImportOptions&) const override { return ckpt::failed("not asked for"); }
  Result<ckpt::VerifyReport> verify(const Progress&) const override { return ckpt::failed("not asked for"); }

 private:
  Reads& reads_;
};

class ForeignView : public ::testing::Test {
 protected:
  static CheckpointReader view(Reads& reads) {
    ImportPlan plan;
    plan.parameters.push_back({"weight", {kElements}});
    plan.parameters.push_back({"elsewhere", {4}});
    plan.tensors.push_back({{0, ""}, 0});
    return view_checkpoint(*find_format("hf").value(), std::make_shared<Numbers>(reads), std::move(plan));
  }

  Reads reads_;
  const CheckpointReader view_ = view(reads_);
};

TEST_F(ForeignView, ARangeIsReadAsItIsAskedFor) {
  std::vector<float> values(5);
  const auto bytes = std::as_writable_bytes(std::span(values));
  ckpt::RangeReader range(view_, {0, ""});
  EXPECT_EQ(range.read(7, bytes).to_string(), Status{}.to_string());
  EXPECT_THAT(values, ElementsAre(7, 8, 9, 10, 11));
  EXPECT_EQ(range.read(kElements - 5, bytes).to_string(), Status{}.to_string());
  EXPECT_EQ(values.back(), kElements - 1);
  EXPECT_EQ(range.read(ckpt::kDefaultLeafElements - 2, bytes).to_string(), Status{}.to_string());
  EXPECT_EQ(values.front(), ckpt::kDefaultLeafElements - 2);
  EXPECT_THAT(reads_,
              ElementsAre(std::pair{7, 5}, std::pair{kElements - 5, 5}, std::pair{ckpt::kDefaultLeafElements - 2, 5}));
}

TEST_F(ForeignView, LeavesAreTheirElements) {
  std::vector<float> values(kElements - ckpt::kDefaultLeafElements);
  EXPECT_TRUE(view_.read({0, ""}, {1, 1}, std::as_writable_bytes(std::span(values))).ok());
  EXPECT_EQ(values.front(), ckpt::kDefaultLeafElements);
  EXPECT_EQ(values.back(), kElements - 1);
}

TEST_F(ForeignView, AnAbsentTensorIsNotFoundAndNothingIsFilled) {
  std::vector<std::byte> out(16, std::byte{0x5a});
  for (const auto& [ref, name] :
       {std::pair{ckpt::TensorRef{1, ""}, "elsewhere"}, std::pair{ckpt::TensorRef{0, "exp_avg"}, "weight.exp_avg"},
        std::pair{ckpt::TensorRef{9, ""}, "#9"}}) {
    for (const Status& status :
         {view_.read(ref, 0, out), view_.read(ref, ckpt::LeafRange{0, 1}, out), view_.read(ref, 0, {})}) {
      EXPECT_EQ(status.code, ckpt::Code::kNotFound) << name;
      EXPECT_THAT(status.message, HasSubstr("tensor '" + std::string(name) + "' is not in /theirs"));
    }
  }
  EXPECT_THAT(out, ::testing::Each(std::byte{0x5a}));
  EXPECT_TRUE(reads_.empty());
}

TEST_F(ForeignView, RefusesElementsThatATensorDoesNotHave) {
  std::vector<std::byte> out(8);
  EXPECT_EQ(view_.read({0, ""}, kElements - 1, out).code, ckpt::Code::kInvalid);
  EXPECT_EQ(view_.read({0, ""}, ~std::uint64_t{0}, out).code, ckpt::Code::kInvalid);
  EXPECT_EQ(view_.read({0, ""}, 0, std::span(out).first(7)).code, ckpt::Code::kInvalid);
  EXPECT_TRUE(view_.read({0, ""}, kElements, {}).ok());
  EXPECT_TRUE(reads_.empty());
}

}  // namespace
}  // namespace titan::convert::foreign_view_test
