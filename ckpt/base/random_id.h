#pragma once
// Ids that nobody else has: for a save's temporary, a step in the trash, a job.
#include <string>

namespace titan::ckpt {

/// 12 hex digits that no other call returns, in this process or another. Throws where the system gives no randomness:
/// a guessable id would let two runs share names.
std::string random_id();

}  // namespace titan::ckpt
