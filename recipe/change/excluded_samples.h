#pragma once
// training.exclude_samples, and which exclusions hold when a run resumes. Pure.
#include <string>
#include <vector>

#include "ckpt/base/result.h"
#include "ckpt/model/data_position.h"

namespace titan::recipe {

/// The ranges in training.exclude_samples. \error kInvalid, which names the word
ckpt::Result<ckpt::SampleRanges> excluded_samples(const std::vector<std::string>& words);

/// The samples that a run leaves out when it resumes from `stored`: those of the checkpoint, where the ranges that its
/// configuration named (`row` of its accepted settings) are replaced by `configured`. Samples before the position are
/// dropped.
ckpt::SampleRanges still_excluded(const ckpt::DataPosition& stored, const std::string& row,
                                  const ckpt::SampleRanges& configured);

/// Whether a configuration that leaves out `configured` in the place of `row` leaves out the same samples from the
/// position of `stored` on: what lies behind it shapes nothing any more.
bool excludes_alike(const ckpt::DataPosition& stored, const std::string& row, const ckpt::SampleRanges& configured);

}  // namespace titan::recipe
