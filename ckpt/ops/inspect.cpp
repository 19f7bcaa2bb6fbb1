#include "ckpt/ops/inspect.h"

#include <fnmatch.h>

#include <algorithm>

#include "ckpt/base/nearest.h"
#include "ckpt/base/quoting.h"
#include "ckpt/format/member_names.h"
#include "ckpt/read/reader.h"
#include "ckpt/run/run_resolve.h"

namespace titan::ckpt {

namespace {

TensorRow row_of(const Manifest& manifest, const TensorRef& ref, const StoredTensor& stored) {
  const ParameterMeta& meta = manifest.parameters[ref.index].meta;
  const LeafGrid grid = meta.grid(manifest.leaf_elements);
  TensorRow row;
  row.ref = ref;
  row.component = ref.slot.empty() ? kModel : kOptimizer;
  row.name = manifest.stored_name(ref);
  row.dtype = stored.dtype;
  row.shape = meta.shape;
  row.digest = stored.digest;
  row.stage = meta.stage;
  row.bytes = grid.elements * dtype_size(stored.dtype);
  row.leaves = grid.count();
  row.pieces = stored.pieces.size();
  return row;
}

bool matches(const std::string& name, const std::string& glob) {
  return name == glob || fnmatch(glob.c_str(), name.c_str(), 0) == 0;
}

/// Sets `out` if the component exists; a missing one is not an error.
template <typename T>
Status take(const Manifest& manifest, const char* component, Result<T> value, std::optional<T>& out) {
  if (manifest.component(component) == nullptr) return ok_status();
  if (!value.ok()) return value.status();
  out = std::move(value).value();
  return ok_status();
}

}  // namespace

std::vector<TensorRow> tensor_rows(const Manifest& manifest, std::size_t limit) {
  std::vector<TensorRow> rows;
  rows.reserve(std::min(limit, tensor_count(manifest)));
  const auto each = [&](auto take) {
    for (std::uint32_t index = 0; index < manifest.parameters.size() && rows.size() < limit; ++index)
      take(index, manifest.parameters[index]);
  };
  each([&](std::uint32_t index, const ParameterRecord& record) {
    if (record.model) rows.push_back(row_of(manifest, {index, ""}, *record.model));
  });
  each([&](std::uint32_t index, const ParameterRecord& record) {
    for (const SlotTensor& slot : record.slots)
      if (rows.size() < limit) rows.push_back(row_of(manifest, {index, slot.name}, slot.tensor));
  });
  return rows;
}

std::size_t tensor_count(const Manifest& manifest) {
  std::size_t count = 0;
  for (const ParameterRecord& record : manifest.parameters) count += record.slots.size() + (record.model ? 1 : 0);
  return count;
}

std::vector<TensorRow> matching_rows(const std::vector<TensorRow>& rows, const std::string& glob) {
  std::vector<TensorRow> matching;
  std::copy_if(rows.begin(), rows.end(), std::back_inserter(matching),
               [&](const TensorRow& row) { return matches(row.name, glob); });
  return matching;
}

std::string no_match_hint(const std::vector<TensorRow>& rows, const std::string& typed, const std::string& checkpoint) {
  std::vector<std::string> names;
  for (const TensorRow& row : rows) names.push_back(row.name);
  const std::string suggestion = did_you_mean(typed, names);
  return suggestion.empty() ? "`titan-ckpt inspect " + shell_word(checkpoint) + " --tensors '*'` lists their names"
                            : suggestion;
}

std::vector<StageSummary> stage_summaries(const Manifest& manifest) {
  std::vector<StageSummary> stages(std::max<std::uint32_t>(manifest.mesh.pp, 1));
  for (const ParameterRecord& record : manifest.parameters) {
    if (record.meta.stage >= stages.size()) stages.resize(record.meta.stage + 1);
    StageSummary& stage = stages[record.meta.stage];
    if (stage.parameters == 0) stage.first = record.meta.name;
    stage.last = record.meta.name;
    stage.parameters += 1;
    stage.elements += element_count(record.meta.shape);
  }
  return stages;
}

Status check_left_out(const std::vector<std::string>& left_out, const std::string& glob) {
  if (std::none_of(left_out.begin(), left_out.end(), [&](const std::string& name) { return matches(name, glob); }))
    return ok_status();
  return not_found("`" + glob +
                   "` is in this checkpoint, but cannot be shown: a Titan checkpoint cannot have its name or "
                   "element type, or it is no tensor")
      .with_hint("`titan-ckpt inspect` lists what is left out");
}

std::string left_out_text(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 5;
  if (names.empty()) return "none";
  std::string text = std::to_string(names.size()) + ":";
  for (std::size_t i = 0; i < std::min(names.size(), kShown); ++i) text += (i > 0 ? ", '" : " '") + names[i] + "'";
  return names.size() > kShown ? text + ", ..." : text;
}

Result<InspectReport> inspect_checkpoint(Fs& fs, const std::string& spec, const CheckpointOpener& open) {
  InspectReport report;
  TITAN_ASSIGN_OR_RETURN(report.path, resolve_checkpoint(fs, spec));
  TITAN_ASSIGN_OR_RETURN(CheckpointReader reader, open(fs, report.path));
  report.foreign = reader.foreign();
  report.left_out = reader.left_out();
  TITAN_RETURN_IF_ERROR(take(reader.manifest(), kLrScheduler, reader.lr_schedule(), report.lr));
  TITAN_RETURN_IF_ERROR(take(reader.manifest(), kDataloader, reader.data_position(), report.data));
  TITAN_RETURN_IF_ERROR(take(reader.manifest(), kTrainState, reader.train_state(), report.train));
  report.manifest = std::move(reader).take_manifest();
  return report;
}

}  // namespace titan::ckpt
