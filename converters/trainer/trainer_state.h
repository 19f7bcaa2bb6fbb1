#pragma once
// Reads the optimizer state in the pickles of trainers of Hugging Face models: optimizer.pt of the transformers
// Trainer, optimizer.bin of accelerate, and verl's pickle of each rank. The state has no parameter names (except full
// states of FSDP): a parameter is identified by its position in the param groups, which follow the order of
// transformers' model.
#include <map>
#include <string>
#include <vector>

#include "ckpt/model/tensor_meta.h"
#include "converters/torch_save/trained_source.h"
#include "recipe/model/dims.h"

namespace titan::convert {

/// Adam's state of one parameter of transformers' model.
struct TrainerMoments {
  PiecedTensor exp_avg, exp_avg_sq;
  double step = 0;
  GroupValues group;
};
/// State by Hugging Face's parameter name.
using TrainerState = std::map<std::string, TrainerMoments>;

/// The state of one optimizer tensor, and the model tensors that it belongs to.
struct PlacedState {
  const TrainerMoments* moments = nullptr;  ///< points into the TrainerState given to placed_state()
  std::vector<ExpertPart> parts;            ///< the model tensors, by Hugging Face's names
};
/// Finds the tensors that each entry of `state` belongs to; `tensors` are those in the files. An entry of experts
/// belongs to several: transformers trains all experts of a layer as one tensor and saves one tensor per expert.
std::vector<PlacedState> placed_state(const TrainerState& state, const std::vector<ForeignTensor>& tensors);
/// The optimizer settings of each model tensor in the files, by its name.
std::map<std::string, GroupValues> groups_of(const std::vector<PlacedState>& placed);

/// The name of the optimizer file in `folder`; empty if there is none. It may be something else than a regular file.
/// \error kFailed
Result<std::string> find_trainer_state(Fs& fs, const std::string& folder);

/// The parameters of a model under Hugging Face's names, in the order of `model.parameters()`; without a tied head.
/// `fused`: the experts of a layer are in two tensors, as in transformers 5. \source transformers 4.32 to 5,
/// models/{llama,mistral,qwen2,qwen3,olmo2,mixtral,qwen3_moe}
std::vector<ckpt::ParameterMeta> in_order_of_transformers(const recipe::ModelDims& model, bool fused = false);

/// Reads the optimizer state of `model` from the files at `paths` (one per rank, in order) and adds these files to
/// `files`. \error kCorrupt; kIncompatible: the state is another model's, a group has settings that are not AdamW's, or
/// parameters without names are neither in one group nor in one of matrices and one of vectors; kUnsupported: no
/// optimizer state, or one without AdamW's moments; kFailed
Result<TrainerState> read_trainer_state(Fs& fs, const std::vector<std::string>& paths, const recipe::ModelDims& model,
                                        PieceFiles& files);

}  // namespace titan::convert
