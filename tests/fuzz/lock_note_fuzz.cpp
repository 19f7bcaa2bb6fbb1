// Any bytes as run.lock: a note is read or refused, and one that was read is written as a text that reads back as the
// same note.
#include <string>

#include "ckpt/lock/run_lock.h"
#include "tests/fuzz/checkpoint_input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace titan::ckpt;
  const auto owner = decode_lock_owner({reinterpret_cast<const char*>(data), size});
  if (!owner.ok()) {
    titan::fuzz::require(owner.status().code == Code::kCorrupt && !owner.status().message.empty());
    return 0;
  }
  const auto again = decode_lock_owner(encode_lock_owner(*owner));
  titan::fuzz::require(again.ok() && *again == *owner);
  return 0;
}
