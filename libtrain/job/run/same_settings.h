#pragma once
// Checks that all ranks have the same settings, since each rank reads the configuration itself, perhaps from its own
// copy.
#include "ckpt/base/result.h"
#include "recipe/change/drift.h"

namespace titan::recipe {
struct RunPlan;
}

namespace titan::train {

class Control;

/// The rows that must be equal on all ranks: `accepted`, the rows of `resolved` that determine what each rank does and
/// when, and the content of a schedule file. Paths, threads and timeouts may differ by host.
ckpt::Settings shared_settings(const ckpt::Settings& accepted, const recipe::Config& resolved,
                               const recipe::RunPlan& plan);

/// Compares `mine` with rank 0's on every rank; all return the same. \error kIncompatible: names the first rank that
/// differs, and each different row with both values
ckpt::Status agree_on_settings(Control& all, const ckpt::Settings& mine);

}  // namespace titan::train
