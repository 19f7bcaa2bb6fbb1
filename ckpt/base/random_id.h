#pragma once
// Unique ids, for example for the name of a save's temporary folder.
#include <cstdint>
#include <string>

namespace titan::ckpt {

/// An unpredictable random number. Throws if the system gives no randomness: with predictable numbers two runs could
/// use the same names.
std::uint64_t random_number();

/// 12 random hex digits, unique across calls and processes. Throws as random_number() does.
std::string random_id();

}  // namespace titan::ckpt
