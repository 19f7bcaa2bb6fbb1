#pragma once
// Shared by the configuration tests.
#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "recipe/keys/loader.h"
#include "recipe/model/dims.h"
#include "recipe/plan/run_config.h"

namespace titan::recipe {

/// As load_run_config, on a text named run.toml.
inline Result<LoadedConfig> load_text(const std::string& text, const std::vector<std::string>& flags) {
  TITAN_ASSIGN_OR_RETURN(LoadedConfig loaded, load_config_text(text, "run.toml", flags));
  TITAN_RETURN_IF_ERROR(check_model(loaded.config));
  return loaded;
}

/// Loads the text; fails the test when it does not load.
inline LoadedConfig load_ok(const std::string& text, const std::vector<std::string>& flags = {}) {
  Result<LoadedConfig> loaded = load_text(text, flags);
  EXPECT_TRUE(loaded.ok()) << loaded.status().to_string();
  return loaded.ok() ? std::move(loaded).value() : LoadedConfig{};
}

/// The Status of a text that must not load.
inline Status load_error(const std::string& text, const std::vector<std::string>& flags = {}) {
  const Result<LoadedConfig> loaded = load_text(text, flags);
  EXPECT_FALSE(loaded.ok()) << "loaded: " << text;
  return loaded.ok() ? Status{} : loaded.status();
}

/// "training.steps=3 ..." as flags.
inline std::vector<std::string> split(const std::string& settings) {
  std::vector<std::string> flags;
  for (std::size_t at = 0; at < settings.size();) {
    const std::size_t end = std::min(settings.find(' ', at), settings.size());
    flags.push_back("--" + settings.substr(at, end - at));
    at = end + 1;
  }
  return flags;
}

inline ModelDims dims_of(const std::string& settings) {
  const Result<ModelDims> dims = model_dims(load_ok("", split(settings)).config);
  EXPECT_TRUE(dims.ok()) << dims.status().to_string();
  return dims.ok() ? *dims : ModelDims{};
}

}  // namespace titan::recipe
