#include "converters/foreign_view.h"

#include <algorithm>
#include <map>

#include "ckpt/base/fs.h"
#include "ckpt/base/path.h"
#include "ckpt/format/member_names.h"
#include "ckpt/model/rope_permutation.h"
#include "ckpt/ops/convert_dtype.h"
#include "ckpt/ops/inspect.h"
#include "ckpt/ops/slice.h"
#include "ckpt/run/run_resolve.h"
#include "converters/companions.h"

namespace titan::convert {

using ckpt::Manifest;

DType dtype_of(const ForeignCheckpoint& source, const TensorPlan& tensor) {
  return tensor.widened ? DType::kF32 : source.tensors()[tensor.source].dtype;
}

std::uint64_t bytes_of(const ForeignCheckpoint& source, const TensorPlan& tensor) {
  const std::uint64_t elements = ckpt::element_count(source.tensors()[tensor.source].shape);
  const RowBlocks& blocks = tensor.blocks;
  return (blocks.rows == 0 ? elements : elements / blocks.period * blocks.rows) *
         ckpt::dtype_size(dtype_of(source, tensor));
}

Manifest frame_manifest(const ForeignCheckpoint& source, const ImportPlan& plan, std::uint64_t leaf_elements) {
  Manifest manifest;
  manifest.step = plan.step;
  manifest.config = plan.config;
  manifest.mesh.dp = plan.data_ranks;
  manifest.leaf_elements = leaf_elements;
  for (std::size_t i = 0; i < plan.parameters.size(); ++i) {
    ckpt::ParameterRecord& record = manifest.parameters.emplace_back();
    record.meta = plan.parameters[i];
    if (i < plan.optimizer_steps.size()) record.optimizer_step = plan.optimizer_steps[i];
  }
  for (const TensorPlan& tensor : plan.tensors) {
    ckpt::ParameterRecord& record = manifest.parameters[tensor.ref.index];
    ckpt::StoredTensor stored;
    stored.dtype = dtype_of(source, tensor);
    stored.chunk = record.meta.grid(leaf_elements).chunk_extent();
    if (tensor.ref.slot.empty()) {
      record.model = stored;
    } else {
      record.slots.push_back({tensor.ref.slot, stored});
    }
  }
  return manifest;
}

namespace {

Manifest view_manifest(const Format& format, const ForeignCheckpoint& source, const ImportPlan& plan) {
  Manifest manifest = frame_manifest(source, plan, ckpt::kDefaultLeafElements);
  manifest.writer = format.title();
  // Components without digests, so that callers see which exist.
  std::uint64_t bytes[2] = {0, 0};
  bool there[2] = {false, false};
  for (const TensorPlan& tensor : plan.tensors) {
    const int component = tensor.ref.slot.empty() ? 0 : 1;
    bytes[component] += bytes_of(source, tensor);
    there[component] = true;
  }
  const auto add = [&](const char* name, bool is_there, std::uint64_t size) {
    if (is_there) manifest.components.push_back({name, {}, size, size, 0});
  };
  add(ckpt::kModel, there[0], bytes[0]);
  add(ckpt::kOptimizer, there[1], bytes[1]);
  add(ckpt::kLrScheduler, plan.lr.has_value(), 0);
  add(ckpt::kDataloader, plan.data.has_value(), 0);
  add(ckpt::kTrainState, plan.train.has_value(), 0);
  return manifest;
}

class View final : public ckpt::CheckpointContent {
 public:
  View(const Format& format, std::shared_ptr<const ForeignCheckpoint> source, ImportPlan plan)
      : CheckpointContent(source->path(), view_manifest(format, *source, plan)),
        source_(std::move(source)),
        plan_(std::move(plan)),
        reader_(*source_, plan_) {
    for (std::size_t i = 0; i < plan_.tensors.size(); ++i) places_.emplace(plan_.tensors[i].ref, i);
  }

  bool foreign() const override { return true; }
  Status read(const ckpt::TensorRef& ref, std::uint64_t first, std::span<std::byte> out) override {
    const auto at = places_.find(ref);
    if (at == places_.end()) return ckpt::not_found("tensor '" + manifest.stored_name(ref) + "' is not in " + path);
    return reader_.read(at->second, first, out);
  }
  Result<ckpt::LrSchedule> lr_schedule() const override { return present(plan_.lr, ckpt::kLrScheduler); }
  Result<ckpt::DataPosition> data_position() const override { return present(plan_.data, ckpt::kDataloader); }
  Result<ckpt::TrainState> train_state() const override { return present(plan_.train, ckpt::kTrainState); }
  std::vector<ckpt::ModelFilePlace> model_files() const override {
    std::vector<ckpt::ModelFilePlace> files;
    for (const Companion& file : plan_.companions)
      files.push_back({"", file.path, ckpt::join_path(kCompanionFolder, file.name), file.digest, file.text});
    return files;
  }
  std::vector<std::string> model_file_notes() const override { return plan_.notes; }
  std::vector<std::string> left_out() const override { return plan_.left_out; }
  std::string name_in_file(std::uint32_t parameter) const override {
    const auto at = places_.find({parameter, ""});
    return at == places_.end() ? std::string() : source_->tensors()[plan_.tensors[at->second].source].name;
  }

