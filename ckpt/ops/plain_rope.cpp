#include "ckpt/ops/plain_rope.h"

#include "ckpt/base/toml_text.h"
#include "ckpt/plan/lr_settings.h"

namespace titan::ckpt {

Settings with_plain_rope(const Settings& config) {
  constexpr const char* kScaling = "model.rope_scaling";
  if (has_setting(config, kScaling) || !has_setting(config, "model.rope_theta")) return config;
  return with_rows(config, {{kScaling, toml_string("none")}});
}

}  // namespace titan::ckpt
