// create_dcp: writes a Titan checkpoint as a DCP directory, for torchtitan's checkpoint manager or, with Hugging Face's
// names, for a program that trains a transformers model.
#include <algorithm>
#include <map>

#include "ckpt/base/files.h"
#include "ckpt/base/path.h"
#include "ckpt/base/text.h"
#include "ckpt/model/tensor_meta.h"
#include "ckpt/plan/lr_settings.h"
#include "ckpt/read/ema.h"
#include "converters/cast.h"
#include "converters/companions.h"
#include "converters/dcp/dcp_checkpoint.h"
#include "converters/dcp/flavor_args.h"
#include "converters/dcp/fused_qkv.h"
#include "converters/dcp/metadata_writer.h"
#include "converters/dcp/names.h"
#include "converters/dcp/written_run.h"
#include "converters/hf/families.h"
#include "converters/hf/hf_checkpoint.h"
#include "converters/hf/written_config.h"
#include "converters/name_map.h"
#include "converters/ordered_reader.h"
#include "converters/unsupported_parts.h"
#include "recipe/model/family.h"
#include "recipe/model/manifest_dims.h"

namespace titan::convert::dcp {
namespace {

constexpr const char* kDataFile = "__0_0.distcp";

struct TensorPart {
  ckpt::TensorRef ref;
  std::uint64_t head_dim = 0;  // not 0: rows are reordered to rotate-half order
};
struct TensorItem {
  std::vector<std::string> path;
  std::vector<TensorPart> parts;  // each part is cut into `blocks` equal blocks; the parts' blocks alternate
  DType from, to;
  std::vector<std::uint64_t> shape;
  std::uint64_t blocks = 1;
};
using OwnParts = std::map<std::string, std::uint32_t>;  // Titan's parameters, with their indices
struct StepItem {
  std::vector<std::string> path;
  std::uint64_t step;
};

class DcpWriter final : public ForeignWriter {
 public:
  DcpWriter(const CheckpointReader& source, const ExportOptions& options)
      : ForeignWriter(source, options),
        huggingface_(options.names == DcpNames::kHuggingface),
        newer_(options.names == DcpNames::kNewerTorchtitan) {}

  Status plan(Fs& fs);
  std::uint64_t bytes() const override;
  Status write(Fs& fs, const std::string& folder, const Progress& progress) override;

 private:
  Status find_model(Fs& fs);
  Status note_flavor();
  Result<std::string> their_name(const std::string& name) const;
  Status find_rotate_half_dim();
  Status add_parameters();
  Status add_parameter(std::uint32_t index, const std::string& name);
  Status add_tied_head(std::uint32_t embedding);
  void add_tensor(const std::string& name, const ckpt::TensorRef& ref);
  void add_slots(std::uint32_t index, const std::string& name);
  Status add_fused(const std::string& name, const OwnParts& own);
  TensorPart add_part(const ckpt::TensorRef& ref, const std::vector<std::string>& path, DType to);
  Status write_tensor(AppendFile& file, const TensorItem& item, std::vector<WrittenItem>& written,
                      const Progress& progress, std::uint64_t& done);

