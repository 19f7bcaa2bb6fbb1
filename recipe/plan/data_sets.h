#pragma once
// training.datasets: the sets of a mixture as they are written. Pure.
#include <cstdint>
#include <string>
#include <vector>

#include "ckpt/base/result.h"

namespace titan::recipe {

struct Config;

/// One set: where it lies, its weight beside the others', and how often it is read.
struct DataSetChoice {
  std::string path;
  double weight = 1;
  std::uint64_t epochs = 0;  ///< passes over it; 0: without end
  bool stops = false;        ///< the data end with it; else the other sets take its share
};

/// The sets of training.datasets; empty where it is not set.
/// \error kInvalid: an item that is no set, a weight that is not above zero, one path twice, training.dataset_path
/// besides
ckpt::Result<std::vector<DataSetChoice>> data_set_choices(const Config& config);

/// The paths of the training data, each as a key takes it.
std::vector<std::string> data_paths(const Config& config);

}  // namespace titan::recipe
