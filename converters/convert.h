#pragma once
// `convert`: from one format into another.
#include <string>

#include "converters/export.h"
#include "converters/import.h"

namespace titan::convert {

struct ConvertOptions {
  std::string source;  ///< a checkpoint of ours (folder, RUN@step, RUN@latest) or of another format
  std::string destination;
  std::string from, to;  ///< "titan", "hf", ...; empty: detected, and "titan" where the source is foreign
  bool force = false, dry_run = false;
  std::vector<std::string> skip;
  recipe::NameRules rules;  ///< renames over the names of a foreign source, and how its rows lie
  std::optional<DType> dtype;
  bool q8_0 = false;  ///< quantise (gguf)
  std::optional<std::uint64_t> max_shard_bytes;
  bool untie = false, lr_from_config = false;
  bool averages = false;  ///< that a run of ours kept, in place of its parameters
  std::optional<DcpNames> names;
  std::optional<Settings> config;  ///< of a configuration file that the user named
  std::string created, writer;     ///< of the manifest
  Progress progress;
};

/// Checks that `key` is one that a conversion reads out of a configuration. \error kInvalid with the nearest
Status check_config_key(const std::string& key);

/// Converts whole or not at all. \error kInvalid (formats, names), kNotFound, kUnsupported, kIncompatible, kCorrupt,
/// kLocked, kFailed
Result<ConversionReport> convert_checkpoint(Fs& fs, const ConvertOptions& options);

}  // namespace titan::convert
