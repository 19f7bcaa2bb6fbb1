#include "recipe/model/rope_scaling.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "ckpt/base/printed.h"
#include "ckpt/base/text.h"

namespace titan::recipe {
namespace {

using Kind = RopeScaling::Kind;

constexpr double kMaxLength = 1e12;
constexpr std::size_t kMostFactors = 4096;
constexpr std::array<const char*, 5> kKindNames = {"llama3", "linear", "dynamic", "yarn", "longrope"};

bool has_length(const RopeScaling& scaling) {
  return scaling.original_max_position_embeddings >= 1 &&
         static_cast<double>(scaling.original_max_position_embeddings) <= kMaxLength;
}

/// The shortest digits of a number. A whole number has no ".0", unlike in TOML.

std::string digits(const std::vector<double>& values) { return ckpt::joined(values, ",", ckpt::digits_of<double>); }

/// Reads numbers between ':'. One missing or malformed number makes the whole text invalid.
class Numbers {
 public:
  explicit Numbers(std::vector<std::string> parts) : parts_(std::move(parts)) {}

  bool left() const { return next_ < parts_.size(); }
  double real() {
    const std::optional<double> number = left() ? ckpt::number_of<double>(parts_[next_]) : std::nullopt;
    ++next_;
    fine_ = fine_ && number && std::isfinite(*number);
    return number.value_or(0);
  }
  std::int64_t whole() {
    constexpr double kMaxInteger = 9e18;
    const double number = real();
    fine_ = fine_ && number == std::floor(number) && std::fabs(number) <= kMaxInteger;
    return fine_ ? static_cast<std::int64_t>(number) : 0;
  }
  std::vector<double> list() {
    std::vector<double> values;
    if (left()) {
      Numbers items(ckpt::split(parts_[next_], ','));
      while (items.left() && values.size() <= kMostFactors) values.push_back(items.real());
      fine_ = fine_ && items.fine_;
    }
    fine_ = fine_ && next_++ < parts_.size() && values.size() <= kMostFactors;
    return values;
  }
  bool all_read() const { return fine_ && next_ == parts_.size(); }

