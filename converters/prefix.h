#pragma once
// Prefixes in front of Hugging Face's tensor names: "language_model.", a second "model.", or none.
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ckpt/base/result.h"

namespace titan::convert {

/// The offset of "layers." in `name`, at its start or after a dot, such that `known` accepts the name from there on.
std::optional<std::size_t> layers_at(std::string_view name, const std::function<bool(std::string_view rest)>& known);

/// The prefix before "layers.N." in `names`: normally "model.", which is also returned if it is one of several, or if
/// there are no layers. `path` names the checkpoint in messages. \error kIncompatible: there are several prefixes
/// without "model."
ckpt::Result<std::string> prefix_of(const std::string& path, const std::vector<std::string>& names);

/// The error for `path`, whose names begin with several `prefixes`: the user must choose one of the models. Always
/// kIncompatible.
ckpt::Status several_models(const std::string& path, const std::vector<std::string>& prefixes);

/// Hugging Face's form of `name`, with `prefix` replaced by "model.".
std::string after_prefix(const std::string& name, const std::string& prefix);

}  // namespace titan::convert
