#pragma once
// The state of an optimizer that a trainer left beside a Hugging Face folder, in a pickle: optimizer.pt of
// transformers' Trainer, optimizer.bin of accelerate, and verl's pickle of each rank. It has no names: a parameter is
// the one at its place in the model as transformers makes it, group by group. Full states of FSDP have names.
#include <map>
#include <string>
#include <vector>

#include "ckpt/model/tensor_meta.h"
#include "converters/torch_save/trained_source.h"
#include "recipe/model/dims.h"

namespace titan::convert {

struct TrainerMoments {
  PiecedTensor exp_avg, exp_avg_sq;
  double step = 0;
  GroupValues group;
};
/// By Hugging Face's names.
using TrainerState = std::map<std::string, TrainerMoments>;

/// The state of one tensor of an optimizer, and the tensors of the model's files that it is of.
struct PlacedState {
  const TrainerMoments* moments = nullptr;  ///< in the state given
  std::vector<ExpertPart> parts;            ///< by the names in the files
};
/// Whose `state`, of `model`, is among `tensors`: transformers trains experts in one tensor that it saves as many.
std::vector<PlacedState> placed_state(const TrainerState& state, const recipe::ModelDims& model,
                                      const std::vector<ForeignTensor>& tensors);
/// The settings of each tensor of the files.
std::map<std::string, GroupValues> groups_of(const std::vector<PlacedState>& placed);

/// The name of such a file in `folder`, whatever kind of file it is; "" where there is none. \error kFailed
Result<std::string> find_trainer_state(Fs& fs, const std::string& folder);

/// The parameters of a model under Hugging Face's names, in the order of `model.parameters()`; a tied head is none.
/// `fused`: as transformers 5 has the experts of a layer, in two tensors.
/// \source transformers 4.32 to 5, models/{llama,mistral,qwen2,qwen3,olmo2,mixtral,qwen3_moe}
std::vector<ckpt::ParameterMeta> in_order_of_transformers(const recipe::ModelDims& model, bool fused = false);

/// Reads the files at `paths`, of each rank one, in order: the optimizer's state of `model`. Adds them to `files`.
/// \error kCorrupt; kIncompatible: of another model, or in groups by another rule than matrices here and vectors there;
/// kUnsupported: no AdamW
Result<TrainerState> read_trainer_state(Fs& fs, const std::vector<std::string>& paths, const recipe::ModelDims& model,
                                        PieceFiles& files);

}  // namespace titan::convert
