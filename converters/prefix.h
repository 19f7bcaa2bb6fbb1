#pragma once
// What programs put before Hugging Face's names: "language_model.", "model." once more, nothing at all.
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ckpt/base/result.h"

namespace titan::convert {

/// Where "layers." begins in `name`, at its start or behind a dot, such that `known` knows the rest from there on.
std::optional<std::size_t> layers_at(std::string_view name, const std::function<bool(std::string_view rest)>& known);

/// What stands before "layers.N." in `names` of layers of a model, "model." as a rule; the usual one where it is among
/// several, and where there are no layers. \error kIncompatible: there are several others; `path` names the checkpoint
ckpt::Result<std::string> prefix_of(const std::string& path, const std::vector<std::string>& names);

/// Refuses `path`, whose names begin with `prefixes` (two or more): one of the models is to be chosen. \error
/// kIncompatible always
ckpt::Status several_models(const std::string& path, const std::vector<std::string>& prefixes);

/// `name` as Hugging Face has it, where `prefix` stands in the place of "model.".
std::string behind_prefix(const std::string& name, const std::string& prefix);

}  // namespace titan::convert
