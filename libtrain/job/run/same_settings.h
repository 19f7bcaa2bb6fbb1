#pragma once
// Checks that all ranks have the same settings, since each rank reads its configuration itself, perhaps from a copy on
// its own machine.
#include "ckpt/base/result.h"
#include "recipe/change/drift.h"

namespace titan::recipe {
struct RunPlan;
}

namespace titan::train {

class Control;

/// The rows that must be equal on all ranks: `accepted`, the rows of `resolved` that decide what each rank does and
/// when, and the contents of a schedule's file. Paths, threads and deadlines may differ between machines.
ckpt::Settings shared_settings(const ckpt::Settings& accepted, const recipe::Config& resolved,
                               const recipe::RunPlan& plan);

/// Compares `mine` with rank 0's on every rank; all return the same. \error kIncompatible: names the first rank that
/// differs, and each different row with both values
ckpt::Status agree_on_settings(Control& all, const ckpt::Settings& mine);

}  // namespace titan::train
