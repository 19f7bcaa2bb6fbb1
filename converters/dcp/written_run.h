#pragma once
// The non-tensor state of a run in a DCP directory: the optimizer's settings, the LR schedule, the step.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "converters/format.h"
#include "converters/pickle/item.h"
#include "converters/skip_rules.h"

namespace titan::convert::dcp {

/// The run's values.
struct WrittenRun {
  double base_lr = 0, next_lr = 0;  ///< the peak rate, and the rate of the next step
  std::uint64_t step = 0;
  std::uint64_t tokens = 0;  ///< with torchtitan's names: tokens of one data rank; with Hugging Face's: of all
  double beta1 = 0, beta2 = 0, eps = 0, weight_decay = 0;
  std::vector<std::string> rules;  ///< optimizer.rules
};

/// `name`: a parameter's name in the directory's optimizer. `own`: Titan's name. A fused tensor has one entry for each
/// of Titan's parameters in it, all with the same `name`.
struct WrittenParameter {
  std::string name, own;
};

/// A plain value to write.
struct ValueItem {
  std::vector<std::string> path;  ///< as WrittenItem::path
  ItemValue value;
};

/// Finds the state of the run that saved `source`. nullopt: only the model is written, and a note says why. `rows` are
/// the checkpoint's settings; optimizer settings that it lacks are added from the configuration. \error kIncompatible:
/// the configuration differs, the optimizer's settings are unknown, torchtitan cannot express the LR schedule, or
/// `skip` leaves out a part of the optimizer's state; kInvalid: --lr-from-config without a configuration; as
/// CheckpointReader::lr_schedule() and train_state()
Result<std::optional<WrittenRun>> find_written_run(const CheckpointReader& source, const ExportOptions& options,
                                                   SkipRules& skip, Settings& rows, std::vector<std::string>& notes);

/// The values of `run` for `parameters`, each with the settings of optimizer.rules. With Hugging Face's names, the
/// optimizer's groups are in both forms of torch's get_optimizer_state_dict: flattened, and as a list. The list has one
/// group for all parameters with equal settings; if it has several groups, `notes` says so. \error as
/// recipe::update_settings; kIncompatible: rules differ within a fused tensor
Result<std::vector<ValueItem>> run_values(const WrittenRun& run, DcpNames names,
                                          const std::vector<WrittenParameter>& parameters,
                                          std::vector<std::string>& notes);

}  // namespace titan::convert::dcp