 private:
  std::vector<std::string> parts_;
  std::size_t next_ = 0;
  bool fine_ = true;
};

void read_yarn(Numbers& numbers, RopeScaling& scaling) {
  scaling.factor = numbers.real();
  scaling.original_max_position_embeddings = numbers.whole();
  scaling.attention_factor = numbers.left() ? numbers.real() : yarn_attention(scaling.factor);
  if (numbers.left()) scaling.beta_fast = numbers.real();
  if (numbers.left()) scaling.beta_slow = numbers.real();
  if (numbers.left()) scaling.truncate = numbers.whole() != 0;
}

const char* expected_form(Kind kind) {
  switch (kind) {
    case Kind::kLlama3: return "llama3:FACTOR:LOW_FREQ_FACTOR:HIGH_FREQ_FACTOR:ORIGINAL_MAX_POSITION_EMBEDDINGS";
    case Kind::kLinear: return "linear:FACTOR";
    case Kind::kDynamic: return "dynamic:FACTOR:ORIGINAL_MAX_POSITION_EMBEDDINGS";
    case Kind::kYarn:
      return "yarn:FACTOR:ORIGINAL_MAX_POSITION_EMBEDDINGS[:ATTENTION_FACTOR[:BETA_FAST[:BETA_SLOW[:TRUNCATE]]]]";
    case Kind::kLongrope:
      return "longrope:FACTOR:ORIGINAL_MAX_POSITION_EMBEDDINGS:ATTENTION_FACTOR:SHORT,SHORT,...:LONG,LONG,...";
  }
  return "";
}

/// Describes the valid parameters of this kind.
const char* sound_numbers(Kind kind) {
  switch (kind) {
    case Kind::kLlama3: return "the factor is at least 1, and 0 < low < high frequency factor";
    case Kind::kYarn: return "the factor is at least 1, the attention factor positive, and 0 < slow < fast beta";
    case Kind::kLongrope: return "all factors are positive, and there are as many short ones as long ones";
    case Kind::kLinear:
    case Kind::kDynamic: break;
  }
  return "the factor is at least 1";
}

}  // namespace

const char* rope_kind_name(Kind kind) { return kKindNames[static_cast<std::size_t>(kind)]; }

std::optional<Kind> rope_kind(std::string_view name) {
  for (std::size_t i = 0; i < kKindNames.size(); ++i)
    if (name == kKindNames[i]) return static_cast<Kind>(i);
  return std::nullopt;
}

double scaled_length(const RopeScaling& scaling) {
  // A linear scaling has no original length.
  if (scaling.kind == Kind::kLinear) return 0;
  const auto original = static_cast<double>(scaling.original_max_position_embeddings);
  return scaling.kind == Kind::kDynamic ? original : scaling.factor * original;
}

double yarn_attention(double factor, double mscale, double mscale_all_dim) {
  constexpr double kSlope = 0.1;
  const auto scale = [&](double by) { return factor <= 1 ? 1.0 : kSlope * by * std::log(factor) + 1.0; };
  return mscale != 0 && mscale_all_dim != 0 ? scale(mscale) / scale(mscale_all_dim) : scale(1);
}

double longrope_attention(double factor, std::int64_t original) {
  if (factor <= 1 || original <= 1) return 1;
  return std::sqrt(1 + std::log(factor) / std::log(static_cast<double>(original)));
}

bool is_sound(const RopeScaling& scaling) {
  const auto positive = [](double number) { return number > 0 && std::isfinite(number); };
  if (!has_length(scaling) || !positive(scaling.attention_factor)) return false;
  switch (scaling.kind) {
    case Kind::kLlama3:
      return scaling.factor >= 1 && scaling.low_freq_factor > 0 && scaling.high_freq_factor > scaling.low_freq_factor;
    case Kind::kLinear:
    case Kind::kDynamic: return scaling.factor >= 1;
    case Kind::kYarn: return scaling.factor >= 1 && scaling.beta_slow > 0 && scaling.beta_fast > scaling.beta_slow;
    case Kind::kLongrope:
      return positive(scaling.factor) && !scaling.short_factors.empty() &&
             scaling.short_factors.size() <= kMostFactors &&
             scaling.short_factors.size() == scaling.long_factors.size() &&
             std::ranges::all_of(scaling.short_factors, positive) &&
             std::ranges::all_of(scaling.long_factors, positive);
  }
  return false;
}

std::optional<RopeScaling> read_rope_scaling(std::string_view text) {
  std::vector<std::string> parts = ckpt::split(text, ':');
  const std::optional<Kind> kind = rope_kind(parts.empty() ? "" : parts[0]);
  if (!kind) return std::nullopt;
  parts.erase(parts.begin());
  Numbers numbers(std::move(parts));
  RopeScaling scaling;
  scaling.kind = *kind;
  switch (*kind) {
    case Kind::kLlama3:
      scaling.factor = numbers.real();
      scaling.low_freq_factor = numbers.real();
      scaling.high_freq_factor = numbers.real();
      scaling.original_max_position_embeddings = numbers.whole();
      break;
    case Kind::kLinear: scaling.factor = numbers.real(); break;
    case Kind::kDynamic:
      scaling.factor = numbers.real();
      scaling.original_max_position_embeddings = numbers.whole();
      break;
    case Kind::kYarn: read_yarn(numbers, scaling); break;
    case Kind::kLongrope:
      scaling.factor = numbers.real();
      scaling.original_max_position_embeddings = numbers.whole();
      scaling.attention_factor = numbers.real();
      scaling.short_factors = numbers.list();
      scaling.long_factors = numbers.list();
      break;
  }
  return numbers.all_read() ? std::optional(scaling) : std::nullopt;
}

ckpt::Result<RopeScaling> parse_rope_scaling(const std::string& text) {
  const std::optional<Kind> kind = rope_kind(text.substr(0, text.find(':')));
  const std::string what = "model.rope_scaling '" + text + "': ";
  const std::optional<RopeScaling> scaling = read_rope_scaling(text);
  if (!scaling || !has_length(*scaling)) {
    ckpt::Status status = ckpt::invalid(what + "expected " + expected_form(kind.value_or(Kind::kLlama3)));
    return kind.value_or(Kind::kLlama3) == Kind::kLlama3
               ? status.with_hint(
                     "Llama 3.1 has \"llama3:8:1:4:8192\", Llama 3.2 \"llama3:32:1:4:8192\"; other kinds "
                     "are linear, dynamic, yarn and longrope")
               : status;
  }
  if (!is_sound(*scaling)) return ckpt::invalid(what + sound_numbers(*kind));
  return *scaling;
}

std::string rope_scaling_text(const RopeScaling& scaling) {
  const std::string begin = std::string(rope_kind_name(scaling.kind)) + ":" + ckpt::digits_of(scaling.factor),
                    original = ":" + std::to_string(scaling.original_max_position_embeddings);
  switch (scaling.kind) {
    case Kind::kLlama3:
      return begin + ":" + ckpt::digits_of(scaling.low_freq_factor) + ":" + ckpt::digits_of(scaling.high_freq_factor) +
             original;
    case Kind::kLinear: return begin;
    case Kind::kDynamic: return begin + original;
    case Kind::kYarn:
      return begin + original + ":" + ckpt::digits_of(scaling.attention_factor) + ":" +
             ckpt::digits_of(scaling.beta_fast) + ":" + ckpt::digits_of(scaling.beta_slow) +
             (scaling.truncate ? ":1" : ":0");
    case Kind::kLongrope:
      return begin + original + ":" + ckpt::digits_of(scaling.attention_factor) + ":" + digits(scaling.short_factors) +
             ":" + digits(scaling.long_factors);
  }
  return begin;
}

}  // namespace titan::recipe
