#pragma once
// A folder of safetensors files, or one such file, opened for reading.
#include "converters/format.h"

namespace titan::convert {

inline constexpr const char* kHfWeights = "model.safetensors";
inline constexpr const char* kHfIndex = "model.safetensors.index.json";
inline constexpr const char* kHfConfig = "config.json";
inline constexpr std::uint64_t kMaxHfConfigBytes = std::uint64_t{4} << 20;
inline constexpr const char* kHfTokenizer = "tokenizer.json";
/// What a verification of safetensors cannot say.
inline constexpr const char* kSafetensorsNote =
    "safetensors files have no checksums: structure and sizes are right and every byte can be read, but a changed "
    "value cannot be found";

Result<bool> probe_hf(Fs& fs, const std::string& path);
/// Says what is wrong with a Hugging Face folder that probe_hf refuses. \error kNotFound
Status near_miss_hf(Fs& fs, const std::string& path);
Result<std::unique_ptr<ForeignCheckpoint>> open_hf(Fs& fs, const std::string& path);
/// Files that hold a tokenizer, alone or with others.
bool is_vocabulary(const std::string& name);
/// Files of tokenizers and of text generation, and the configuration.
bool is_companion(const std::string& name);
/// Those but the configuration, which a writer makes anew.
bool is_further_companion(const std::string& name);

/// Writes a checkpoint of ours as a folder that transformers loads. \error see Format::create
Result<std::unique_ptr<ForeignWriter>> create_hf(Fs& fs, const CheckpointReader& source, const ExportOptions& options);

}  // namespace titan::convert
