#include "converters/widen.h"

#include "ckpt/base/printed.h"

#include <map>

namespace titan::convert {

Status widen_state(const ForeignCheckpoint& source, ImportPlan& plan) {
  std::map<std::string, std::size_t> widened;  // number of tensors, by type
  std::map<std::string_view, bool> by_name;
  std::vector<std::string> others;
  for (TensorPlan& tensor : plan.tensors) {
    const ForeignTensor& stored = source.tensors()[tensor.source];
    tensor.widened = stored.dtype == DType::kBF16 || stored.dtype == DType::kF16;
    by_name[stored.name] = tensor.widened;
    if (tensor.widened) ++widened[std::string(ckpt::dtype_name(stored.dtype))];
    if (!tensor.widened && stored.dtype != DType::kF32) others.push_back(stored.name);
  }
  if (!others.empty())
    return ckpt::incompatible(source.path() +
                              ": a resume needs its state as float32, which does not hold the types of " +
                              listed(others))
        .with_hint("take the model alone: --skip 'optimizer.*'; or cast them in the program that saved them");
  for (TensorReport& line : plan.report)
    if (const auto at = by_name.find(line.from); at != by_name.end() && at->second) line.to_dtype = DType::kF32;
  for (const auto& [dtype, count] : widened)
    plan.notes.push_back(ckpt::counted(count, "tensor") + " of " + dtype +
                         " widened to float32, which holds every value");
  return {};
}

}  // namespace titan::convert
