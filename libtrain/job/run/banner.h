#pragma once
// The lines that rank 0 logs before the first step: what will run, on which hardware, from which step.
#include <string>
#include <vector>

#include "ckpt/model/settings.h"
#include "ckpt/read/model_files.h"

namespace titan::recipe {
struct RunPlan;
}

namespace titan::train {

struct BannerFacts {
  std::string start;  ///< the resume decision with its reason; empty: a new run without weights
  std::string run_dir;
  std::uint64_t first_step = 1, last_step = 0;
  ckpt::Settings environment;
  std::uint64_t seed = 0;             ///< seed of the run's random numbers
  std::string data;                   ///< kind, files, samples per epoch
  std::vector<std::string> left_out;  ///< ignored contents of the data's folders
};

/// One line each: mesh, stages with their share and parameters, batches, environment, class, start.
std::vector<std::string> banner_lines(const recipe::RunPlan& plan, const BannerFacts& facts);

/// "gradients: 2 groups of 4 data-parallel ranks ...", "exchange: in 10 parts ...", both, or neither.
std::vector<std::string> exchange_lines(const recipe::RunPlan& plan);

/// "exchange: the busiest rank sends 990 messages a step ..."; empty if there are only swaps, except within
/// domains.
std::string exchange_cost(const recipe::RunPlan& plan);

/// "model files: hf/config.json, ... (3 files, 1,234 bytes) go into every checkpoint".
std::string model_files_line(const std::vector<ckpt::ModelFile>& files);

/// The run's class (glossary) as text, as checkpoints keep it: equal text means equal bits on every layout.
std::string class_line(const recipe::RunPlan& plan, const ckpt::Settings& environment);

}  // namespace titan::train
