#pragma once
// `titan-train sample`: text that a checkpoint writes after a prompt, shown while it is written.
#include <optional>
#include <string>
#include <vector>

#include "cli/kit/verb.h"
#include "libtrain/engine/train/generation.h"

namespace titan::cli {

struct SampleReport {
  std::string checkpoint, id, dtype;
  std::uint64_t step = 0;
  train::GenerationOptions options;
  train::GenerationReport generation;
  std::optional<std::string> prompt, text;  ///< if the prompt of a byte model was given as text
  bool stopped = false;                     ///< by --stop
  bool most_given = false;                  ///< --max-new-tokens was given
};

/// One line for stderr: how much was written, how fast, and what ended it.
std::string sample_line(const SampleReport& report);
std::string sample_json(const SampleReport& report);
/// What ended the text: "max_new_tokens", "end_token", "stop".
const char* sample_end(const SampleReport& report);

}  // namespace titan::cli
