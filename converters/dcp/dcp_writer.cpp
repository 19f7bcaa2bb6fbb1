// create_dcp: one of our checkpoints as a DCP directory that torchtitan's checkpoint manager takes.
#include <algorithm>
#include <cmath>

#include "ckpt/base/text.h"
#include "ckpt/base/toml_text.h"
#include "ckpt/io/range_reader.h"
#include "ckpt/plan/lr_schedule.h"
#include "ckpt/plan/lr_settings.h"
#include "converters/cast.h"
#include "converters/dcp/agreement.h"
#include "converters/dcp/dcp_checkpoint.h"
#include "converters/dcp/flavor_args.h"
#include "converters/dcp/metadata_writer.h"
#include "converters/dcp/torchtitan.h"
#include "converters/skip.h"
#include "recipe/model/from_rows.h"

namespace titan::convert::dcp {
namespace {

constexpr const char* kDataFile = "__0_0.distcp";
constexpr const char* kEmbedding = "tok_embeddings.weight";
constexpr const char* kHead = "output.weight";
constexpr std::uint64_t kMostSteps = 100'000'000;

// What torchtitan needs beside tensors to go on.
struct RunState {
  double base_lr = 0, next_lr = 0;
  std::uint64_t step = 0, tokens = 0;
  recipe::Config::Optimizer optimizer;
};

struct TensorItem {
  std::vector<std::string> path;
  ckpt::TensorRef ref;
  DType from, to;
  std::vector<std::uint64_t> shape;
};
struct ValueItem {
  std::vector<std::string> path;
  Value value;
};
struct StepItem {
  std::vector<std::string> path;
  std::uint64_t step;
};

class DcpWriter final : public ForeignWriter {
 public:
  DcpWriter(const CheckpointReader& source, const ExportOptions& options)
      : source_(source), manifest_(source.manifest()), options_(options), skip_(options.skip) {}

  Status plan();
  const std::vector<TensorReport>& report() const override { return report_; }
  const std::vector<std::string>& notes() const override { return notes_; }
  std::uint64_t bytes() const override;
  const Rounding& rounding() const override { return rounding_; }
  Status write(Fs& fs, const std::string& folder, const Progress& progress) override;

 private:
  Status add_parameters();
  Status decide_run();
  Status check_curve(const ckpt::LrSchedule& lr);
  void add_slots(const ckpt::ParameterRecord& record, std::uint32_t index, const std::string& name);
  Result<std::uint64_t> data_ranks() const;
  Status note_flavor();
  void add_run(const std::vector<std::string>& names);
  Status write_tensor(AppendFile& file, const TensorItem& item, std::vector<WrittenItem>& written,
                      const Progress& progress, std::uint64_t& done);
  void add_tensor(std::vector<std::string> path, const ckpt::TensorRef& ref, const std::string& to);

