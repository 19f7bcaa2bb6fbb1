#include "converters/own_names.h"

#include "ckpt/ops/inspect.h"
#include "converters/view.h"

namespace titan::convert {

Result<CheckpointReader> open_for_pattern(Fs& fs, const std::string& path, const std::string& glob) {
  TITAN_ASSIGN_OR_RETURN(CheckpointReader whole, open_any(fs, path));
  if (!whole.foreign() || !ckpt::matching_rows(ckpt::tensor_rows(whole.manifest()), glob).empty()) return whole;
  TITAN_ASSIGN_OR_RETURN(const Format* format, detect_format(fs, path));
  TITAN_ASSIGN_OR_RETURN(std::unique_ptr<ForeignCheckpoint> source, format->open(fs, path));
  ImportPlan chosen;
  chosen.step = whole.manifest().step;
  std::vector<ckpt::TensorRow> theirs;
  for (const ForeignTensor& tensor : source->tensors()) {
    const auto index = static_cast<std::uint32_t>(theirs.size());
    theirs.push_back({.ref = {index, ""}, .name = tensor.name, .shape = tensor.shape});
  }
  for (const ckpt::TensorRow& row : ckpt::matching_rows(theirs, glob)) {
    chosen.tensors.push_back({{static_cast<std::uint32_t>(chosen.parameters.size()), ""}, row.ref.index});
    chosen.parameters.push_back({row.name, row.shape});
  }
  if (chosen.tensors.empty()) return whole;
  return view_checkpoint(*format, std::move(source), std::move(chosen));
}

}  // namespace titan::convert
