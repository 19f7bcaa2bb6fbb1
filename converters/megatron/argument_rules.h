#pragma once
// The arguments of Megatron that change what a model computes, or how it is trained, beyond its sizes: one table.
// \source megatron-core 0.16.1, transformer/transformer_config.py; Megatron-LM, training/arguments.py
#include <span>

#include "converters/megatron/arguments.h"

namespace titan::convert::megatron {

/// What an argument must be. Where the run does not say it, or says None, it is.
struct ArgumentRule {
  const char* name;
  const char* value;    ///< this text or number; kUnset: False, 0 or empty; kSet: none of these
  bool of_run = false;  ///< the model is ours in any case, but a run does not go on here
};
inline constexpr const char *kUnset = "", *kSet = "set";

std::span<const ArgumentRule> argument_rules();

/// Checks those of the run, or those of the model. `state` holds the arguments. \error kUnsupported naming the first
/// that is otherwise
Status check_rules(const TorchFile& file, dcp::NodeId state, bool of_run);

/// Whether Python takes an argument for true; an absent one is not.
bool is_set(const dcp::Pickle& pickle, dcp::NodeId node);

}  // namespace titan::convert::megatron
