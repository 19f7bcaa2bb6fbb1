#pragma once
// A small configuration for a first run.
#include <cstdint>
#include <string>

namespace titan::recipe {

/// What the configuration is for.
struct Starter {
  std::string weights;           ///< folder with weights to start from; empty: a small new model
  std::uint64_t vocabulary = 0;  ///< vocabulary size of these weights; 256: the byte tokenizer
};

/// 12 to 15 settings as TOML, each with a comment. Without weights the text is that of configs/own-text.toml.
std::string starter_toml(const Starter& starter = {});

}  // namespace titan::recipe
