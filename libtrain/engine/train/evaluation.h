#pragma once
// Evaluates a stored model: its loss on rows of tokens, computed in one process, whatever layout it was saved on.
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

/// The result of evaluate().
struct EvaluationReport {
  std::uint64_t rows = 0, tokens = 0;
  std::uint64_t predictions = 0;  ///< number of predicted tokens: every token of a row except the first
  double loss = 0;                ///< mean in nats per predicted token; undefined if there are none
};

/// Takes the logits of one row, fp32 [T, vocabulary], in row order.
using LogitsSink = std::function<ckpt::Status(std::span<const float> row)>;

/// Computes the loss of `source`, a model of dimensions `dims`, on `rows`. Computes in fp32 with `threads` threads;
/// weights of other types are converted. `rules` map the names of the weights to Titan's. `sink` may be empty. \error
/// kIncompatible (weights that are not those of `dims`), kInvalid (a token id outside the vocabulary; `rules` that a
/// Titan checkpoint cannot have), kCorrupt, kFailed, the errors of `sink`
ckpt::Result<EvaluationReport> evaluate(const ckpt::WeightSource& source, const recipe::ModelDims& dims,
                                        const TokenRows& rows, int threads, const LogitsSink& sink,
                                        const recipe::NameRules& rules);

}  // namespace titan::train
