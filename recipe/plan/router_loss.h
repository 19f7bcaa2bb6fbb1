#pragma once

namespace titan::recipe {

/// training.router_aux_loss where nobody says it: that of transformers' Mixtral and Qwen3-MoE.
inline constexpr double kRouterLoss = 0.001;

}  // namespace titan::recipe
