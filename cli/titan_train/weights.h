#pragma once
#include "ckpt/io/weight_source.h"

namespace titan::cli {

/// Opens weights of every format that this program reads.
ckpt::WeightOpener weight_opener();

}  // namespace titan::cli
