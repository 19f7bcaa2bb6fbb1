#pragma once
// The config.json that an export writes.
#include <string>
#include <vector>

#include "ckpt/format/json_value.h"
#include "converters/format.h"

namespace titan::convert {

using ckpt::JsonValue;
using ckpt::parse_json;

/// The configuration of `model`, whose weights are `weights`, made from the one among `options.companions` where there
/// is one. `rows` are the checkpoint's settings; `notes` gets what a user should know. \error kCorrupt: of that one;
/// kFailed
Result<JsonValue> written_config(Fs& fs, const ModelDims& model, const Settings& rows, DType weights,
                                 const ExportOptions& options, std::vector<std::string>& notes);

}  // namespace titan::convert
