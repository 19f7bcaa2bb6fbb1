#pragma once
// Initial weights, one independent stream per parameter: element k of a parameter is a pure function of
// (seed, name, k), so every layout, thread count and vector width draws the same model.
// \source torchtitan v0.2.2 models/llama3/model/model.py init_weights with depth_init
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace titan::recipe {
struct ModelDims;
}

namespace titan::train {

enum class InitKind { kZeros, kOnes, kNormal, kNormalWithin3Std };

struct InitRule {
  InitKind kind = InitKind::kOnes;
  double std = 0;
  bool operator==(const InitRule&) const = default;
};

/// The distribution of parameter `name`. \error std::invalid_argument for an unknown name
InitRule init_rule(const recipe::ModelDims& dims, std::string_view name);

/// Draws the elements of parameter `name` from element `first` on, in row-major order, into `out`.
void draw(const InitRule& rule, std::uint64_t seed, std::string_view name, std::span<float> out,
          std::uint64_t first = 0);

/// Elements of a parameter to draw, from element `first` on.
struct Drawing {
  std::string name;
  std::uint64_t first = 0;
  std::span<float> out;
};

/// Draws all of `drawings`, on the compute threads.
void draw_all(const recipe::ModelDims& dims, std::uint64_t seed, const std::vector<Drawing>& drawings);

/// The quantile function of the standard normal distribution, for 0 < p < 1.
/// Only IEEE basic operations and square roots: the same bits on every machine. \source Wichura, AS 241, PPND16
double normal_quantile(double p);

}  // namespace titan::train
