#pragma once
// Each rank reads configuration and weights on its own, perhaps from copies on its own machine: do all of them mean the
// same run?
#include "ckpt/base/result.h"
#include "recipe/change/drift.h"

namespace titan::recipe {
struct RunPlan;
}

namespace titan::train {

class Control;

/// The rows that must be equal on all ranks: `accepted`, and of the resolved configuration what decides who does what
/// and when, and the contents of a schedule's file. Places on disk, threads and deadlines are a machine's own.
ckpt::Settings shared_settings(const ckpt::Settings& accepted, const recipe::Config& resolved,
                               const recipe::RunPlan& plan);

/// Compares `mine` with rank 0's on every rank; all return the same. \error kIncompatible: naming the first rank that
/// differs, and each of its rows with both values
ckpt::Status agree_on_settings(Control& all, const ckpt::Settings& mine);

}  // namespace titan::train
