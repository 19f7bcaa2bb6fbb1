#include "libtrain/job/start/finite_weights.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <vector>

#include "ckpt/base/toml_text.h"
#include "ckpt/model/rope_permutation.h"
#include "ckpt/ops/convert_dtype.h"

namespace titan::train {

using ckpt::DType;
using ckpt::Status;

namespace {

// The first element with all exponent bits set: infinity or NaN.
template <typename Bits>
std::optional<std::uint64_t> first_bad(std::span<const std::byte> bytes, Bits exponent) {
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(Bits)) {
    Bits bits = 0;
    std::memcpy(&bits, bytes.data() + at, sizeof bits);
    if ((bits & exponent) == exponent) return at / sizeof(Bits);
  }
  return std::nullopt;
}

// The first element that is not finite as the float32 that a run trains.
std::optional<std::uint64_t> first_too_large(std::span<const std::byte> bytes) {
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(double)) {
    double value = 0;
    std::memcpy(&value, bytes.data() + at, sizeof value);
    if (!std::isfinite(static_cast<float>(value))) return at / sizeof(double);
  }
  return std::nullopt;
}

std::optional<std::uint64_t> first_bad(DType dtype, std::span<const std::byte> bytes) {
  switch (dtype) {
    case DType::kF16: return first_bad<std::uint16_t>(bytes, 0x7c00);
    case DType::kBF16: return first_bad<std::uint16_t>(bytes, 0x7f80);
    case DType::kF64: return first_too_large(bytes);
    default: return first_bad<std::uint32_t>(bytes, 0x7f800000);  // weights are floats
  }
}

double value_of(DType dtype, std::span<const std::byte> element) {
  double wide = 0;
  float value = 0;
  if (dtype == DType::kF64)
    std::memcpy(&wide, element.data(), sizeof wide);
  else
    ckpt::convert_elements(dtype, element, DType::kF32, std::as_writable_bytes(std::span(&value, 1)));
  return dtype == DType::kF64 ? wide : value;
}

}  // namespace

Status read_matched(const ckpt::WeightSource& source, const WeightMatch::Pair& pair, std::uint64_t first,
                    std::span<std::byte> out) {
  const ckpt::WeightInfo& weight = source.tensors()[pair.weight];
  const std::uint64_t size = ckpt::dtype_size(weight.dtype);
  const auto read = [&](std::uint64_t element, std::span<std::byte> part) {
    return source.read(pair.weight, element, part.size() / size, part);
  };
  if (pair.head_dim == 0) return read(first, out);
  const std::uint64_t width = ckpt::element_count(std::span(weight.shape).subspan(1));
  return ckpt::read_interleaved({pair.head_dim, width, size}, first, out, read);
}

Status not_finite(const ckpt::WeightSource& source, std::size_t weight, std::uint64_t element, double value) {
  const std::vector<ckpt::WeightInfo>& all = source.tensors();
  const ckpt::WeightInfo& bad = all[weight];
  const std::string& skipped = bad.in_file.empty() ? bad.name : bad.in_file;
  // A tensor in the file may hold several parameters (experts). A rule that skips it skips all of them, so all are
  // created.
  std::string created;
  for (const ckpt::WeightInfo& one : all)
    if (&one == &bad || (!bad.in_file.empty() && one.in_file == bad.in_file))
      created += (created.empty() ? "\"" : ", \"") + one.name + "\"";
  return ckpt::incompatible("weight " + bad.name + " of " + source.path() +
                            (std::isfinite(value) ? " is beyond float32" : " is not finite") + ": element " +
                            std::to_string(element) + " is " + ckpt::toml_float(value))
      .with_hint(
          "the run that saved it had diverged: take an older checkpoint; or draw the parameter anew, by rules "
          "(--init-map) with skip = [\"" +
          skipped + "\"] and create = [" + created + "]");
}

Status check_finite(const ckpt::WeightSource& source, const WeightMatch& match) {
  constexpr std::uint64_t kElements = std::uint64_t{1} << 19;
  std::vector<std::byte> bytes;
  for (const WeightMatch::Pair& pair : match.loaded) {
    const ckpt::WeightInfo& weight = source.tensors()[pair.weight];
    const std::uint64_t elements = ckpt::element_count(weight.shape);
    for (std::uint64_t at = 0; at < elements; at += kElements) {
      const std::uint64_t count = std::min(kElements, elements - at);
      const std::uint64_t size = ckpt::dtype_size(weight.dtype);
      bytes.resize(count * size);
      TITAN_RETURN_IF_ERROR(read_matched(source, pair, at, bytes));
      if (const auto bad = first_bad(weight.dtype, bytes))
        return not_finite(source, pair.weight, at + *bad,
                          value_of(weight.dtype, std::span(bytes).subspan(*bad * size, size)));
    }
  }
  return {};
}

std::uint64_t bytes_of(const ckpt::WeightSource& source, const WeightMatch& match) {
  std::uint64_t bytes = 0;
  for (const WeightMatch::Pair& pair : match.loaded) {
    const ckpt::WeightInfo& weight = source.tensors()[pair.weight];
    bytes += ckpt::element_count(weight.shape) * ckpt::dtype_size(weight.dtype);
  }
  return bytes;
}

}  // namespace titan::train
