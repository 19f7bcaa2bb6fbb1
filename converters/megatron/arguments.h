#pragma once
// The arguments of a Megatron run, stored in its checkpoints as an argparse.Namespace. Attributes are read; nothing is
// called.
#include <cstdint>
#include <optional>

#include "converters/hf/made_config.h"
#include "converters/megatron/schedule.h"
#include "converters/torch_save/torch_file.h"
#include "recipe/model/dims.h"

namespace titan::convert::megatron {

/// The arguments that Titan uses.
struct Arguments {
  recipe::ModelDims dims;    ///< vocab_size is the padded size; 0 if unknown
  bool interleaved = false;  ///< rows of heads are in interleaved order, as Titan's are; else in rotate-half order
  TextSettings texts;
  std::optional<std::uint64_t> samples, batch;  ///< samples trained so far, and samples per step
  std::optional<double> clip;                   ///< the norm to which gradients are clipped; 0: no clipping
  std::uint64_t data_ranks = 1;
  Status why_optimizer;  ///< not ok: the run cannot be resumed; names the argument
  Scheduler scheduler;   ///< only the values that the scheduler's state in a checkpoint lacks
};

/// Reads the Namespace `args`. \error kUnsupported: a model that Titan cannot express, naming the argument;
/// kIncompatible: an argument of another kind
Result<Arguments> read_arguments(const TorchFile& file, NodeId args);

/// An attribute of a dict or of a Namespace's state; kNoNode if it is absent or None.
NodeId attribute(const Pickle& pickle, NodeId dict, const char* key);

}  // namespace titan::convert::megatron
