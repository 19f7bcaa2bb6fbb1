#pragma once
// Parses training.datasets, the sets of a mixture. Pure.
#include <cstdint>
#include <string>
#include <vector>

#include "ckpt/base/result.h"

namespace titan::recipe {

struct Config;

/// One set: its path, its relative weight, and how often it is read.
struct DataSetChoice {
  std::string path;
  double weight = 1;
  std::uint64_t epochs = 0;  ///< number of passes over the set; 0: no limit
  bool stops = false;        ///< after `epochs` passes: true: the data end; false: the other sets take over its share
};

/// The sets of training.datasets; empty if the key is not set. \error kInvalid: an item that is not a set, a weight
/// that is not above zero, the same path twice, or training.dataset_path set as well
ckpt::Result<std::vector<DataSetChoice>> data_set_choices(const Config& config);

/// The paths of the training data: training.dataset_path, or one of each set of a mixture.
std::vector<std::string> data_paths(const Config& config);

}  // namespace titan::recipe