  const bool huggingface_;             // Hugging Face's names and row order
  const bool newer_;                   // torchtitan 0.3.0's names, and its fused moments
  ckpt::Settings rows_;                // the checkpoint's settings, and model settings that only the configuration has
  ModelDims model_;                    // set if the rows describe it, and always for Hugging Face's names
  std::uint64_t rotate_half_dim_ = 0;  // head_dim if rows are written in rotate-half order: with Hugging Face's names,
                                       // and in torchtitan's qwen3
  std::string config_json_;
  std::optional<WrittenRun> run_;
  std::vector<WrittenParameter> written_;
  std::map<std::string, OwnParts> fused_;  // moments that are stored in one tensor, by the tensor's name
  std::vector<TensorItem> tensors_;
  std::vector<ValueItem> values_;
  std::vector<StepItem> steps_;
};

void DcpWriter::add_tensor(const std::string& name, const ckpt::TensorRef& ref) {
  const ckpt::StoredTensor& stored = *manifest_.stored(ref);
  const bool cast_it =
      ref.slot.empty() && options_.dtype && ckpt::is_float(stored.dtype) && is_castable(*options_.dtype);
  const ckpt::ParameterMeta& meta = manifest_.parameters[ref.index].meta;
  std::vector<std::string> path = {name};
  if (huggingface_) path = {"model", name};
  if (!ref.slot.empty()) path = {"optimizer", "state." + name + "." + ref.slot};
  const DType to = cast_it ? *options_.dtype : stored.dtype;
  const TensorPart part = add_part(ref, path, to);
  tensors_.push_back({std::move(path), {part}, stored.dtype, to, meta.shape});
}

// Plans one of Titan's tensors as the whole or a part of the directory's tensor `path`, and reports it.
TensorPart DcpWriter::add_part(const ckpt::TensorRef& ref, const std::vector<std::string>& path, DType to) {
  const ckpt::ParameterMeta& meta = manifest_.parameters[ref.index].meta;
  const bool moves = rotate_half_dim_ > 2 && recipe::has_head_rows(meta.name);
  report_.push_back({.from = manifest_.stored_name(ref),
                     .to = ckpt::joined(path, "."),
                     .from_dtype = manifest_.stored(ref)->dtype,
                     .to_dtype = to,
                     .shape = meta.shape,
                     .permuted = moves});
  return {ref, moves ? rotate_half_dim_ : 0};
}

// Adds a parameter's optimizer state. `name`: its name in the directory; "" if its moments are part of a fused tensor.
void DcpWriter::add_slots(std::uint32_t index, const std::string& name) {
  const ckpt::ParameterRecord& record = manifest_.parameters[index];
  for (const ckpt::SlotTensor& slot : record.slots) {
    if (run_ && slot.name != ckpt::kEma) {  // torch's optimizer has no EMA
      if (!name.empty()) add_tensor(name, {index, slot.name});
      continue;
    }
    const std::string from = record.meta.name + "." + slot.name;
    const Fate fate = skip_.takes({from, "optimizer.state." + from}) ? Fate::kSkipped : Fate::kDropped;
    report_.push_back(uncast(from, fate, slot.tensor.dtype, record.meta.shape));
  }
  if (run_ && !name.empty()) steps_.push_back({{"optimizer", "state." + name + ".step"}, record.optimizer_step});
}

Result<std::string> DcpWriter::their_name(const std::string& name) const {
  if (!huggingface_ && !newer_) return name;
  const std::optional<MappedName> theirs = (huggingface_ ? huggingface_names() : torchtitan_names()).theirs(name);
  if (theirs) return theirs->name;
  if (newer_) return name;
  return ckpt::incompatible(source_.path() + ": tensor '" + name + "' has no place in Hugging Face's model")
      .with_hint("leave it out with --skip GLOB");
}

Status DcpWriter::add_parameter(std::uint32_t index, const std::string& name) {
  TITAN_ASSIGN_OR_RETURN(const std::string theirs, their_name(name));
  add_tensor(theirs, {index, ""});
  const std::optional<std::string> home = newer_ && run_ ? fused_home(name) : std::nullopt;
  written_.push_back({home.value_or(theirs), name});
  if (home) fused_[*home][name] = index;
  add_slots(index, home ? "" : theirs);
  return {};
}

// Adds the moments of queries, keys and values as one tensor with alternating rows (fused_qkv.h).
Status DcpWriter::add_fused(const std::string& name, const OwnParts& own) {
  const std::uint64_t head = rotate_half_dim_ != 0 ? rotate_half_dim_ : static_cast<std::uint64_t>(model_.head_dim);
  std::vector<std::uint32_t> indices;
  std::vector<ckpt::ParameterMeta> metas;
  for (const FusedPart& part : fused_parts(name, 1, 0)) {
    const auto at = own.find(part.parameter);
    if (at == own.end())
      return ckpt::incompatible(source_.path() + ": '" + part.parameter +
                                "' is left out, and torchtitan 0.3.0 has queries, keys and values in one tensor, '" +
                                name + "'")
          .with_hint("leave the optimizer out as well: --skip 'optimizer.*'");
    indices.push_back(at->second);
    metas.push_back(manifest_.parameters[at->second].meta);
  }
  TITAN_ASSIGN_OR_RETURN(const FusedShape fused, fused_shape(source_.path(), name, metas, head));
  const ckpt::ParameterRecord& first = manifest_.parameters[indices.front()];
  for (const ckpt::SlotTensor& slot : first.slots) {
    if (slot.name == ckpt::kEma) continue;
    const DType dtype = slot.tensor.dtype;
    TensorItem item{{"optimizer", "state." + name + "." + slot.name}, {}, dtype, dtype, fused.shape, fused.kv_heads};
    for (const std::uint32_t index : indices) {
      const ckpt::StoredTensor* stored = manifest_.stored({index, slot.name});
      if (stored == nullptr || stored->dtype != dtype)
        return ckpt::incompatible(source_.path() + ": " + manifest_.stored_name({index, slot.name}) +
                                  " is not stored as " + std::string(ckpt::dtype_name(dtype)) + ", as that of '" +
                                  first.meta.name + "' is, and torchtitan 0.3.0 has both in one tensor");
      item.parts.push_back(add_part({index, slot.name}, item.path, dtype));
    }
    tensors_.push_back(std::move(item));
  }
  steps_.push_back({{"optimizer", "state." + name + ".step"}, first.optimizer_step});
  return {};
}

// torchtitan's llama3 has no tied embeddings. In the state of a tied transformers model, and of torchtitan's qwen3, the
// head has its own name, but the optimizer has one state for both.
Status DcpWriter::add_tied_head(std::uint32_t embedding) {
  TITAN_ASSIGN_OR_RETURN(const std::string head, their_name(std::string(recipe::kHeadName)));
  if (options_.untie) {
    notes_.push_back("untied: " + std::string(recipe::kHeadName) + " is a copy of " +
                     std::string(recipe::kEmbeddingName) +
                     " with its optimizer state; not the same continuation, for the two will part");
    written_.push_back({head, std::string(recipe::kEmbeddingName)});
    add_tensor(head, {embedding, ""});
    add_slots(embedding, head);
    return {};
  }
  if (!huggingface_ && rotate_half_dim_ == 0)
    return ckpt::incompatible(source_.path() + ": embedding and head are tied, and torchtitan's llama3 knows no tying")
        .with_hint(
            "--untie writes the head as a tensor of its own; training on from that is not the same continuation");
  add_tensor(head, {embedding, ""});
  return {};
}

Status DcpWriter::add_parameters() {
  std::vector<std::string> left_out;
  for (std::uint32_t p = 0; p < manifest_.parameters.size(); ++p) {
    const ckpt::ParameterRecord& record = manifest_.parameters[p];
    const std::string& name = record.meta.name;
    if (!record.model) continue;
    if (!skip_.takes(name)) {
      TITAN_RETURN_IF_ERROR(add_parameter(p, name));
      continue;
    }
    report_.push_back(uncast(name, Fate::kSkipped, record.model->dtype, record.meta.shape));
    if (model_order(name).of_model()) left_out.push_back(name);
  }
  if (written_.empty()) return ckpt::incompatible(source_.path() + " has no parameters to write");
  const ckpt::ParameterIndex by_name(manifest_);
  const std::string head(recipe::kHeadName);
  const auto embedding = by_name.find(std::string(recipe::kEmbeddingName));
  if (embedding && !by_name.find(head)) {
    if (skip_.takes(head))
      left_out.push_back(head);
    else
      TITAN_RETURN_IF_ERROR(add_tied_head(*embedding));
  }
  if (!left_out.empty())
    notes_.push_back("left out as asked, of the model itself: " + listed(left_out) +
                     ": only a load that allows for missing keys takes the rest (DefaultLoadPlanner(allow_partial_load="
                     "True)), and torchtitan's does not");
  for (const auto& [name, own] : fused_) TITAN_RETURN_IF_ERROR(add_fused(name, own));
  if (run_) {
    TITAN_ASSIGN_OR_RETURN(values_, run_values(*run_, options_.names, written_, notes_));
  }
  return skip_.check_used(source_.path());
}

// Finds the model. Hugging Face's names need it for the head size (row order) and for the config.json to write.
Status DcpWriter::find_model(Fs& fs) {
  TITAN_ASSIGN_OR_RETURN(model_, recipe::dims_from_rows(source_.path(), rows_));
  TITAN_RETURN_IF_ERROR(check_parameters(source_, model_, skip_));
  const DType weights = manifest_.parameters.empty() || !manifest_.parameters[0].model
                            ? DType::kF32
                            : manifest_.parameters[0].model->dtype;
  TITAN_ASSIGN_OR_RETURN(const WrittenConfig config,
                         written_config(fs, model_, rows_, options_.dtype.value_or(weights), options_, notes_));
  config_json_ = config.json.write();
  notes_.push_back(
      "names are Hugging Face's: load it with torch.distributed.checkpoint.load as {\"model\": ..., \"optimizer\": "
      "...} (docs/formats.md)");
  return {};
}

// Notes the flavour that torchtitan needs for this model, because a DCP directory does not describe the model.
Status DcpWriter::note_flavor() {
  const Result<ModelDims> model = recipe::dims_from_rows(source_.path(), rows_);
  if (!model.ok()) {
    notes_.push_back("the checkpoint does not say what heads, RoPE and eps torchtitan's flavour must have");
    return {};
  }
  model_ = *model;
  TITAN_RETURN_IF_ERROR(check_flavor(source_.path(), model_));
  notes_.push_back("torchtitan's flavour must be " +
                   (newer_ ? newer_flavor_text(model_)
                           : flavor_text(model_) + " with a feed-forward of " + std::to_string(model_.ffn_dim)));
  return {};
}

// Sets `rotate_half_dim_` if rows of heads are written in rotate-half order: with Hugging Face's names, and in models
// with norms of queries and keys (torchtitan's qwen3). Such a norm has one weight per row of a head.
Status DcpWriter::find_rotate_half_dim() {
  if (huggingface_) {
    rotate_half_dim_ = static_cast<std::uint64_t>(model_.head_dim);
    return {};
  }
  const ckpt::ParameterIndex by_name(manifest_);
  const auto norm = by_name.find(recipe::name_of(recipe::Part::kQueryNorm));
  if (!norm) return {};
  const std::vector<std::uint64_t>& size = manifest_.parameters[*norm].meta.shape;
  rotate_half_dim_ = size.empty() ? 0 : size[0];
  for (const ckpt::ParameterRecord& record : manifest_.parameters) {
    const ckpt::ParameterMeta& meta = record.meta;
    if (!recipe::has_head_rows(meta.name)) continue;
    if (rotate_half_dim_ < 2 || rotate_half_dim_ % 2 != 0 || meta.shape.empty() ||
        meta.shape[0] % rotate_half_dim_ != 0)
      return ckpt::incompatible(source_.path() + ": tensor '" + meta.name + "' has the shape " +
                                ckpt::shape_text(meta.shape) + ", which makes no whole heads of " +
                                std::to_string(rotate_half_dim_) + " rows");
  }
  return {};
}

Status DcpWriter::plan(Fs& fs) {
  if (!huggingface_ && ckpt::setting(manifest_.config, "model.qkv_bias") == "true") {
    return ckpt::unsupported(source_.path() +
                             ": its query, key and value projections have a bias, which torchtitan's llama3 lacks")
        .with_hint("--names hf writes such a model, and --to hf");
  }
  const Result<ckpt::TrainState> train = source_.train_state();
  rows_ = train.ok() ? ckpt::with_rows(manifest_.config, train->accepted) : manifest_.config;
  // The plan of a foreign checkpoint has already used the configuration, by its format's rules.
  if (options_.config && !(huggingface_ && source_.foreign())) {
    TITAN_ASSIGN_OR_RETURN(rows_, agreed_rows(source_.path(), rows_, *options_.config,
                                              {.torchtitan = !huggingface_, .untie = options_.untie}));
  }
  if (const char* part = huggingface_ ? newer_tensors(rows_) : newer_part(rows_)) {
    const Status refused = ckpt::unsupported(source_.path() + ": a model with " + part + " is not written into DCP " +
                                             "folders yet" + (huggingface_ ? "" : " under torchtitan's names"));
    if (newer_tensors(rows_) == nullptr) return refused.with_hint("--names hf writes such a model, and --to hf");
    const Result<recipe::ModelDims> model = recipe::dims_from_rows(source_.path(), rows_);
    return model.ok() ? refused.with_hint(huggingface_writes(*model)) : refused;
  }
  TITAN_ASSIGN_OR_RETURN(run_, find_written_run(source_, options_, skip_, rows_, notes_));
  TITAN_RETURN_IF_ERROR(huggingface_ ? find_model(fs) : note_flavor());
  TITAN_RETURN_IF_ERROR(find_rotate_half_dim());
  return add_parameters();
}

std::uint64_t DcpWriter::bytes() const {
  std::uint64_t sum = 0;
  for (const TensorItem& item : tensors_) sum += ckpt::element_count(item.shape) * ckpt::dtype_size(item.to);
  return sum;
}

Status DcpWriter::write_tensor(AppendFile& file, const TensorItem& item, std::vector<WrittenItem>& written,
                               const Progress& progress, std::uint64_t& done) {
  std::vector<OrderedReader> readers;
  for (const TensorPart& part : item.parts) {
    TITAN_ASSIGN_OR_RETURN(OrderedReader reader, OrderedReader::open(source_, part.ref, part.head_dim));
    readers.push_back(std::move(reader));
  }
  const std::uint64_t size = ckpt::dtype_size(item.to);
  std::vector<std::byte> raw;
  const auto share = [&](std::size_t part, std::uint64_t block, const PutBytes& put) -> Status {
    OrderedReader& reader = readers[part];
    const std::string& name = manifest_.parameters[item.parts[part].ref.index].meta.name;
    const std::uint64_t elements = reader.elements() / item.blocks, end = (block + 1) * elements;
    for (std::uint64_t first = block * elements; first < end; first += reader.stride()) {
      const std::uint64_t count = std::min(reader.stride(), end - first);
      TITAN_RETURN_IF_ERROR(put(count * size, [&](std::span<std::byte> out) -> Status {
        if (item.from == item.to) return reader.read(first, out);
        raw.resize(count * reader.element_size());
        TITAN_RETURN_IF_ERROR(reader.read(first, raw));
        rounding_.add(cast(item.from, raw, item.to, out), name, first);
        return {};
      }));
      done += count * size;
      if (progress) TITAN_RETURN_IF_ERROR(progress(done, bytes()));
    }
    return {};
  };
  const TensorBytes stream = [&](const PutBytes& put) -> Status {
    for (std::uint64_t block = 0; block < item.blocks; ++block)
      for (std::size_t part = 0; part < readers.size(); ++part) TITAN_RETURN_IF_ERROR(share(part, block, put));
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
  if (!config_json_.empty()) {
    TITAN_RETURN_IF_ERROR(
        ckpt::write_new_file(fs, ckpt::join_path(folder, kHfConfig), std::as_bytes(std::span(config_json_))));
    TITAN_RETURN_IF_ERROR(copy_companions(fs, options_.companions, folder, is_further_companion));
  }
  // Written last: its existence means that all other files are complete.
  const std::string metadata = encode_metadata(kDataFile, written);
  return ckpt::write_new_file(fs, ckpt::join_path(folder, kMetadataFile), std::as_bytes(std::span(metadata)));
}

}  // namespace

Result<std::unique_ptr<ForeignWriter>> create_dcp(Fs& fs, const CheckpointReader& source,
                                                  const ExportOptions& options) {
  return planned<DcpWriter>(fs, source, options);
}

}  // namespace titan::convert::dcp
