#pragma once
// Shared by the configuration tests.
#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "recipe/keys/loader.h"
#include "recipe/model/dims.h"

namespace titan::recipe {

/// Loads text named run.toml; fails the test when it does not load.
inline LoadedConfig load_ok(const std::string& text, const std::vector<std::string>& flags = {}) {
  Result<LoadedConfig> loaded = load_config_text(text, "run.toml", flags);
  EXPECT_TRUE(loaded.ok()) << loaded.status().to_string();
  return loaded.ok() ? std::move(loaded).value() : LoadedConfig{};
}

/// The Status of a text that must not load.
inline Status load_error(const std::string& text, const std::vector<std::string>& flags = {}) {
  const Result<LoadedConfig> loaded = load_config_text(text, "run.toml", flags);
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
