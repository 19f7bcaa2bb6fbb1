#pragma once
// What a checkpoint keeps of the history of its run: so much, however often the run was started and skipped a step.
#include <cstddef>
#include <string>
#include <vector>

#include "ckpt/model/train_state.h"

namespace titan::ckpt {

inline constexpr std::size_t kFirstAttempts = 100, kLastAttempts = 900, kNotedSkips = 10;

/// Appends `attempt`. Of more than the first 100 and the last 900 the oldest between them go; numbers stay.
void add_attempt(std::vector<Attempt>& attempts, Attempt attempt);

/// "attempts 101 to 9100 are not kept"; empty where all are.
std::string attempts_gone(const std::vector<Attempt>& attempts);

/// Notes of one attempt on steps that were not finite: the first ten, then a count with the last.
class SkipNotes {
 public:
  /// `notes`: of the attempt, the same at each call; others may add theirs.
  void add(std::vector<std::string>& notes, const std::string& note);

 private:
  std::size_t count_ = 0;
  std::size_t place_ = 0;  ///< of the count in the notes
};

}  // namespace titan::ckpt
