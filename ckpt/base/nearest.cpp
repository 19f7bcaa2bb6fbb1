#include "ckpt/base/nearest.h"

#include <algorithm>
#include <utility>

namespace titan::ckpt {

namespace {

constexpr std::size_t kMaxEdits = 2;
constexpr std::size_t kMinPrefix = 3;

bool prefix_of_other(std::string_view a, std::string_view b) {
  return std::min(a.size(), b.size()) >= kMinPrefix && (a.starts_with(b) || b.starts_with(a));
}

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before_last.swap(last);
    last.swap(row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substitution = last[j - 1] + (a[i - 1] != b[j - 1]);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, substitution});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
  }
  return row[b.size()];
}

std::vector<std::string> nearest(std::string_view word, const std::vector<std::string>& candidates, std::size_t limit) {
  std::vector<std::pair<std::size_t, const std::string*>> found;
  for (const std::string& candidate : candidates) {
    const std::size_t longer = std::max(word.size(), candidate.size());
    const std::size_t shorter = std::min(word.size(), candidate.size());
    // Two edits in a short word make another word, not a typing error.
    const std::size_t allowed = std::min(kMaxEdits, longer / 2);
    const std::size_t distance = longer - shorter > allowed ? allowed + 1 : edit_distance(word, candidate);
    if (distance <= allowed) {
      found.emplace_back(distance, &candidate);
    } else if (prefix_of_other(word, candidate)) {
      found.emplace_back(longer, &candidate);
    }
  }
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(limit, found.size()); ++i) names.push_back(*found[i].second);
  return names;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates) {
  const std::vector<std::string> names = nearest(word, candidates);
  if (names.empty()) return {};
  std::string text = "did you mean ";
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 == names.size() ? " or " : ", ";
    text += "`" + names[i] + "`";
  }
  return text + "?";
}

}  // namespace titan::ckpt
