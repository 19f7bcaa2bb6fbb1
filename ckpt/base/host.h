#pragma once
// Environment variables and wall clock.
#include <chrono>
#include <cstdlib>
#include <optional>
#include <string>

namespace titan::ckpt {

/// The value of the environment variable `name`; nullopt if it is not set.
inline std::optional<std::string> environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

/// Wall-clock time in seconds since 1970-01-01 UTC.
inline double seconds_since_epoch() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace titan::ckpt
