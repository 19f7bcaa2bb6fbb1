#pragma once
// The history of a run as its checkpoints store it: its attempts, with notes. Its size is bounded, however often the
// run started or skipped a step.
#include <cstddef>
#include <string>
#include <vector>

#include "ckpt/model/train_state.h"

namespace titan::ckpt {

inline constexpr std::size_t kFirstAttempts = 100, kLastAttempts = 900, kNotedSkips = 10;

/// Appends `attempt`, then keeps only the first 100 and the last 900 attempts. Attempt numbers do not change.
void add_attempt(std::vector<Attempt>& attempts, Attempt attempt);

/// "attempts 101 to 9100 are not kept"; empty if none were dropped.
std::string attempts_gone(const std::vector<Attempt>& attempts);

/// Notes of one attempt about non-finite steps: the first ten, then one note with a count and the latest of the others.
class SkipNotes {
 public:
  /// Adds `note` to `notes`: the attempt's notes, the same list at each call. Other code may also add notes to it.
  void add(std::vector<std::string>& notes, const std::string& note);

 private:
  std::size_t count_ = 0;
  std::size_t place_ = 0;  ///< index of the note with the count
};

}  // namespace titan::ckpt
