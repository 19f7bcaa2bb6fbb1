#pragma once
// The non-tensor state of a Megatron checkpoint: common.pt, or the item that replaces it in newer versions.
#include <optional>

#include "converters/dcp/reader.h"
#include "converters/megatron/arguments.h"
#include "converters/torch_save/trained_source.h"

namespace titan::convert::megatron {

/// AdamW's settings: for parameters with weight decay, and for norms and biases, which have a separate group.
struct OptimizerState {
  GroupValues decayed;
  std::optional<GroupValues> undecayed;
  double count = 0;  ///< Adam's `step`
};

/// The non-tensor state; members are empty if the checkpoint lacks them.
struct CommonState {
  std::optional<Arguments> arguments;
  std::optional<std::uint64_t> step;
  std::optional<OptimizerState> optimizer;
  std::optional<Scheduler> scheduler;
  Status why_optimizer;  ///< why the optimizer cannot be read: kUnsupported naming its form, kIncompatible, kCorrupt
};

inline constexpr const char* kCommonFile = "common.pt";

/// Reads the state of the checkpoint at `reader`'s path. \error kNotFound: there is none; kUnsupported: a model that
/// Titan cannot express; kIncompatible: an argument of another kind; kCorrupt, kFailed
Result<CommonState> read_common(Fs& fs, const dcp::DcpReader& reader);

}  // namespace titan::convert::megatron
