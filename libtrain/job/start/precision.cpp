#include "libtrain/job/start/precision.h"

#include <vector>

#include "ckpt/base/quoting.h"
#include "ckpt/read/ema.h"

namespace titan::train {

ckpt::Status check_precision(const ckpt::Manifest& manifest, const std::string& path, bool moments) {
  std::vector<std::string> slots = {""};
  if (moments) slots.insert(slots.end(), {ckpt::kExpAvg, ckpt::kExpAvgSq, ckpt::kEma});
  for (std::uint32_t i = 0; i < manifest.parameters.size(); ++i) {
    for (const std::string& slot : slots) {
      const ckpt::StoredTensor* stored = manifest.stored({i, slot});
      if (stored == nullptr || stored->dtype == ckpt::DType::kF32) continue;
      const std::string& name = manifest.parameters[i].meta.name;
      return ckpt::incompatible(path + ": " + (slot.empty() ? name : name + "." + slot) + " is stored as " +
                                std::string(ckpt::dtype_name(stored->dtype)) + ": a resume needs float32")
          .with_hint(
              "an import of another program's checkpoint widens it: convert it again; or start a new run from its "
              "weights: --init-from " +
              ckpt::shell_word(path));
    }
  }
  return {};
}

}  // namespace titan::train
