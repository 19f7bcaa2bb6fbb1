#pragma once
// Shared by the configuration tests.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "recipe/keys/loader.h"

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

}  // namespace titan::recipe
