#pragma once
// The little state beside the tensors.
#include <cstdint>
#include <map>
#include <string>

namespace titan {

/// Where a training is.
struct State {
  std::uint64_t step = 0;    ///< optimizer steps that are done
  std::uint64_t tokens = 0;  ///< tokens that were trained on
  std::uint64_t seed = 0;    ///< of the run
  double seconds = 0;        ///< of training, over all its starts
  std::string program;       ///< name and version of the trainer: "my-trainer 1.2"
  /// Dotted key -> the value as TOML writes it: {"model.dim", "128"}, {"job.description", "\"a try\""}. The keys are
  /// free; titan-train knows those of its own configuration.
  std::map<std::string, std::string> settings;
};

}  // namespace titan
