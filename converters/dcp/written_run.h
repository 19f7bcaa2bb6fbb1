#pragma once
// What a DCP directory holds of a run beside tensors: the optimizer's settings, the schedule, the step.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "converters/format.h"
#include "converters/pickle/item.h"
#include "converters/skip.h"
#include "recipe/keys/config.h"

namespace titan::convert::dcp {

struct WrittenRun {
  double base_lr = 0, next_lr = 0;
  std::uint64_t step = 0;
  std::uint64_t tokens = 0;  ///< for torchtitan's names: of one data rank
  recipe::Config::Optimizer optimizer;
};

/// A parameter as the optimizer calls it in the directory, and as we do. A fused tensor has several of ours.
struct WrittenParameter {
  std::string name, own;
};

struct ValueItem {
  std::vector<std::string> path;  ///< as WrittenItem's
  Value value;
};

/// The run that `source` is in the middle of; nothing where the model alone is written, and a note says why. `rows` is
/// what the checkpoint says, and gets what the configuration adds of the optimizer. \error kIncompatible: the
/// configuration says something else, or the optimizer's settings are unknown, or the curve is none of torchtitan's
Result<std::optional<WrittenRun>> find_written_run(const CheckpointReader& source, const ExportOptions& options,
                                                   SkipRules& skip, Settings& rows, std::vector<std::string>& notes);

/// Its values for `parameters`, each updated as optimizer.rules say. Hugging Face's names come with the optimizer's
/// groups in both forms that torch's get_optimizer_state_dict has, flattened and as a list: of one group, or where
/// rules differ of one for each, which `notes` says. \error as recipe::update_settings; kIncompatible: rules differ
/// within a fused tensor
Result<std::vector<ValueItem>> run_values(const WrittenRun& run, DcpNames names,
                                          const std::vector<WrittenParameter>& parameters,
                                          std::vector<std::string>& notes);

}  // namespace titan::convert::dcp
