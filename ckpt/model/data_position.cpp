#include "ckpt/model/data_position.h"

namespace titan::ckpt {

std::uint64_t last_epoch(const DataPosition& position) {
  if (position.samples <= position.epoch_base || position.samples_per_epoch == 0) return position.first_epoch;
  return position.first_epoch + (position.samples - position.epoch_base - 1) / position.samples_per_epoch;
}

}  // namespace titan::ckpt
