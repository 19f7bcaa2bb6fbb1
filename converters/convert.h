#pragma once
// `convert`: converts a checkpoint from one format to another.
#include <string>

#include "converters/export.h"
#include "converters/import.h"

namespace titan::convert {

struct ConvertOptions {
  std::string source;  ///< a Titan checkpoint (folder, RUN@step, RUN@latest), or a foreign one
  std::string destination;
  std::string from, to;  ///< "titan", "hf", ...; empty: `from` is detected; `to` is "titan", for a foreign source only
  bool force = false, dry_run = false;
  std::vector<std::string> skip;
  recipe::NameRules rules;  ///< renames of tensors of a foreign source, and its row order
  std::optional<DType> dtype;
  bool q8_0 = false;  ///< quantise to q8_0 (GGUF)
  std::optional<std::uint64_t> max_shard_bytes;
  bool untie = false, lr_from_config = false;
  bool averages = false;  ///< convert the parameters' EMA that a Titan run kept, in place of its parameters
  std::optional<DcpNames> names;
  std::optional<Settings> config;  ///< from a configuration file that the user named
  std::string created, writer;     ///< for the manifest
  Progress progress;
};

/// Checks that conversions use the configuration key `key`. \error kInvalid, naming the nearest key
Status check_config_key(const std::string& key);

/// Converts the checkpoint; the destination appears complete or not at all. \error kInvalid (formats, names),
/// kNotFound, kUnsupported, kIncompatible, kCorrupt, kLocked, kFailed
Result<ConversionReport> convert_checkpoint(Fs& fs, const ConvertOptions& options);

}  // namespace titan::convert
