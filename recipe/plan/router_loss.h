#pragma once

namespace titan::recipe {

/// The default of training.router_aux_loss for models with experts: that of transformers' Mixtral and Qwen3-MoE.
inline constexpr double kRouterLoss = 0.001;

}  // namespace titan::recipe
