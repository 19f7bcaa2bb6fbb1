// Checks that the optimizer's float32 weights, rounded, equal those of the model file. Flat vectors have no names, so
// only equal values show that a part belongs to its parameter.
#include <algorithm>

#include "ckpt/base/path.h"
#include "ckpt/model/tensor_meta.h"
#include "converters/deepspeed/zero.h"

namespace titan::convert::deepspeed {
namespace {

constexpr std::uint64_t kSample = 1024;  // elements compared at the beginning of each part of a parameter

bool is_compared(DType dtype) { return ckpt::is_float(dtype) && dtype != DType::kF64; }

}  // namespace

Status compare_with_model(const std::map<std::string, State>& states, const TorchFile& model, bool whole,
                          const char* hint, PieceFiles& files) {
  const std::uint32_t number = files.add_archive(model.path());
  for (const auto& [name, state] : states) {
    TITAN_ASSIGN_OR_RETURN(const std::optional<StoredTensor> stored, module_tensor(model, name));
    if (!stored || stored->elements == 0) continue;  // stage 3 leaves them empty
    const Result<DType> dtype = dtype_of_torch(name, stored->dtype);
    if (!dtype.ok() || !is_compared(*dtype) || !is_compared(state.weights.dtype)) continue;
    if (stored->shape != state.weights.shape) {
      if (!whole) continue;
      return ckpt::corrupt(model.path() + ": '" + name + "' has the shape " + ckpt::shape_text(stored->shape) +
                           ", and in param_shapes " + ckpt::shape_text(state.weights.shape));
    }
    const PiecedTensor of_model{
        name, *dtype, stored->shape, {whole_piece(stored->shape, {{number, stored->offset, stored->elements}})}};
    // Compares the beginning of each rank's part: it differs if the files of two ranks were swapped.
    std::uint64_t first = 0;
    for (const Segment& segment : state.weights.pieces.front().segments) {
      TITAN_ASSIGN_OR_RETURN(const bool same,
                             files.rounds_to(state.weights, of_model, first, std::min(kSample, segment.elements)));
      if (!same)
        return ckpt::corrupt(ckpt::parent_path(model.path()) + ": the optimizer's weights of '" + name +
                             "' are not those of the model's file")
            .with_hint(hint);
      first += segment.elements;
    }
  }
  return {};
}

}  // namespace titan::convert::deepspeed
