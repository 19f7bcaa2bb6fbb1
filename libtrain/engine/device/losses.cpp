#include "libtrain/engine/device/losses.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "libtrain/engine/device/host_values.h"

#ifndef _OPENMP
#error "at::parallel_for stays on one thread in a file that is compiled without -fopenmp"
#endif

namespace titan::train {

at::Tensor exact_token_losses(const at::Tensor& logits_BTV, const at::Tensor& targets_BT) {
  const at::Tensor logits = logits_BTV.detach().to(at::kFloat).reshape({-1, logits_BTV.size(-1)}).contiguous(),
                   targets = targets_BT.flatten().contiguous();
  const at::Tensor losses = at::empty({logits.size(0)}, at::kDouble);
  const std::int64_t vocab = logits.size(1);
  const std::span rows = host_values<float>(logits);
  const std::span tokens = host_values<std::int64_t>(targets);
  const std::span out = mutable_host_values<double>(losses);
  at::parallel_for(0, logits.size(0), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const std::span x = rows.subspan(static_cast<std::size_t>(row * vocab), static_cast<std::size_t>(vocab));
      const double greatest = *std::max_element(x.begin(), x.end());
      double sum = 0;
      for (const float value : x) sum += std::exp(value - greatest);
      const auto place = static_cast<std::size_t>(row);
      out[place] = std::log(sum) + greatest - x[static_cast<std::size_t>(tokens[place])];
    }
  });
  return losses;
}

double ordered_sum(const at::Tensor& losses) {
  const at::Tensor values = losses.detach().to(at::kDouble).contiguous();
  double sum = 0;
  for (const double x : host_values<double>(values)) sum += x;
  return sum;
}

}  // namespace titan::train
