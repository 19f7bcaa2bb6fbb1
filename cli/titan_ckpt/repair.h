#pragma once
// `titan-ckpt verify --repair`.
#include <string>

#include "ckpt/ops/repair.h"
#include "cli/kit/verb.h"

namespace titan::cli {

/// Whether flags of a repair were typed.
bool asks_for_repair(const Command& command);
Answer run_repair(const Request& request);

std::string repair_text(const ckpt::RepairReport& report, const TextStyle& style);
std::string repair_json(const ckpt::RepairReport& report);

}  // namespace titan::cli
