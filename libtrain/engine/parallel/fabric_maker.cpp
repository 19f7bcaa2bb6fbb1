#include "libtrain/engine/parallel/fabric_maker.h"

#include <utility>

namespace titan::train {
namespace {

FabricMaker& chosen_maker() {
  static FabricMaker maker;
  return maker;
}

}  // namespace

void use_fabrics(FabricMaker maker) { chosen_maker() = std::move(maker); }
const FabricMaker& fabric_maker() { return chosen_maker(); }

}  // namespace titan::train
