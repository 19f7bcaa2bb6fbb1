#pragma once
// A small configuration to begin with.
#include <cstdint>
#include <string>

namespace titan::recipe {

struct Starter {
  std::string weights;           ///< folder to start from; empty: a small model of its own
  std::uint64_t vocabulary = 0;  ///< of these weights; 256 stands for the bytes of a text
};

/// About ten settings as TOML, each with a comment. Without weights the text is configs/own-text.toml.
std::string starter_toml(const Starter& starter = {});

}  // namespace titan::recipe
