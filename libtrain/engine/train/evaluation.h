#pragma once
// The loss of a stored model on rows of tokens, computed in one process, for a model saved on any layout.
#include <cstdint>
#include <functional>
#include <span>

#include "ckpt/read/weight_source.h"
#include "libtrain/job/data/token_rows.h"

namespace titan::recipe {
struct ModelDims;
struct NameRules;
}  // namespace titan::recipe

namespace titan::train {

struct EvaluationReport {
  std::uint64_t rows = 0, tokens = 0;
  std::uint64_t predictions = 0;  ///< number of predicted tokens: every token of a row except the first
  double loss = 0;                ///< nats per prediction; meaningless without predictions
};

/// Takes the logits of one row, fp32 [T, vocabulary], in row order.
using LogitsSink = std::function<ckpt::Status(std::span<const float> row)>;

/// Computes in float32 with `threads` threads; weights of other types are widened or rounded to it. `sink` may be
/// empty. `rules` map the names of the weights. \error kIncompatible (weights that are not those of `dims`), kInvalid
/// (token ids), kCorrupt, kFailed, or the sink's
ckpt::Result<EvaluationReport> evaluate(const ckpt::WeightSource& source, const recipe::ModelDims& dims,
                                        const TokenRows& rows, int threads, const LogitsSink& sink,
                                        const recipe::NameRules& rules);

}  // namespace titan::train
