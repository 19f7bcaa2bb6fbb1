#pragma once
// Prints the report of `titan-ckpt verify`.
#include <string>

#include "ckpt/ops/verify.h"
#include "cli/kit/verb.h"

namespace titan::cli {

std::string verify_text(const ckpt::VerifySummary& summary, const TextStyle& style);
std::string verify_json(const ckpt::VerifySummary& summary);

/// A damaged place: "model/shard-00000.h5: leaf 17 of layers.7.w2.weight, 1,048,576 bytes at offset 17,825,792: ...".
std::string damage_line(const ckpt::Damage& damage);

}  // namespace titan::cli
