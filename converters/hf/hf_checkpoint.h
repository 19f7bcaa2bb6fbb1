#pragma once
// A folder of safetensors files, or one such file, opened for reading.
#include "converters/format.h"

namespace titan::convert {

inline constexpr const char* kHfWeights = "model.safetensors";
inline constexpr const char* kHfIndex = "model.safetensors.index.json";
inline constexpr const char* kHfConfig = "config.json";
inline constexpr std::uint64_t kMaxHfConfigBytes = std::uint64_t{4} << 20;
inline constexpr const char* kHfTokenizer = "tokenizer.json";
/// The note on what verifying safetensors cannot find.
inline constexpr const char* kSafetensorsNote =
    "safetensors files have no checksums: structure and sizes are right and every byte can be read, but a changed "
    "value cannot be found";

/// Format::probe of the format "hf".
Result<bool> probe_hf(Fs& fs, const std::string& path);
/// Format::near_miss of the format "hf": the error for a folder with weights that probe_hf() does not recognise. \error
/// kNotFound
Status near_miss_hf(Fs& fs, const std::string& path);
/// Opens a folder or a single file. \error see Format::open
Result<std::unique_ptr<ForeignCheckpoint>> open_hf(Fs& fs, const std::string& path);
/// Whether `name` is a file of a tokenizer's vocabulary.
bool is_vocabulary(const std::string& name);
/// Whether `name` is a file of a tokenizer or of text generation, or the configuration.
bool is_companion(const std::string& name);
/// Like is_companion(), without the configuration, which a writer makes itself.
bool is_further_companion(const std::string& name);

/// Writes a Titan checkpoint as a folder that transformers loads. \error see Format::create
Result<std::unique_ptr<ForeignWriter>> create_hf(Fs& fs, const CheckpointReader& source, const ExportOptions& options);

}  // namespace titan::convert
