#include "libtrain/job/start/finite_weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>

#include "ckpt/format/member_names.h"

namespace titan::train::finite_weights_test {
namespace {

using ::testing::HasSubstr;

// One weight of `type`, whose bytes are `data`.
class Stored final : public ckpt::CheckpointContent {
 public:
  Stored(ckpt::DType type, std::vector<std::uint64_t> shape, std::vector<std::byte> data, std::string name)
      : CheckpointContent("/w", manifest_of(type, std::move(shape))),
        data_(std::move(data)),
        in_file_(std::move(name)) {}
  std::string name_in_file(std::uint32_t) const override { return in_file_; }
  bool foreign() const override { return true; }
  ckpt::Status read(const ckpt::TensorRef&, std::uint64_t first, std::span<std::byte> out) override {
    const std::uint64_t size = ckpt::dtype_size(manifest.parameters[0].model->dtype);
    std::memcpy(out.data(), data_.data() + first * size, out.size());
    return {};
  }

 private:
  static ckpt::Manifest manifest_of(ckpt::DType type, std::vector<std::uint64_t> shape) {
    ckpt::Manifest manifest;
    ckpt::ParameterRecord& record = manifest.parameters.emplace_back();
    record.meta = {"norm.weight", std::move(shape), 0};
    record.model.emplace();
    record.model->dtype = type;
    record.model->chunk = record.meta.grid(manifest.leaf_elements).chunk_extent();
    manifest.components.push_back({ckpt::kModel, {}, 0, 0, 0});
    return manifest;
  }
  const std::vector<std::byte> data_;
  const std::string in_file_;
};

template <typename Bits>
ckpt::Status checked(ckpt::DType type, const std::vector<Bits>& values, const std::string& in_file = "") {
  const auto bytes = std::as_bytes(std::span(values));
  const auto source = ckpt::weights_of(ckpt::CheckpointReader(std::make_unique<Stored>(
      type, std::vector<std::uint64_t>{values.size()}, std::vector(bytes.begin(), bytes.end()), in_file)));
  if (!source.ok()) return source.status();
  WeightMatch match;
  match.loaded.push_back({0, 0, 0});
  EXPECT_EQ(bytes_of(**source, match), bytes.size());
  return check_finite(**source, match);
}

TEST(FiniteWeights, TheFirstThatIsNoNumberIsNamedInEveryType) {
  EXPECT_TRUE(checked<std::uint32_t>(ckpt::DType::kF32, {0, 0x80000000, 0x7f7fffff, 1}).ok());
  EXPECT_TRUE(checked<std::uint16_t>(ckpt::DType::kBF16, {0x7f7f, 0xff7f}).ok());
  EXPECT_TRUE(checked<std::uint16_t>(ckpt::DType::kF16, {0x7bff, 0xfbff}).ok());
  EXPECT_TRUE(checked<std::uint64_t>(ckpt::DType::kF64, {0x47efffffe0000000}).ok()) << "the largest float32";
  for (const ckpt::Status& status : {checked<std::uint32_t>(ckpt::DType::kF32, {0, 0, 0x7fc00000, 0x7f800000}),
                                     checked<std::uint16_t>(ckpt::DType::kBF16, {0, 0, 0x7fc0}),
                                     checked<std::uint16_t>(ckpt::DType::kF16, {0, 0, 0x7e00}),
                                     checked<std::uint64_t>(ckpt::DType::kF64, {0, 0, 0x7ff8000000000000})}) {
    EXPECT_EQ(status.code, ckpt::Code::kIncompatible);
    EXPECT_THAT(status.message, HasSubstr("weight norm.weight of /w is not finite: element 2 is nan"));
  }
  EXPECT_THAT(checked<std::uint32_t>(ckpt::DType::kF32, {0xff800000}).message, HasSubstr("element 0 is -inf"));
}

TEST(FiniteWeights, AFloat64ThatNoFloat32HoldsIsRefused) {
  const ckpt::Status status = checked<std::uint64_t>(ckpt::DType::kF64, {0, 0x47f0000000000000});
  EXPECT_EQ(status.code, ckpt::Code::kIncompatible);
  EXPECT_THAT(status.message, HasSubstr("norm.weight of /w is beyond float32: element 1 is 3.40282366920938"));
}

TEST(FiniteWeights, TheHintNamesWhatTheRulesTake) {
  const std::vector<std::uint32_t> values{0x7fc00000};
  EXPECT_THAT(checked(ckpt::DType::kF32, values).hint,
              HasSubstr("skip = [\"norm.weight\"] and create = [\"norm.weight\"]"));
  EXPECT_THAT(checked(ckpt::DType::kF32, values, "model.norm.weight").hint,
              HasSubstr("skip = [\"model.norm.weight\"] and create = [\"norm.weight\"]"));
}

}  // namespace
}  // namespace titan::train::finite_weights_test
