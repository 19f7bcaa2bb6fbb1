#include "recipe/model/rope_frequencies.h"

#include <algorithm>
#include <cmath>

namespace titan::recipe {
namespace {

constexpr double kTurn = 2 * 3.14159265358979323846;

float exponent(std::size_t pair, std::int64_t head_dim) {
  return static_cast<float>(2 * pair) / static_cast<float>(head_dim);
}

float plain(std::size_t pair, std::int64_t head_dim, double theta) {
  return 1.0f / static_cast<float>(std::pow(theta, static_cast<double>(exponent(pair, head_dim))));
}

float by_llama3(float frequency, const RopeScaling& scaling) {
  const auto factor = static_cast<float>(scaling.factor);
  const auto low = static_cast<float>(scaling.low_freq_factor), high = static_cast<float>(scaling.high_freq_factor);
  const auto original = static_cast<float>(scaling.original_max_position_embeddings);
  const float wavelength = 1.0f / frequency * 6.2831853071795864769f;
  if (wavelength > original / low) return frequency / factor;
  if (wavelength < original / high) return frequency;
  const float smooth = (original / wavelength - low) / (high - low);
  return (1.0f - smooth) * frequency / factor + smooth * frequency;
}

/// The base of dynamic scaling, which is larger than `theta` for sequences longer than the original length.
double dynamic_theta(std::int64_t head_dim, double theta, const RopeScaling& scaling, std::int64_t length) {
  const auto original = static_cast<double>(scaling.original_max_position_embeddings);
  const double longest = std::max(static_cast<double>(length), original);
  const auto d = static_cast<double>(head_dim);
  return theta * std::pow(scaling.factor * longest / original - (scaling.factor - 1), d / (d - 2));
}

/// YaRN's ramp over the pairs of a head: frequencies of pairs up to `low` are kept, those from `high` on are divided by
/// the factor, and between the two they are interpolated.
struct Ramp {
  double low = 0, high = 0;
  float at(std::size_t pair) const {
    const double above = high == low ? high + 0.001 : high;  // no division by zero
    const float linear = (static_cast<float>(pair) - static_cast<float>(low)) / static_cast<float>(above - low);
    return std::clamp(linear, 0.0f, 1.0f);
  }
};

/// \source Peng et al., YaRN
Ramp yarn_ramp(std::int64_t head_dim, double theta, const RopeScaling& scaling) {
  const auto d = static_cast<double>(head_dim);
  const auto original = static_cast<double>(scaling.original_max_position_embeddings);
  const auto pair_of = [&](double rotations) {
    return d * std::log(original / (rotations * kTurn)) / (2 * std::log(theta));
  };
  Ramp ramp{pair_of(scaling.beta_fast), pair_of(scaling.beta_slow)};
  if (scaling.truncate) ramp = {std::floor(ramp.low), std::ceil(ramp.high)};
  return {std::max(ramp.low, 0.0), std::min(ramp.high, d - 1)};
}

float by_yarn(float frequency, const RopeScaling& scaling, float ramp) {
  const float kept = 1.0f - ramp;
  const float slow = 1.0f / (static_cast<float>(scaling.factor) * (1.0f / frequency));
  return slow * (1.0f - kept) + frequency * kept;
}

}  // namespace

RopeFrequencies rope_frequencies(std::int64_t head_dim, double theta, const std::optional<RopeScaling>& scaling,
                                 std::int64_t length) {
  using enum RopeScaling::Kind;
  RopeFrequencies found;
  if (scaling && (scaling->kind == kYarn || scaling->kind == kLongrope)) found.attention = scaling->attention_factor;
  const bool beyond = scaling && length > scaling->original_max_position_embeddings;
  const double base = scaling && scaling->kind == kDynamic ? dynamic_theta(head_dim, theta, *scaling, length) : theta;
  const Ramp ramp = scaling && scaling->kind == kYarn ? yarn_ramp(head_dim, theta, *scaling) : Ramp{};
  for (std::size_t pair = 0; pair < static_cast<std::size_t>(head_dim / 2); ++pair) {
    const float frequency = plain(pair, head_dim, base);
    float turned = frequency;
    if (scaling) {
      switch (scaling->kind) {
        case kLlama3: turned = by_llama3(frequency, *scaling); break;
        case kLinear: turned = frequency / static_cast<float>(scaling->factor); break;
        case kDynamic: break;
        case kYarn: turned = by_yarn(frequency, *scaling, ramp.at(pair)); break;
        case kLongrope:
          turned = 1.0f / (static_cast<float>((beyond ? scaling->long_factors : scaling->short_factors).at(pair)) *
                           static_cast<float>(std::pow(theta, static_cast<double>(exponent(pair, head_dim)))));
          break;
      }
    }
    found.inverse.push_back(turned);
  }
  return found;
}

}  // namespace titan::recipe
