#pragma once
// The table of Megatron's arguments, except sizes, that change what a model computes or how it is trained, with the
// values that Titan supports.
// \source megatron-core 0.16.1, transformer/transformer_config.py; Megatron-LM, training/arguments.py
#include <span>

#include "converters/megatron/arguments.h"

namespace titan::convert::megatron {

/// The value that an argument must have. A missing argument or None satisfies the rule.
struct ArgumentRule {
  const char* name;
  const char* value;    ///< a text or number; kUnset: False, 0 or empty; kSet: anything except these
  bool of_run = false;  ///< true: with another value the model can still be read, but the run cannot be resumed
};
inline constexpr const char *kUnset = "", *kSet = "set";

/// All rules.
std::span<const ArgumentRule> argument_rules();

/// Checks the rules whose ArgumentRule::of_run equals the parameter `of_run`. `state` is the dict of arguments. \error
/// kUnsupported naming the first argument with another value
Status check_rules(const TorchFile& file, NodeId state, bool of_run);

/// Whether the argument at `node` is true in Python; false if it is absent.
bool is_set(const Pickle& pickle, NodeId node);

}  // namespace titan::convert::megatron
