#pragma once
// Places of a checkpoint that are damaged or lost, as text. Pure.
#include <string>

#include "ckpt/read/verifier.h"

namespace titan::cli {

/// "model/shard-00000.h5: leaf 17 of layers.7.w2.weight, 1,048,576 bytes at offset 17,825,792: checksum ...".
std::string damage_line(const ckpt::Damage& damage);

}  // namespace titan::cli
