#pragma once
// Names that nobody else uses: of a save's temporary, of a step in the trash, of a job's ranks.
#include <string>

namespace titan::ckpt {

/// 12 hex digits that no other call returns, in this process or another. Throws where the system gives no randomness:
/// a guessable id would let two runs share names.
std::string random_id();

}  // namespace titan::ckpt
