#include "recipe/change/excluded_samples.h"

#include "ckpt/base/text.h"
#include "ckpt/base/toml_text.h"

namespace titan::recipe {
namespace {

/// The ranges in a row, which is stored as "\"32-39, 64\"".
ckpt::SampleRanges ranges_of_row(const std::string& row) {
  ckpt::SampleRanges ranges;
  if (row.size() < 2 || row.front() != '"') return ranges;
  for (std::string word : ckpt::split(row.substr(1, row.size() - 2), ',')) {
    word.erase(0, word.find_first_not_of(' '));
    if (const auto range = ckpt::parse_range(word)) ranges.push_back(*range);
  }
  return ckpt::in_order(std::move(ranges));
}

}  // namespace

ckpt::Result<ckpt::SampleRanges> excluded_samples(const std::vector<std::string>& words) {
  ckpt::SampleRanges ranges;
  for (std::string word : words) {
    word.erase(0, word.find_first_not_of(' '));
    const auto range = ckpt::parse_range(word);
    if (!range)
      return ckpt::invalid("training.exclude_samples: expected FIRST-LAST or one number, each below 2^62, found " +
                           ckpt::toml_string(word))
          .with_hint("samples are numbered from 0 since the start of the run; metrics.jsonl says how many were read");
    ranges.push_back(*range);
  }
  return ckpt::in_order(std::move(ranges));
}

ckpt::SampleRanges still_excluded(const ckpt::DataPosition& stored, const std::string& row,
                                  const ckpt::SampleRanges& configured) {
  const ckpt::SampleRanges found = ckpt::without_ranges(stored.excluded, ranges_of_row(row));
  return ckpt::ahead_of(ckpt::with_ranges(found, configured), stored.samples);
}

bool excludes_same_samples(const ckpt::DataPosition& stored, const std::string& row,
                           const ckpt::SampleRanges& configured) {
  return ckpt::ahead_of(ranges_of_row(row), stored.samples) == ckpt::ahead_of(configured, stored.samples);
}

}  // namespace titan::recipe