 private:
  template <typename T>
  Result<T> present(const std::optional<T>& value, const char* component) const {
    if (!value) return absent(component);
    return *value;
  }

  std::shared_ptr<const ForeignCheckpoint> source_;
  ImportPlan plan_;
  std::map<ckpt::TensorRef, std::size_t> places_;  // indexes of plan_.tensors
  PlannedReader reader_;
};

}  // namespace

PlannedReader::PlannedReader(const ForeignCheckpoint& source, const ImportPlan& plan) : source_(source), plan_(plan) {}

Status PlannedReader::read(std::size_t index, std::uint64_t first, std::span<std::byte> out) const {
  const TensorPlan& tensor = plan_.tensors[index];
  if (!tensor.widened) return read_stored(tensor, first, out);
  const DType stored = source_.tensors()[tensor.source].dtype;
  std::vector<std::byte> narrow(out.size() / ckpt::dtype_size(DType::kF32) * ckpt::dtype_size(stored));
  TITAN_RETURN_IF_ERROR(read_stored(tensor, first, narrow));
  ckpt::convert_elements(stored, narrow, DType::kF32, out);
  return ckpt::ok_status();
}

Status PlannedReader::read_stored(const TensorPlan& tensor, std::uint64_t first, std::span<std::byte> out) const {
  if (tensor.head_dim == 0 || out.empty()) return read_blocks(tensor, first, out);
  const ForeignTensor& foreign = source_.tensors()[tensor.source];
  const std::uint64_t size = ckpt::dtype_size(foreign.dtype);
  const std::uint64_t width = ckpt::element_count(std::span(foreign.shape).subspan(1));
  return ckpt::read_interleaved(
      {tensor.head_dim, width, size}, first, out,
      [&](std::uint64_t element, std::span<std::byte> part) { return read_blocks(tensor, element, part); });
}

// Reads block by block, if rows of other tensors are between those of this one.
Status PlannedReader::read_blocks(const TensorPlan& tensor, std::uint64_t first, std::span<std::byte> out) const {
  const auto& [rows, period, begin] = tensor.blocks;
  if (rows == 0) return source_.read(tensor.source, first, out);
  const std::uint64_t size = ckpt::dtype_size(source_.tensors()[tensor.source].dtype);
  const std::uint64_t width = ckpt::element_count(std::span(plan_.parameters[tensor.ref.index].shape).subspan(1)),
                      block = rows * width;
  for (std::uint64_t at = first; !out.empty();) {
    const std::uint64_t count = std::min<std::uint64_t>(block - at % block, out.size() / size);
    const std::uint64_t row = at / block * period + begin;
    TITAN_RETURN_IF_ERROR(source_.read(tensor.source, row * width + at % block, out.first(count * size)));
    out = out.subspan(count * size);
    at += count;
  }
  return ckpt::ok_status();
}

CheckpointReader view_checkpoint(const Format& format, std::shared_ptr<const ForeignCheckpoint> source,
                                 ImportPlan plan) {
  return CheckpointReader(std::make_unique<View>(format, std::move(source), std::move(plan)));
}

Result<CheckpointReader> open_any(Fs& fs, const std::string& path) { return open_any_with(fs, path, {}); }

Result<CheckpointReader> open_any_with(Fs& fs, const std::string& path, ImportOptions options) {
  options.look = true;
  TITAN_ASSIGN_OR_RETURN(const Format* format, detect_format(fs, path));
  if (format == nullptr) {
    Result<CheckpointReader> ours = CheckpointReader::open(fs, path);
    if (!ours.ok()) return explained(fs, path, ours.status());
    return ours;
  }
  TITAN_ASSIGN_OR_RETURN(std::unique_ptr<ForeignCheckpoint> source, format->open(fs, path));
  TITAN_ASSIGN_OR_RETURN(ImportPlan plan, source->plan(options));
  return view_checkpoint(*format, std::move(source), std::move(plan));
}

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

std::vector<std::string> tensor_names(Fs& fs, const std::string& spec) {
  const Result<std::string> path = ckpt::resolve_checkpoint(fs, resolve_any(fs, spec));
  if (!path.ok()) return {};
  const Result<CheckpointReader> reader = open_any(fs, *path);
  if (!reader.ok()) return {};
  std::vector<std::string> names;
  for (const ckpt::TensorRow& row : ckpt::tensor_rows(reader->manifest())) names.push_back(row.name);
  return names;
}

Result<CheckpointReader> open_for_tensor(Fs& fs, const std::string& path, const std::string& tensor) {
  TITAN_ASSIGN_OR_RETURN(const Format* format, detect_format(fs, path));
  if (format == nullptr) return open_any(fs, path);
  TITAN_ASSIGN_OR_RETURN(std::unique_ptr<ForeignCheckpoint> source, format->open(fs, path));
  Result<ImportPlan> plan = source->plan({.look = true});
  const auto ours = [&](const std::string& name) {
    if (!plan.ok()) return false;
    return std::ranges::any_of(plan->tensors, [&](const TensorPlan& one) {
      const std::string& parameter = plan->parameters[one.ref.index].name;
      return name == (one.ref.slot.empty() ? parameter : parameter + "." + one.ref.slot);
    });
  };
  for (const std::string& name : {tensor, ckpt::split_slice(tensor).first}) {
    if (ours(name)) break;
    const auto theirs = std::ranges::find(source->tensors(), name, &ForeignTensor::name);
    if (theirs == source->tensors().end()) continue;
    ImportPlan alone;
    alone.step = plan.ok() ? plan->step : 0;
    alone.parameters.push_back({theirs->name, theirs->shape});
    alone.tensors.push_back({{0, ""}, static_cast<std::size_t>(theirs - source->tensors().begin())});
    return view_checkpoint(*format, std::move(source), std::move(alone));
  }
  if (!plan.ok()) return plan.status();
  return view_checkpoint(*format, std::move(source), *std::move(plan));
}

namespace {

Result<ckpt::VerifiedStep> verify_foreign(Fs& fs, const Format& format, const std::string& path,
                                          const ckpt::VerifyOptions& options) {
  if (options.begin) options.begin(path);
  ckpt::VerifiedStep step{path, {}, {}};
  const auto add_structure = [&](const Status& status) {
    step.report.damage.push_back({format.title(), "structure", "", 0, 0, 0, status.message});
    step.report.note.clear();  // the note would claim that the structure is right
  };
  const auto source = format.open(fs, path);
  if (source.ok()) {
    TITAN_ASSIGN_OR_RETURN(step.report, (*source)->verify([&](std::uint64_t done, std::uint64_t total) {
      if (options.progress) options.progress(done, total);
      return options.cancel.check();
    }));
    // A configuration that cannot be parsed is damage. A configuration that describes another model than the weights is
    // not, and neither is a model that Titan cannot convert.
    if (step.report.damage.empty()) {
      const Status plan = (*source)->plan({}).status();
      if (plan.code == ckpt::Code::kCorrupt) add_structure(plan);
      if (plan.code == ckpt::Code::kIncompatible)
        step.report.note += (step.report.note.empty() ? "" : "; ") + ("it cannot be taken as it is: " + plan.message);
    }
  } else if (source.status().code == ckpt::Code::kCorrupt) {
    add_structure(source.status());
  } else {
    return source.status();
  }
  return step;
}

// Whether a folder that is read as its last step is a run with several steps.
bool names_steps(Fs& fs, const std::string& path) {
  const Result<ckpt::ListReport> listed = list_any(fs, path);
  return listed.ok() && !listed->steps.empty() &&
         std::ranges::none_of(listed->steps, [&](const ckpt::ListedStep& step) { return step.path == path; });
}

}  // namespace

Result<ckpt::VerifySummary> verify_any(Fs& fs, const ckpt::VerifyOptions& options) {
  TITAN_ASSIGN_OR_RETURN(const Format* const whole, detect_format(fs, options.target));
  if (whole != nullptr && !names_steps(fs, options.target)) {
    TITAN_ASSIGN_OR_RETURN(ckpt::VerifiedStep step, verify_foreign(fs, *whole, options.target, options));
    ckpt::VerifySummary summary;
    summary.add(std::move(step));
    return summary;
  }
  Result<ckpt::VerifySummary> summary = ckpt::verify_target(fs, options);
  if (!summary.ok() && summary.status().code != ckpt::Code::kNotFound) return summary;
  if (summary.ok() && !summary->is_run) return summary;
  // A run, or a folder that is not Titan's: list_any finds the steps of other formats.
  const Result<ckpt::ListReport> listed = list_any(fs, options.target);
  if (!listed.ok()) return summary.ok() ? summary : explained(fs, options.target, summary.status());
  for (const ckpt::ListedStep& listed_step : listed->steps) {
    TITAN_ASSIGN_OR_RETURN(const Format* format, detect_format(fs, listed_step.path));
    if (format == nullptr) continue;
    Result<ckpt::VerifiedStep> step = verify_foreign(fs, *format, listed_step.path, options);
    if (!step.ok() && step.status().code == ckpt::Code::kUnsupported)
      step = ckpt::VerifiedStep{listed_step.path, step.status(), {}};
    const bool deleted = !step.ok() && fs.stat(listed_step.path).status().code == ckpt::Code::kNotFound;
    if (!step.ok() && !deleted) return step.status();
    if (!summary.ok()) summary = ckpt::VerifySummary{.is_run = true};
    if (deleted)
      summary->deleted.push_back(listed_step.path);
    else
      summary->add(*std::move(step));
  }
  if (!summary.ok()) return explained(fs, options.target, summary.status());
  return summary;
}

}  // namespace titan::convert
