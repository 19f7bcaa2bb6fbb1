#pragma once
// JSON files beside a checkpoint, which may be something else.
#include <string>

#include "ckpt/base/fs.h"
#include "ckpt/format/json_value.h"

namespace titan::convert {

/// Reads and parses the JSON at `path`, also behind a link, of at most 4 MiB. \error kNotFound; kUnsupported: it is no
/// file, or one of another kind (a web page), which is named; kCorrupt: it cannot be parsed; kFailed
ckpt::Result<ckpt::JsonValue> read_json_file(ckpt::Fs& fs, const std::string& path);

/// As much of the value as a message has room for.
std::string short_text(const ckpt::JsonValue& value);

}  // namespace titan::convert