  const CheckpointReader& source_;
  const ckpt::Manifest& manifest_;
  const ExportOptions options_;
  SkipRules skip_;
  ckpt::Settings rows_;  // what the checkpoint says, and of the model what only the configuration says
  std::optional<RunState> run_;
  std::vector<TensorItem> tensors_;
  std::vector<ValueItem> values_;
  std::vector<StepItem> steps_;
  std::vector<TensorReport> report_;
  std::vector<std::string> notes_;
  Rounding rounding_;
};

bool same_rate(double a, double b) { return std::abs(a - b) <= 1e-12 * std::max(std::abs(a), std::abs(b)); }

void DcpWriter::add_tensor(std::vector<std::string> path, const ckpt::TensorRef& ref, const std::string& to) {
  const ckpt::StoredTensor& stored = *manifest_.stored(ref);
  const bool cast_it = ref.slot.empty() && options_.dtype && is_castable(stored.dtype) && is_castable(*options_.dtype);
  const ckpt::ParameterMeta& meta = manifest_.parameters[ref.index].meta;
  tensors_.push_back({std::move(path), ref, stored.dtype, cast_it ? *options_.dtype : stored.dtype, meta.shape});
  report_.push_back({.from = manifest_.stored_name(ref),
                     .to = to,
                     .from_dtype = stored.dtype,
                     .to_dtype = tensors_.back().to,
                     .shape = meta.shape});
}

void DcpWriter::add_slots(const ckpt::ParameterRecord& record, std::uint32_t index, const std::string& name) {
  for (const ckpt::SlotTensor& slot : record.slots) {
    const std::string key = "state." + name + "." + slot.name;
    if (run_) {
      add_tensor({"optimizer", key}, {index, slot.name}, "optimizer." + key);
    } else {
      const std::string from = record.meta.name + "." + slot.name;
      const Fate fate = skip_.takes({from, "optimizer." + key}) ? Fate::kSkipped : Fate::kDropped;
      report_.push_back(uncast(from, fate, slot.tensor.dtype, record.meta.shape));
    }
  }
  if (run_) steps_.push_back({{"optimizer", "state." + name + ".step"}, record.optimizer_step});
}

Status DcpWriter::add_parameters() {
  std::vector<std::string> names;
  for (std::uint32_t p = 0; p < manifest_.parameters.size(); ++p) {
    const ckpt::ParameterRecord& record = manifest_.parameters[p];
    if (!record.model) continue;
    if (skip_.takes(record.meta.name)) {
      report_.push_back(uncast(record.meta.name, Fate::kSkipped, record.model->dtype, record.meta.shape));
      continue;
    }
    add_tensor({record.meta.name}, {p, ""}, record.meta.name);
    add_slots(record, p, record.meta.name);
    names.push_back(record.meta.name);
  }
  if (names.empty()) return ckpt::incompatible(source_.path() + " has no parameters to write");
  const ckpt::ParameterIndex by_name(manifest_);
  const auto embedding = by_name.find(kEmbedding);
  if (embedding && !by_name.find(kHead) && !skip_.takes(kHead)) {
    if (!options_.untie) {
      return ckpt::incompatible(source_.path() +
                                ": embedding and head are tied, and torchtitan's llama3 knows no tying")
          .with_hint(
              "--untie writes the head as a tensor of its own; training on from that is not the same continuation");
    }
    add_tensor({kHead}, {*embedding, ""}, kHead);
    add_slots(manifest_.parameters[*embedding], *embedding, kHead);
    names.push_back(kHead);
    notes_.push_back(
        "untied: output.weight is a copy of tok_embeddings.weight with its optimizer state; not the same continuation, "
        "for the two will part");
  }
  if (run_) add_run(names);
  return skip_.check_used(source_.path());
}

// torchtitan builds the future of its curve from its configuration alone: ours must be such a curve from here on.
Status DcpWriter::check_curve(const ckpt::LrSchedule& lr) {
  const ckpt::LrSchedule plain = ckpt::schedule_from(lr.accepted);
  const std::uint64_t end = std::max(ckpt::curve_end(lr.phases), ckpt::curve_end(plain.phases)) + 1;
  for (std::uint64_t n = manifest_.step + 1; n <= std::min(end, manifest_.step + kMostSteps); ++n) {
    const double ours = ckpt::lr_at(lr.phases, n), theirs = ckpt::lr_at(plain.phases, n);
    if (same_rate(ours, theirs)) continue;
    return ckpt::incompatible(source_.path() + ": its learning rate is not one curve of torchtitan: at step " +
                              std::to_string(n) + " it is " + ckpt::toml_float(ours) + ", the settings alone give " +
                              ckpt::toml_float(theirs))
        .with_hint("--lr-from-config --config torchtitan.toml takes the curve of that file from the next step on");
  }
  return {};
}

Status DcpWriter::decide_run() {
  const bool slots =
      std::ranges::any_of(manifest_.parameters, [](const auto& record) { return !record.slots.empty(); });
  const auto no_run = [&](const std::string& why) {
    notes_.push_back("the model alone is written: " + why + "; load it with checkpoint.initial_load_path");
    return ckpt::ok_status();
  };
  if (!slots) return no_run("the checkpoint has no optimizer state");
  bool left_out = false;  // torch takes the state of all parameters or of none
  for (const ckpt::ParameterRecord& record : manifest_.parameters)
    for (const ckpt::SlotTensor& slot : record.slots)
      left_out =
          skip_.takes({record.meta.name + "." + slot.name, "optimizer.state." + record.meta.name + "." + slot.name}) ||
          left_out;
  if (left_out) return no_run("the optimizer is left out as asked");
  const Result<ckpt::LrSchedule> lr = source_.lr_schedule();
  const Result<ckpt::TrainState> train = source_.train_state();
  for (const Status& status : {lr.status(), train.status()})
    if (!status.ok() && status.code != ckpt::Code::kNotFound) return status;
  if (!lr.ok() || !train.ok())
    return no_run("the checkpoint has no lr_scheduler or train_state, so the optimizer state could not be used");

  RunState run;
  std::vector<std::string> unsaid;
  for (const char* key : {"optimizer.beta1", "optimizer.beta2", "optimizer.eps", "optimizer.weight_decay"}) {
    if (ckpt::setting(rows_, key) != ckpt::kNotSet) continue;
    const std::string given = options_.config ? ckpt::setting(*options_.config, key) : ckpt::kNotSet;
    if (given == ckpt::kNotSet)
      unsaid.emplace_back(key);
    else
      rows_ = ckpt::with_rows(std::move(rows_), {{key, given}});
  }
  if (!unsaid.empty())
    return ckpt::incompatible(source_.path() + " does not say " + ckpt::joined(unsaid))
        .with_hint("give them with --config torchtitan.toml, or leave the optimizer out with --skip 'optimizer.*'");
  TITAN_ASSIGN_OR_RETURN(const recipe::Config own, read_torchtitan(rows_));
  run.optimizer = own.optimizer;
  ckpt::LrSettings settings = lr->accepted;
  if (options_.lr_from_config) {
    if (!options_.config) return ckpt::invalid("--lr-from-config needs --config torchtitan.toml");
    TITAN_ASSIGN_OR_RETURN(const recipe::Config given, read_torchtitan(*options_.config));
    settings = recipe::lr_settings(given);
    notes_.push_back("the learning rate's curve is that of the configuration, from step " +
                     std::to_string(manifest_.step + 1) + " on");
  } else {
    TITAN_RETURN_IF_ERROR(check_curve(*lr));
  }
  if (options_.config)
    TITAN_RETURN_IF_ERROR(
        check_agreement(source_.path(), rows_, lr->accepted, *options_.config, !options_.lr_from_config));
  run.base_lr = settings.peak;
  run.next_lr = next_lr(settings, manifest_.step);
  run.step = manifest_.step;
  TITAN_ASSIGN_OR_RETURN(const std::uint64_t world, data_ranks());
  run.tokens = train->tokens / world;
  run_ = run;
  notes_.push_back("train_state.ntokens_seen is the count of one of " + std::to_string(world) +
                   " data ranks: torchtitan counts right on as many");
  notes_.push_back(
      "put it at <dump_folder>/checkpoint/step-" + std::to_string(manifest_.step) +
      " and set checkpoint.exclude_from_loading = [\"dataloader\"]: the data position cannot be translated");
  std::vector<std::string> said;
  for (const auto& [key, value] : ckpt::lr_rows(settings))
    if (value != ckpt::kNotSet) said.push_back(key + " = " + value);
  notes_.push_back("torchtitan's configuration must say: " + ckpt::joined(said));
  return {};
}

// A DCP directory says nothing of the model. torchtitan takes it from its flavour.
Status DcpWriter::note_flavor() {
  const Result<ModelDims> model = recipe::dims_from_rows(source_.path(), rows_);
  if (!model.ok()) {
    notes_.push_back("the checkpoint does not say what heads, RoPE and eps torchtitan's flavour must have");
    return {};
  }
  TITAN_RETURN_IF_ERROR(check_flavor(source_.path(), *model));
  notes_.push_back("torchtitan's flavour must be " + flavor_text(*model) + " with a feed-forward of " +
                   std::to_string(model->ffn_dim));
  return {};
}

// torchtitan counts the tokens of one data rank. The configuration says how many ranks there are, else the checkpoint's
// mesh.
Result<std::uint64_t> DcpWriter::data_ranks() const {
  std::uint64_t world = std::max<std::uint32_t>(manifest_.mesh.dp, 1);
  if (options_.config) {
    TITAN_ASSIGN_OR_RETURN(const recipe::Config config, read_torchtitan(*options_.config));
    if (const std::uint64_t ranks = dcp::data_ranks(config); ranks > 0) world = ranks;
  }
  return world;
}

void DcpWriter::add_run(const std::vector<std::string>& names) {
  // The superset of what torch up to 2.11 looks for.
  const std::vector<std::pair<const char*, Value>> group = {
      {"lr", Value::of(run_->next_lr)},
      {"betas", Value::tuple({Value::of(run_->optimizer.beta1), Value::of(run_->optimizer.beta2)})},
      {"eps", Value::of(run_->optimizer.eps)},
      {"weight_decay", Value::of(run_->optimizer.weight_decay)},
      {"amsgrad", Value::boolean(false)},
      {"maximize", Value::boolean(false)},
      {"foreach", Value::boolean(false)},
      {"capturable", Value::boolean(false)},
      {"differentiable", Value::boolean(false)},
      {"fused", Value::boolean(true)},  // torchtitan's default implementation
      {"decoupled_weight_decay", Value::boolean(true)},
      {"initial_lr", Value::of(run_->base_lr)},
  };
  for (const std::string& name : names)
    for (const auto& [field, value] : group)
      values_.push_back({{"optimizer", "param_groups." + name + "." + field}, value});
  const auto step = static_cast<std::int64_t>(run_->step);
  values_.push_back({{"lr_scheduler", "base_lrs"}, Value::list({Value::of(run_->base_lr)})});
  values_.push_back({{"lr_scheduler", "last_epoch"}, Value::of(step)});
  values_.push_back({{"lr_scheduler", "_step_count"}, Value::of(step + 1)});
  values_.push_back({{"lr_scheduler", "_is_initial"}, Value::boolean(false)});
  values_.push_back({{"lr_scheduler", "_get_lr_called_within_step"}, Value::boolean(false)});
  values_.push_back({{"lr_scheduler", "_last_lr"}, Value::list({Value::of(run_->next_lr)})});
  values_.push_back({{"train_state", "step"}, Value::of(step)});
  values_.push_back({{"train_state", "ntokens_seen"}, Value::of(static_cast<std::int64_t>(run_->tokens))});
}

Status DcpWriter::plan() {
  if (ckpt::setting(manifest_.config, "model.qkv_bias") == "true") {
    return ckpt::unsupported(source_.path() +
                             ": its query, key and value projections have a bias, which torchtitan's llama3 lacks");
  }
  const Result<ckpt::TrainState> train = source_.train_state();
  rows_ = train.ok() ? ckpt::with_rows(manifest_.config, train->accepted) : manifest_.config;
  if (options_.config) {
    TITAN_ASSIGN_OR_RETURN(
        rows_, agreed_rows(source_.path(), rows_, *options_.config, {.torchtitan = true, .untie = options_.untie}));
  }
  TITAN_RETURN_IF_ERROR(decide_run());
  TITAN_RETURN_IF_ERROR(note_flavor());
  return add_parameters();
}

std::uint64_t DcpWriter::bytes() const {
  std::uint64_t sum = 0;
  for (const TensorItem& item : tensors_) sum += ckpt::element_count(item.shape) * ckpt::dtype_size(item.to);
  return sum;
}

Status DcpWriter::write_tensor(AppendFile& file, const TensorItem& item, std::vector<WrittenItem>& written,
                               const Progress& progress, std::uint64_t& done) {
  ckpt::RangeReader reader(source_, item.ref);
  const std::uint64_t size = ckpt::dtype_size(item.to);
  std::vector<std::byte> raw;
  const TensorBytes stream = [&](const PutBytes& put) -> Status {
    for (std::uint64_t first = 0; first < reader.elements(); first += reader.stride()) {
      const std::uint64_t count = std::min(reader.stride(), reader.elements() - first);
      TITAN_RETURN_IF_ERROR(put(count * size, [&](std::span<std::byte> out) -> Status {
        if (item.from == item.to) return reader.read(first, out);
        raw.resize(count * reader.element_size());
        TITAN_RETURN_IF_ERROR(reader.read(first, raw));
        rounding_.add(cast(item.from, raw, item.to, out), manifest_.parameters[item.ref.index].meta.name, first);
        return {};
      }));
      done += count * size;
      if (progress) TITAN_RETURN_IF_ERROR(progress(done, bytes()));
    }
    return {};
  };
  const std::string dtype(ckpt::dtype_name(item.to));
  TITAN_ASSIGN_OR_RETURN(const ItemRange range, append_tensor(file, dtype, item.shape, stream));
  written.push_back({item.path, dtype, item.shape, range});
  return {};
}

Status DcpWriter::write(Fs& fs, const std::string& folder, const Progress& progress) {
  TITAN_ASSIGN_OR_RETURN(const std::unique_ptr<AppendFile> file,
                         AppendFile::create(fs, ckpt::join_path(folder, kDataFile)));
  std::vector<WrittenItem> written;
  for (const ValueItem& item : values_) {
    TITAN_ASSIGN_OR_RETURN(const ItemRange range, append_value(*file, item.value));
    written.push_back({item.path, "", {}, range});
  }
  for (const StepItem& item : steps_) {
    const float step = static_cast<float>(item.step);
    TITAN_ASSIGN_OR_RETURN(const ItemRange range,
                           append_tensor(*file, "float32", {}, std::as_bytes(std::span(&step, 1))));
    written.push_back({item.path, "float32", {}, range});
  }
  std::uint64_t done = 0;
  for (const TensorItem& item : tensors_) TITAN_RETURN_IF_ERROR(write_tensor(*file, item, written, progress, done));
  TITAN_RETURN_IF_ERROR(file->finish());
  // Last: its existence says that the rest is there.
  const std::string metadata = encode_metadata(kDataFile, written);
  return ckpt::write_new_file(fs, ckpt::join_path(folder, kMetadataFile), std::as_bytes(std::span(metadata)));
}

}  // namespace

Result<std::unique_ptr<ForeignWriter>> create_dcp(const CheckpointReader& source, const ExportOptions& options) {
  auto writer = std::make_unique<DcpWriter>(source, options);
  TITAN_RETURN_IF_ERROR(writer->plan());
  return std::unique_ptr<ForeignWriter>(std::move(writer));
}

}  // namespace titan::convert::dcp
