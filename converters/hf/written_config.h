#pragma once
// The config.json that an export writes.
#include <string>
#include <vector>

#include "ckpt/format/json_value.h"
#include "converters/format.h"

namespace titan::convert {

using ckpt::JsonValue;
using ckpt::parse_json;

/// A config.json, and what is known of the context length in it.
struct WrittenConfig {
  JsonValue json;
  std::uint64_t context = 0;   ///< context length in tokens
  bool context_known = false;  ///< false: the model's context length is not known, and `context` is a guess
};

/// The configuration of `model`, whose weights have type `weights`, based on the config.json among `options.companions`
/// if there is one. Begin- and end-of-text tokens come from that config.json, generation_config.json or the tokenizer.
/// `rows` are the checkpoint's settings; `notes` gets messages for the user. \error kUnsupported: no architecture of
/// transformers has the parts of `model`; kCorrupt: a companion; kFailed
Result<WrittenConfig> written_config(Fs& fs, const ModelDims& model, const Settings& rows, DType weights,
                                     const ExportOptions& options, std::vector<std::string>& notes);

/// The context length that written_config() would write. If it is a guess, `notes` says so and calls it `key`.
Result<std::uint64_t> written_context(Fs& fs, const ModelDims& model, const Settings& rows,
                                      const ExportOptions& options, const char* key, std::vector<std::string>& notes);

}  // namespace titan::convert
