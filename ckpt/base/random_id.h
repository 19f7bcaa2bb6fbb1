#pragma once
// Ids that nobody else has: for a save's temporary, a step in the trash, a job.
#include <cstdint>
#include <string>

namespace titan::ckpt {

/// A number that nobody can guess. Throws where the system gives no randomness: a guessable one would let two runs
/// share names.
std::uint64_t random_number();

/// 12 hex digits that no other call returns, in this process or another. Throws as
/// random_number()
std::string random_id();

}  // namespace titan::ckpt
