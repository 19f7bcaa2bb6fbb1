#include "libtrain/engine/model/functions/rope.h"

#include <cmath>

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include "libtrain/engine/device/device.h"
#include "libtrain/engine/device/host_values.h"
#include "recipe/model/rope_frequencies.h"

namespace titan::train {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct Rope final : torch::autograd::Function<Rope> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& rotations) {
    context->save_for_backward({rotations});
    return kernels().rope(x, rotations, /*back=*/false);
  }
  static variable_list backward(AutogradContext* context, variable_list grads) {
    return {kernels().rope(grads[0], context->get_saved_variables()[0], /*back=*/true), {}};
  }
};

}  // namespace

at::Tensor rope_table(std::int64_t max_seq_len, std::int64_t head_dim, double theta,
                      const std::optional<recipe::RopeScaling>& scaling) {
  const recipe::RopeFrequencies frequencies = recipe::rope_frequencies(head_dim, theta, scaling, max_seq_len);
  const auto attention = static_cast<float>(frequencies.attention);
  at::Tensor table = at::empty({max_seq_len, head_dim / 2, 2}, at::kFloat);
  float* out = mutable_host_values<float>(table).data();
  for (std::int64_t t = 0; t < max_seq_len; ++t) {
    for (const float frequency : frequencies.inverse) {
      // Angles are rounded to fp32 where torchtitan rounds them.
      const double angle = static_cast<float>(t) * frequency;
      *out++ = static_cast<float>(std::cos(angle)) * attention;
      *out++ = static_cast<float>(std::sin(angle)) * attention;
    }
  }
  return device().from_host(at::view_as_complex(table));
}

at::Tensor apply_rope(const at::Tensor& x_BTHK, const at::Tensor& table) {
  return Rope::apply(x_BTHK, table.dim() == 3 ? table.unsqueeze(2) : table.narrow(0, 0, x_BTHK.size(1)).unsqueeze(1));
}

}  // namespace titan::train
