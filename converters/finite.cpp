#include "converters/finite.h"

#include <cmath>
#include <cstring>

namespace titan::convert {
namespace {

constexpr std::uint32_t kExponent = 0x7f800000, kSign = 0x80000000;

/// Whether the float32 with these bits is NaN or infinite, or, in a second moment, negative (-0 is allowed).
bool is_bad(std::uint32_t bits, bool second_moment) {
  return (bits & kExponent) == kExponent || (second_moment && (bits & kSign) != 0 && bits != kSign);
}

}  // namespace

ckpt::Status check_state(std::span<const std::byte> values, std::uint64_t first, const std::string& name,
                         std::string_view slot, const std::string& source) {
  const bool second = slot == "exp_avg_sq";
  for (std::size_t i = 0; i < values.size() / sizeof(float); ++i) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, values.data() + i * sizeof bits, sizeof bits);
    if (!is_bad(bits, second)) continue;
    float value = 0;
    std::memcpy(&value, &bits, sizeof value);
    const std::string found =
        "element " + std::to_string(first + i) + " of " + name + " of " + source + " is " + std::to_string(value);
    if (slot.empty())
      return ckpt::incompatible(found + ": a run cannot continue with it")
          .with_hint("the run that saved it had diverged: take an older checkpoint");
    return ckpt::incompatible(found + (std::isfinite(value) ? ": a mean of squares is never negative" : "") +
                              ": a run cannot continue with it")
        .with_hint("take an older checkpoint; or the model alone, with a fresh optimizer: --skip 'optimizer.*'");
  }
  return {};
}

}  // namespace titan::convert
