#pragma once
// The state of a training run without tensors.
#include <cstdint>
#include <map>
#include <string>

namespace titan {

/// Progress and settings of a training run.
struct State {
  std::uint64_t step = 0;    ///< optimizer steps done
  std::uint64_t tokens = 0;  ///< tokens trained on
  std::uint64_t seed = 0;    ///< seed of the run
  double seconds = 0;        ///< training time in seconds, over all starts
  std::string program;       ///< name and version of the trainer: "my-trainer 1.2"
  /// Dotted key -> value as TOML text: {"model.dim", "128"}, {"job.description", "\"a try\""}. Any key is allowed;
  /// titan-train reads the keys of its own configuration.
  std::map<std::string, std::string> settings;
};

}  // namespace titan
