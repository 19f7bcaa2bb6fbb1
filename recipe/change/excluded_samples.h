#pragma once
// training.exclude_samples, and what becomes of it when a run goes on. Pure.
#include <string>
#include <vector>

#include "ckpt/base/result.h"
#include "ckpt/model/data_position.h"

namespace titan::recipe {

/// The ranges of training.exclude_samples. \error kInvalid, naming the word
ckpt::Result<ckpt::SampleRanges> excluded_samples(const std::vector<std::string>& words);

/// What a run that goes on from `stored` leaves out: what the checkpoint says, with what the configuration says in the
/// place of what it said then (`row`, of the accepted settings). Nothing of that lies behind the position.
ckpt::SampleRanges still_excluded(const ckpt::DataPosition& stored, const std::string& row,
                                  const ckpt::SampleRanges& configured);

/// Whether a configuration that leaves out `configured` in the place of `row` leaves out the same samples from the
/// position of `stored` on: what lies behind it shapes nothing any more.
bool excludes_alike(const ckpt::DataPosition& stored, const std::string& row, const ckpt::SampleRanges& configured);

}  // namespace titan::recipe
