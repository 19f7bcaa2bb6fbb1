#pragma once
// Converts the flat vectors of DeepSpeed's ZeRO to tensors, and reads universal checkpoints.
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "converters/deepspeed/model_file.h"
#include "converters/torch_save/trained_source.h"

namespace titan::convert::deepspeed {

/// One parameter: weights (float32 unless Content::of_module is set), and Adam moments if stored.
struct State {
  PiecedTensor weights;
  std::optional<PiecedTensor> exp_avg, exp_avg_sq;
  double step = 0;
};

/// What was read from a step.
struct Content {
  std::map<std::string, State> states;
  std::map<std::string, GroupValues> groups;  ///< settings per parameter; empty if the files have none
  std::optional<std::uint64_t> step;          ///< global_steps
  std::uint64_t skipped = 0;   ///< steps that the loss scaler skipped: Adam and the LR schedule did not advance
  bool of_module = false;      ///< weights are the model file's, of any float type; no optimizer was read
  std::optional<double> clip;  ///< the norm to which gradients are clipped; 0: no clipping
  Status why_optimizer;        ///< with of_module: not ok if there is an optimizer in a form that is not read
  std::uint64_t data_ranks = 1;
  std::vector<std::string> notes;
};

/// The settings of each parameter in a list of param groups whose flat vectors have `shapes`. \error as
/// convert::read_groups
Result<std::map<std::string, GroupValues>> settings_of_shapes(const TorchFile& file, NodeId groups,
                                                              const std::vector<Shapes>& shapes);
/// Compares the beginning of each segment of `states`, rounded, with the tensors of the model file. A tensor of another
/// shape is an error if `whole`; otherwise it is one rank's part and is skipped. \error kCorrupt naming the parameter
Status compare_with_model(const std::map<std::string, State>& states, const TorchFile& model, bool whole,
                          const char* hint, PieceFiles& files);

/// Reads the step in `folder`; its tensors refer to `files`. \error kCorrupt (lengths that do not fit, weights that
/// differ from the model file's), kUnsupported (a stage, layout or kind of file that is not read; the message names
/// it), kIncompatible (stage 3 without the optimizer's files, settings that are not numbers), kFailed
/// \source DeepSpeed 0.19.8, utils/zero_to_fp32.py, runtime/zero/stage_1_and_2.py, runtime/bf16_optimizer.py
Result<Content> read_zero(Fs& fs, const std::string& folder, PieceFiles& files);
/// Reads the universal checkpoint in `folder`, whose parameters are in the subfolder `zero`. \error as read_zero
Result<Content> read_universal(Fs& fs, const std::string& folder, PieceFiles& files);

}  // namespace titan::convert::deepspeed
