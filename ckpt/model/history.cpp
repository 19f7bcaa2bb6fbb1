#include "ckpt/model/history.h"

#include <utility>

namespace titan::ckpt {

void add_attempt(std::vector<Attempt>& attempts, Attempt attempt) {
  attempts.push_back(std::move(attempt));
  if (attempts.size() <= kFirstAttempts + kLastAttempts) return;
  attempts.erase(attempts.begin() + kFirstAttempts, attempts.end() - kLastAttempts);
}

std::string attempts_gone(const std::vector<Attempt>& attempts) {
  for (std::size_t i = 1; i < attempts.size(); ++i) {
    const std::uint64_t first = std::uint64_t{attempts[i - 1].number} + 1, end = attempts[i].number;
    if (first < end) return "attempts " + std::to_string(first) + " to " + std::to_string(end - 1) + " are not kept";
  }
  return "";
}

void SkipNotes::add(std::vector<std::string>& notes, const std::string& note) {
  if (++count_ <= kNotedSkips) return notes.push_back(note);
  if (count_ == kNotedSkips + 1) {
    place_ = notes.size();
    notes.emplace_back();
  }
  notes[place_] = "and " + std::to_string(count_ - kNotedSkips) + " more; the last: " + note;
}

}  // namespace titan::ckpt
