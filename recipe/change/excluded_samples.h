#pragma once
// training.exclude_samples, and which exclusions apply when a run resumes. Pure.
#include <string>
#include <vector>

#include "ckpt/base/result.h"
#include "ckpt/model/data_position.h"

namespace titan::recipe {

/// Parses training.exclude_samples: `words` are ranges like "32-39", or single samples. \error kInvalid, which names
/// the item
ckpt::Result<ckpt::SampleRanges> excluded_samples(const std::vector<std::string>& words);

/// The samples that a run excludes when it resumes from `stored`: those of the checkpoint, but the ranges that the
/// checkpoint's configuration named (`row`, from its accepted settings) are replaced by `configured`. Samples before
/// the data position are dropped.
ckpt::SampleRanges still_excluded(const ckpt::DataPosition& stored, const std::string& row,
                                  const ckpt::SampleRanges& configured);

/// Whether excluding `configured` instead of `row` excludes the same samples from the position of `stored` on. Samples
/// before the position do not count.
bool excludes_same_samples(const ckpt::DataPosition& stored, const std::string& row,
                           const ckpt::SampleRanges& configured);

}  // namespace titan::recipe
