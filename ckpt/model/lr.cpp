#include "ckpt/model/lr.h"

namespace titan::ckpt {

const char* phase_kind_name(PhaseKind kind) {
  switch (kind) {
    case PhaseKind::kLinear: return "linear";
    case PhaseKind::kSqrt: return "sqrt";
    case PhaseKind::kCosine: return "cosine";
    case PhaseKind::kConstant: return "constant";
  }
  return "constant";
}

}  // namespace titan::ckpt
