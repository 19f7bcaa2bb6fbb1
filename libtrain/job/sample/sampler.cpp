#include "libtrain/job/sample/sampler.h"

#include <algorithm>
#include <cmath>

#include "libtrain/job/sample/counter_random.h"

namespace titan::train {

std::int64_t greatest(std::span<const float> logits) {
  return std::max_element(logits.begin(), logits.end()) - logits.begin();
}

std::vector<Candidate> candidates(std::span<const float> logits, const SamplingSettings& settings) {
  const double top = logits[static_cast<std::size_t>(greatest(logits))];
  std::vector<Candidate> all;
  all.reserve(logits.size());
  for (std::size_t id = 0; id < logits.size(); ++id)
    all.push_back({static_cast<std::int64_t>(id), std::exp((logits[id] - top) / settings.temperature)});
  const std::size_t kept = settings.top_k == 0 ? all.size() : std::min<std::size_t>(settings.top_k, all.size());
  if (kept == all.size() && settings.top_p >= 1) return all;

  // Compares logits, since at very low temperature weights are equal although logits differ.
  std::ranges::partial_sort(all, all.begin() + static_cast<std::ptrdiff_t>(kept),
                            [&](const Candidate& a, const Candidate& b) {
                              const float x = logits[static_cast<std::size_t>(a.token)];
                              const float y = logits[static_cast<std::size_t>(b.token)];
                              return x != y ? x > y : a.token < b.token;
                            });
  all.resize(kept);
  if (settings.top_p >= 1) return all;
  double sum = 0, reached = 0;
  for (const Candidate& candidate : all) sum += candidate.weight;
  const auto last = std::ranges::find_if(all, [&](const Candidate& candidate) {
    reached += candidate.weight;
    return reached >= settings.top_p * sum;
  });
  if (last != all.end()) all.erase(last + 1, all.end());
  return all;
}

std::int64_t next_token(std::span<const float> logits, const SamplingSettings& settings, std::uint64_t index) {
  if (settings.temperature == 0) return greatest(logits);
  const std::vector<Candidate> some = candidates(logits, settings);
  double sum = 0, reached = 0;
  for (const Candidate& candidate : some) sum += candidate.weight;
  const double drawn = random_unit(stream_key(settings.seed, "sample", ""), index) * sum;
  for (const Candidate& candidate : some) {
    reached += candidate.weight;
    if (drawn < reached) return candidate.token;
  }
  // Reached only through rounding: returns the last candidate with any weight.
  const auto last = std::find_if(some.rbegin(), some.rend(), [](const Candidate& c) { return c.weight > 0; });
  return last->token;
}

}  // namespace titan::train
