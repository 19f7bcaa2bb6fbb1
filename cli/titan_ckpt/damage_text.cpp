#include "cli/titan_ckpt/damage_text.h"

#include "cli/kit/text.h"
#include "cli/kit/units.h"

namespace titan::cli {

std::string damage_line(const ckpt::Damage& damage) {
  std::string text = escape(damage.file) + ": " + escape(damage.unit);
  if (damage.unit == "leaf") text += " " + std::to_string(damage.leaf);
  if (!damage.tensor.empty()) text += " of " + escape(damage.tensor);
  if (damage.bytes > 0) text += ", " + format_count(damage.bytes) + " bytes at offset " + format_count(damage.offset);
  if (!damage.detail.empty()) text += ": " + escape(damage.detail);
  return text;
}

}  // namespace titan::cli
