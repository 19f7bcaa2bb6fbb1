#include "libtrain/start/attention_choice.h"

namespace titan::train {

std::string attention_kernel(const recipe::Config& config) {
  return config.training.mixed_precision_param == "float32" ? "math" : "flash";
}

}  // namespace titan::train
