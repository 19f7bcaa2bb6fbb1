#pragma once
// The arguments of a Megatron run, which its checkpoints carry: an argparse.Namespace, of which attributes are read and
// nothing is called.
#include <cstdint>
#include <optional>
#include <string>

#include "converters/hf/made_config.h"
#include "converters/megatron/schedule.h"
#include "converters/torch_save/torch_file.h"
#include "recipe/model/dims.h"

namespace titan::convert::megatron {

struct Arguments {
  recipe::ModelDims dims;    ///< with the vocabulary as it is padded; 0 where they do not say it
  bool interleaved = false;  ///< RoPE rotates neighbours, as ours does
  TextSettings texts;
  std::optional<std::uint64_t> samples, batch;  ///< trained so far, and of a step
  std::uint64_t data_ranks = 1;
  Status why_optimizer;  ///< not ok: a run does not go on here, by the argument that says so
  Scheduler scheduler;   ///< what its state in a checkpoint leaves out
};

/// Reads the Namespace `args`. \error kUnsupported: a model that ours is not, by the argument that says so;
/// kIncompatible: an argument of another kind
Result<Arguments> read_arguments(const TorchFile& file, dcp::NodeId args);

/// An attribute of a dict or of a Namespace's state; kNoNode where it is absent or None.
dcp::NodeId attribute(const dcp::Pickle& pickle, dcp::NodeId dict, const char* key);

}  // namespace titan::convert::megatron
