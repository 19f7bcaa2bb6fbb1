#pragma once
// Initial weights. For a given model, element k of a parameter depends only on the seed, the parameter's name and k. So
// the weights are the same on every layout and for any number of threads.
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

/// kZeros and kOnes: all elements are 0 or 1. kNormal: a normal distribution with mean 0. kNormalWithin3Std: the same,
/// truncated at 3 standard deviations.
enum class InitKind { kZeros, kOnes, kNormal, kNormalWithin3Std };

/// How a parameter is initialised.
struct InitRule {
  InitKind kind = InitKind::kOnes;
  double std = 0;  ///< standard deviation of the normal distribution, before it is truncated
  bool operator==(const InitRule&) const = default;
};

/// The rule of parameter `name`. \error std::invalid_argument for an unknown name
InitRule init_rule(const recipe::ModelDims& dims, std::string_view name);

/// Writes elements [first, first + out.size()) of parameter `name`, in row-major order, to `out`.
void draw(const InitRule& rule, std::uint64_t seed, std::string_view name, std::span<float> out,
          std::uint64_t first = 0);

/// A range of a parameter's elements to draw: [first, first + out.size()).
struct Drawing {
  std::string name;
  std::uint64_t first = 0;
  std::span<float> out;
};

/// Draws all of `drawings`, with as many threads as LibTorch computes with. \error std::invalid_argument for an unknown
/// name
void draw_all(const recipe::ModelDims& dims, std::uint64_t seed, const std::vector<Drawing>& drawings);

/// The quantile function of the standard normal distribution, for 0 < p < 1.
/// Only IEEE basic operations and square roots: the same bits on every machine. \source Wichura, AS 241, PPND16
double normal_quantile(double p);

}  // namespace titan::train
