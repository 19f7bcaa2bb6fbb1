#include "libtrain/engine/model/moe.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include <span>
#include <tuple>

#include "libtrain/engine/device/device.h"
#include "libtrain/engine/device/host_values.h"
#include "libtrain/engine/model/functions/product_use.h"

namespace titan::train {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// The A = N x S assignments of a token to an expert, sorted by expert, and by token within an expert.
struct Dispatch {
  at::Tensor weights_A;             ///< the weight of each assignment, fp32
  at::Tensor tokens_A;              ///< the token of each assignment
  at::Tensor places_NS;             ///< the numbers of each token's assignments, ascending
  std::vector<std::int64_t> loads;  ///< the number of assignments of each expert
};

/// For each token, the sum of the rows of its assignments, added in the order of assignments.
at::Tensor sum_of_tokens(const at::Tensor& rows_AD, const at::Tensor& places_NS) {
  at::Tensor sum = rows_AD.index_select(0, places_NS.select(1, 0));
  for (std::int64_t i = 1; i < places_NS.size(1); ++i) sum.add_(rows_AD.index_select(0, places_NS.select(1, i)));
  return sum;
}

/// Copies a token's row to each of its assignments.
struct Spread final : torch::autograd::Function<Spread> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x_ND, const at::Tensor& tokens_A,
                            const at::Tensor& places_NS) {
    context->save_for_backward({places_NS});
    return x_ND.index_select(0, tokens_A);
  }
  static variable_list backward(AutogradContext* context, variable_list grads) {
    return {sum_of_tokens(grads[0], context->get_saved_variables()[0]), {}, {}};
  }
};

/// The sum of the rows of each token's assignments.
struct Gather final : torch::autograd::Function<Gather> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& rows_AD, const at::Tensor& tokens_A,
                            const at::Tensor& places_NS) {
    context->save_for_backward({tokens_A});
    return sum_of_tokens(rows_AD, places_NS);
  }
  static variable_list backward(AutogradContext* context, variable_list grads) {
    return {grads[0].index_select(0, context->get_saved_variables()[0]), {}, {}};
  }
};

/// Returns the probabilities unchanged. Its backward adds `grad_E`, the gradient of the load-balancing loss, to that of
/// each token.
struct Balanced final : torch::autograd::Function<Balanced> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& probabilities_NE, const at::Tensor& grad_E) {
    context->save_for_backward({grad_E});
    return probabilities_NE.view_as(probabilities_NE);
  }
  static variable_list backward(AutogradContext* context, variable_list grads) {
    return {grads[0] + context->get_saved_variables()[0], {}};
  }
};

std::vector<std::int64_t> on_host(const at::Tensor& counts) {
  const at::Tensor host = device().to_host(counts);
  const std::span<const std::int64_t> values = host_values<std::int64_t>(host);
  return {values.begin(), values.end()};
}

/// If there is a sink, gives it the load-balancing loss, and attaches the loss's gradient to the probabilities.
at::Tensor with_balance(const at::Tensor& probabilities_NE, const at::Tensor& loads_E, const MoeWeights& w,
                        GradientSink* sink) {
  if (sink == nullptr) return probabilities_NE;
  const auto tokens = static_cast<double>(probabilities_NE.size(0));
  const auto experts = static_cast<double>(probabilities_NE.size(1));
  const at::Tensor shares_E = loads_E.to(at::kDouble).div_(tokens).mul_(experts);
  sink->note_balance(at::dot(shares_E, probabilities_NE.detach().to(at::kDouble).mean(0)));
  if (w.balance == 0) return probabilities_NE;
  return Balanced::apply(probabilities_NE, shares_E.mul(w.balance / tokens).to(at::kFloat));
}

Dispatch route(const at::Tensor& x_ND, const MoeWeights& w, const ProductUse& use) {
  const at::Tensor all_NE = at::softmax(linear(x_ND, w.router, use), 1, at::kFloat);
  const at::Tensor chosen_NS = std::get<1>(at::topk(all_NE.detach(), w.per_token, 1));
  const at::Tensor loads_E = at::bincount(chosen_NS.flatten(), {}, all_NE.size(1));
  at::Tensor weights_NS = with_balance(all_NE, loads_E, w, use.sink).gather(1, chosen_NS);
  if (w.normed) weights_NS = weights_NS / weights_NS.sum(1, /*keepdim=*/true);

  Dispatch dispatch;
  const at::Tensor order_A = at::argsort(chosen_NS.flatten(), /*stable=*/true, /*dim=*/0);
  dispatch.weights_A = weights_NS.flatten().index_select(0, order_A);
  dispatch.tokens_A = order_A.div(w.per_token, "floor");
  dispatch.places_NS =
      std::get<0>(at::sort(at::argsort(order_A, /*stable=*/true, /*dim=*/0).view(chosen_NS.sizes()), 1));
  dispatch.loads = on_host(loads_E);
  return dispatch;
}

}  // namespace

at::Tensor moe(const at::Tensor& x_BTD, const MoeWeights& w, const ProductUse& use) {
  const at::Tensor x_ND = rows_of(x_BTD);
  const Dispatch to = route(x_ND, w, use);
  const std::vector<at::Tensor> parts =
      Spread::apply(x_ND, to.tokens_A, to.places_NS).split_with_sizes(to.loads, /*dim=*/0);
  // The outputs of experts are read even if the layer is recomputed, for the router's gradient. And several tokens may
  // go to one expert, or none.
  ProductUse own = use;
  own.unread = own.single_row = false;
  std::vector<at::Tensor> outputs;
  for (std::size_t i = 0; i < parts.size(); ++i) outputs.push_back(feed_forward(parts[i], w.experts[i], own));
  const at::Tensor rows_AD = at::cat(outputs) * to.weights_A.to(x_BTD.scalar_type()).unsqueeze(1);
  return Gather::apply(rows_AD, to.tokens_A, to.places_NS).view(x_BTD.sizes());
}

}  // namespace titan::train
