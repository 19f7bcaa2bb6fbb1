#include "libtrain/job/host/attention_choice.h"

#include "recipe/keys/config.h"

namespace titan::train {

ckpt::Result<std::string> attention_kernel(const recipe::Config& config) {
  if (config.training.document_mask)
    return ckpt::unsupported("training.document_mask is not supported on a GPU yet")
        .with_hint("--training.device=cpu, or leave training.document_mask out");
  const std::string& asked = config.training.attention;
  const bool fp32 = config.training.mixed_precision_param == "float32";
  if (asked == "auto") return std::string(fp32 ? "math" : "flash");
  if (asked == "math") return asked;
  if (fp32)
    return ckpt::invalid("training.attention = \"" + asked + "\" computes in bfloat16 alone, and this run in float32")
        .with_hint("training.attention = \"math\", or training.mixed_precision_param = \"bfloat16\"");
  if (asked == "cudnn" && config.debug.deterministic)
    return ckpt::invalid(
               "training.attention = \"cudnn\" has no deterministic backward, and debug.deterministic is true")
        .with_hint("training.attention = \"flash\", or debug.deterministic = false, which gives up equal bits");
  return asked;
}

}  // namespace titan::train
