#pragma once
// One table of Megatron's arguments, apart from sizes, that change what a model computes or how it is trained.
// \source megatron-core 0.16.1, transformer/transformer_config.py; Megatron-LM, training/arguments.py
#include <span>

#include "converters/megatron/arguments.h"

namespace titan::convert::megatron {

/// The value that an argument must have. A missing argument or None satisfies the rule.
struct ArgumentRule {
  const char* name;
  const char* value;    ///< this text or number; kUnset: False, 0 or empty; kSet: none of these
  bool of_run = false;  ///< with another value the model can be read, but the run cannot be resumed
};
inline constexpr const char *kUnset = "", *kSet = "set";

std::span<const ArgumentRule> argument_rules();

/// Checks the rules for the run (`of_run`) or for the model. `state` has the arguments. \error kUnsupported naming the
/// first argument with another value
Status check_rules(const TorchFile& file, dcp::NodeId state, bool of_run);

/// Whether an argument is true in Python; an absent one is not.
bool is_set(const dcp::Pickle& pickle, dcp::NodeId node);

}  // namespace titan::convert::megatron
