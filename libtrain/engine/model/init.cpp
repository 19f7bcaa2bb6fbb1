#include "libtrain/engine/model/init.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <string>

#include <ATen/Parallel.h>

#include "ckpt/base/parallel.h"
#include "libtrain/job/sample/counter_random.h"
#include "recipe/model/dims.h"
#include "recipe/model/family.h"

namespace titan::train {
namespace {

// Logarithm from basic operations: std::log's implementation, and so its last bit, depends on the CPU.
double portable_log(double x) {
  int exponent = 0;
  double m = std::frexp(x, &exponent);  // in [0.5, 1)
  if (m < 0.70710678118654752) {
    m *= 2;
    --exponent;
  }
  const double s = (m - 1) / (m + 1), s2 = s * s;
  double series = 0;
  for (int k = 25; k >= 1; k -= 2) series = series * s2 + 1.0 / k;
  return 2 * s * series + exponent * 0.69314718055994530942;
}

double ratio(const std::array<double, 8>& num, const std::array<double, 8>& den, double r) {
  double n = num[7], d = den[7];
  for (int i = 6; i >= 0; --i) {
    n = n * r + num[i];
    d = d * r + den[i];
  }
  return n / d;
}

}  // namespace

double normal_quantile(double p) {
  const double q = p - 0.5;
  if (std::fabs(q) <= 0.425)
    return q *
           ratio({3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3, 1.3731693765509461125e4,
                  4.5921953931549871457e4, 6.7265770927008700853e4, 3.3430575583588128105e4, 2.5090809287301226727e3},
                 {1.0, 4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3,
                  2.1213794301586595867e4, 3.9307895800092710610e4, 2.8729085735721942674e4, 5.2264952788528545610e3},
                 0.180625 - q * q);
  const double r = std::sqrt(-portable_log(q < 0 ? p : 1 - p));
  const double x = r <= 5 ? ratio({1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0,
                                   3.64784832476320460504e0, 1.27045825245236838258e0, 2.41780725177450611770e-1,
                                   2.27238449892691845833e-2, 7.74545014278341407640e-4},
                                  {1.0, 2.05319162663775882187e0, 1.67638483018380384940e0, 6.89767334985100004550e-1,
                                   1.48103976427480074590e-1, 1.51986665636164571966e-2, 5.47593808499534494600e-4,
                                   1.05075007164441684324e-9},
                                  r - 1.6)
                          : ratio({6.65790464350110377720e0, 5.46378491116411436990e0, 1.78482653991729133580e0,
                                   2.96560571828504891230e-1, 2.65321895265761230930e-2, 1.24266094738807843860e-3,
                                   2.71155556874348757815e-5, 2.01033439929228813265e-7},
                                  {1.0, 5.99832206555887937690e-1, 1.36929880922735805310e-1, 1.48753612908506148525e-2,
                                   7.86869131145613259100e-4, 1.84631831751005468180e-5, 1.42151175831644588870e-7,
                                   2.04426310338993978564e-15},
                                  r - 5);
  return q < 0 ? -x : x;
}

InitRule init_rule(const recipe::ModelDims& dims, std::string_view name) {
  const std::optional<recipe::NamedPart> part = recipe::part_of(name);
  if (!part) throw std::invalid_argument("no initialisation for parameter '" + std::string(name) + "'");
  // torchtitan's trunc_normal_ truncates the weights of layers at +-2, which is 100 standard deviations or more. A
  // plain normal distribution never reaches that.
  constexpr double kStd = 0.02;
  switch (part->kind->start) {
    case recipe::Start::kOnes: return {InitKind::kOnes, 0};
    case recipe::Start::kZeros: return {InitKind::kZeros, 0};
    // torchtitan 0.2.2 has no tied llama3. With a standard deviation of 1, a tied head would give the input token a
    // logit of about dim; with 1/sqrt(dim), the head's own, about sqrt(dim) (first loss 10.7 at dim 128, 256 tokens).
    // 0.02, the value of published tied Llamas, has a first loss of ln(vocabulary) (5.55).
    case recipe::Start::kEmbedding: return {InitKind::kNormal, dims.tied ? kStd : 1};
    case recipe::Start::kHead: return {InitKind::kNormalWithin3Std, 1 / std::sqrt(static_cast<double>(dims.dim))};
    case recipe::Start::kNarrow: return {InitKind::kNormal, kStd};
    case recipe::Start::kByDepth:
      return {InitKind::kNormal, kStd / std::sqrt(2.0 * (static_cast<double>(part->layer) + 1))};
  }
  throw std::logic_error("a start of no kind");
}

void draw(const InitRule& rule, std::uint64_t seed, std::string_view name, std::span<float> out, std::uint64_t first) {
  if (rule.kind == InitKind::kZeros || rule.kind == InitKind::kOnes) {
    for (float& x : out) x = rule.kind == InitKind::kOnes ? 1 : 0;
    return;
  }
  constexpr double kBelowMinus3Std = 1.3498980316300945e-3;
  const double low = rule.kind == InitKind::kNormalWithin3Std ? kBelowMinus3Std : 0;
  const std::uint64_t key = stream_key(seed, "init", name);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const double uniform = (static_cast<double>(random_bits(key, first + i) >> 11) + 0.5) * 0x1p-53;  // in (0, 1)
    out[i] = static_cast<float>(rule.std * normal_quantile(low + (1 - 2 * low) * uniform));
  }
}

void draw_all(const recipe::ModelDims& dims, std::uint64_t seed, const std::vector<Drawing>& drawings) {
  constexpr std::size_t kPart = 16'384;  // elements of a task (about 0.2 ms): so all threads end at about the same time
  struct Part {
    const Drawing* drawing;
    InitRule rule;
    std::size_t begin;
  };
  std::vector<Part> parts;
  for (const Drawing& drawing : drawings)
    for (std::size_t begin = 0; begin < drawing.out.size(); begin += kPart)
      parts.push_back({&drawing, init_rule(dims, drawing.name), begin});
  // at::parallel_for would use one thread here: it needs OpenMP in its caller.
  const ckpt::Status status =
      ckpt::parallel_for(parts.size(), static_cast<unsigned>(at::get_num_threads()), [&](std::size_t i) {
        const auto& [drawing, rule, begin] = parts[i];
        draw(rule, seed, drawing->name, drawing->out.subspan(begin, std::min(kPart, drawing->out.size() - begin)),
             drawing->first + begin);
        return ckpt::ok_status();
      });
  if (!status.ok()) throw std::runtime_error(status.message);
}

}  // namespace titan::train
