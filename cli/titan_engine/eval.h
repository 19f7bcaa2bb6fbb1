#pragma once
// `titan-train eval`: the loss of a checkpoint on a token file.
#include <string>

#include "cli/kit/verb.h"
#include "libtrain/engine/train/evaluation.h"

namespace titan::cli {

struct EvalReport {
  std::string checkpoint, id, tokens_file, logits_file;
  std::uint64_t step = 0, left_over = 0, row_length = 0;
  std::string length_from;  ///< the checkpoint's key that set row_length; empty: the flag or the file did
  train::EvaluationReport evaluation;
};

std::string eval_text(const EvalReport& report, const Palette& palette);
std::string eval_json(const EvalReport& report);

}  // namespace titan::cli
