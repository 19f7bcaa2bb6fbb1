#include "recipe/model/byte_ids.h"

#include "ckpt/plan/lr_settings.h"

namespace titan::recipe {

bool reads_bytes(const ckpt::Settings& rows) {
  return ckpt::setting(rows, "training.dataset") == "\"text\"" && ckpt::setting(rows, "model.tokenizer") == "\"byte\"";
}

}  // namespace titan::recipe
