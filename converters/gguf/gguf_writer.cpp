
#include <algorithm>
#include <cmath>
#include <limits>

#include "ckpt/base/fs.h"
#include "ckpt/base/path.h"
#include "ckpt/base/text.h"
#include "converters/cast.h"
#include "converters/gguf/gguf_bytes.h"
#include "converters/gguf/gguf_checkpoint.h"
#include "converters/gguf/gguf_model.h"
#include "converters/hf/families.h"
#include "converters/hf/written_config.h"
#include "converters/model_only.h"
#include "converters/name_map.h"
#include "converters/unsupported_parts.h"
#include "recipe/model/manifest_dims.h"

namespace titan::convert {

namespace {

constexpr const char* kOnlyFile = "model.gguf";  // name in the temporary folder; the destination has its own name
constexpr std::uint64_t kMaxNumber = std::numeric_limits<std::uint32_t>::max();

struct GgufItem {
  ckpt::TensorRef ref;
  DType from;
  std::uint64_t head_dim = 0;  // not 0: rows are reordered to rotate-half order
};

class GgufWriter final : public ModelWriter {
 public:
  using ModelWriter::ModelWriter;

  Status plan(Fs& fs);
  Status write(Fs& fs, const std::string& folder, const Progress& progress) override;

 private:
  Status check_model() override;
  Status add(std::uint32_t parameter) override;
  Status add_item(std::uint32_t parameter, const std::string& name, std::uint64_t head_dim);
  void add_rope_table();
  Status describe(Fs& fs);
  const GgmlType& type_of(DType from, const std::vector<std::uint64_t>& shape);
  Result<Block> as_written(std::size_t index, std::uint64_t at, Block data);

  std::string architecture_;
  GgufBytes head_;
  std::vector<GgufEntry> entries_;
  std::vector<GgufItem> items_;  // one per entry, except the last entry if that is the RoPE table
  std::vector<float> rope_;
  // Counts for notes: tensors kept as float32 because they have one dimension; tensors written as float16 because
  // their rows do not fill blocks of 32.
  std::size_t small_ = 0, odd_ = 0;
};

Status GgufWriter::plan(Fs& fs) {
  TITAN_RETURN_IF_ERROR(plan_model(options_.untie));
  if (model_.rope_scaling) add_rope_table();
  TITAN_RETURN_IF_ERROR(describe(fs));
  if (small_ > 0)
    notes_.push_back(std::to_string(small_) +
                     " tensors of one dimension are written as float32: llama.cpp expects norms and biases so");
  if (odd_ > 0)
    notes_.push_back(std::to_string(odd_) + " tensors have rows that no blocks of 32 fill: written as float16");
  notes_.push_back(
      "no tokenizer is written, which a program needs that reads text: convert_hf_to_gguf.py of llama.cpp writes it, "
      "from "
      "a Hugging Face folder (--to hf)");
  if (manifest_.component(ckpt::kOptimizer) != nullptr)
    notes_.push_back("the optimizer's state and the position of the run have no place in this format");
  return {};
}

Status GgufWriter::add(std::uint32_t parameter) {
  const std::string& name = manifest_.parameters[parameter].meta.name;
  const std::optional<MappedName> mapped = gguf_tensor_names().theirs(name);
  if (!mapped || (model_.tied && name == recipe::kHeadName)) return no_place(name);
  const bool rotate_half = architecture_ != "llama" && mapped->rows != Rows::kStay && model_.head_dim != 2;
  TITAN_RETURN_IF_ERROR(add_item(parameter, mapped->name, rotate_half ? model_.head_dim : 0));
  if (!model_.tied || name != recipe::kEmbeddingName) return {};
  if (options_.untie) return add_item(parameter, kGgufHead, 0);
  report_tied_head();
  return {};
}

// Norms and biases are float32, as in every file of llama.cpp's own converter.
const GgmlType& GgufWriter::type_of(DType from, const std::vector<std::uint64_t>& shape) {
  if (shape.size() <= 1) {
    small_ += from != DType::kF32 || options_.dtype || options_.q8_0 ? 1 : 0;
    return plain_type(DType::kF32);
  }
  if (!options_.q8_0) return plain_type(options_.dtype.value_or(from));
  if (shape.back() % q8_0().elements == 0) return q8_0();
  ++odd_;
  return plain_type(DType::kF16);
}

Status GgufWriter::add_item(std::uint32_t parameter, const std::string& name, std::uint64_t head_dim) {
  const ckpt::ParameterRecord& record = manifest_.parameters[parameter];
  const DType from = record.model->dtype;
  const bool casts = options_.q8_0 || (options_.dtype && is_castable(*options_.dtype));
  if (!ckpt::is_float(from) || (!is_castable(from) && !casts))
    return ckpt::unsupported("'" + record.meta.name + "' of " + source_.path() + " is stored as " +
                             std::string(ckpt::dtype_name(from)) + ": expected float32, bfloat16 or float16")
        .with_hint("--dtype f32 casts it");
  const GgmlType& type = type_of(from, record.meta.shape);
  entries_.push_back({name, record.meta.shape, &type});
  items_.push_back({{parameter, ""}, from, head_dim});
  report_.push_back({.from = record.meta.name,
                     .to = name,
                     .from_dtype = from,
                     .to_dtype = type.dtype(),
                     .shape = record.meta.shape,
                     .permuted = head_dim != 0,
                     .quantised = type.plain ? "" : type.name});
  bytes_ += entries_.back().bytes();
  return {};
}

void GgufWriter::add_rope_table() {
  rope_ = rope_factors(model_, *model_.rope_scaling);
  entries_.push_back({kGgufRope, {rope_.size()}, &plain_type(DType::kF32)});
  bytes_ += entries_.back().bytes();
}

// Refuses models of which a GGUF file would silently lose a part.
Status GgufWriter::check_model() {
  if (const char* part = newer_part(recipe::model_rows(model_)))
    return ckpt::unsupported(source_.path() + ": a model with " + part + " is not written into GGUF files yet")
        .with_hint(huggingface_writes(model_));
  const std::optional<std::string> architecture = gguf_architecture(model_);
  if (!architecture)
    return ckpt::unsupported(source_.path() + ": no architecture of llama.cpp has both norms and biases of q and k");
  architecture_ = *architecture;
  // llama.cpp applies the table of factors only in the architecture llama.
  const bool table = architecture_ == "llama";
  if (model_.rope_scaling && !(table && model_.rope_scaling->kind == recipe::RopeScaling::Kind::kLlama3))
    return ckpt::unsupported(source_.path() + ": RoPE is scaled in the way '" +
                             recipe::rope_kind_name(model_.rope_scaling->kind) +
                             "', which is not written into GGUF files of " + architecture_ + " yet: expected none" +
                             (table ? " or llama3" : ""))
        .with_hint("convert_hf_to_gguf.py of llama.cpp writes it, from a Hugging Face folder (--to hf)");
  return {};
}

Status GgufWriter::describe(Fs& fs) {
  const std::string prefix = architecture_ + ".";
  // general.file_type is the type of the largest tensor, in llama.cpp's numbering of file types.
  const auto elements = [](const GgufEntry& entry) { return ckpt::element_count(entry.shape); };
  const GgmlType& most = *std::max_element(entries_.begin(), entries_.end(), [&](const auto& a, const auto& b) {
                            return elements(a) < elements(b);
                          })->type;
  const std::uint64_t file_type = !most.plain                   ? 7
                                  : *most.plain == DType::kF16  ? 1
                                  : *most.plain == DType::kBF16 ? 32
                                                                : 0;
  TITAN_ASSIGN_OR_RETURN(const std::uint64_t longest,
                         written_context(fs, model_, manifest_.config, options_, "context_length", notes_));
  const auto size = [](std::int64_t value) { return static_cast<std::uint64_t>(value); };
  for (const auto& [key, value] : recipe::kModelSizes)
    if (size(model_.*value) > kMaxNumber)
      return ckpt::unsupported(std::string(key) + " = " + std::to_string(model_.*value) + " is beyond 32 bits");
  head_.put_text("general.architecture", architecture_);
  head_.put_text("general.type", "model");
  head_.put_u32("general.file_type", file_type);
  head_.put_u32("general.quantization_version", 2);
  head_.put_u32(prefix + "block_count", size(model_.n_layers));
  head_.put_u32(prefix + "context_length", std::min(longest, kMaxNumber));
  head_.put_u32(prefix + "embedding_length", size(model_.dim));
  head_.put_u32(prefix + "feed_forward_length", size(model_.ffn_dim));
  head_.put_u32(prefix + "attention.head_count", size(model_.n_heads));
  head_.put_u32(prefix + "attention.head_count_kv", size(model_.n_kv_heads));
  head_.put_f32(prefix + "attention.layer_norm_rms_epsilon", model_.norm_eps);
  head_.put_u32(prefix + "attention.key_length", size(model_.head_dim));
  head_.put_u32(prefix + "attention.value_length", size(model_.head_dim));
  head_.put_f32(prefix + "rope.freq_base", model_.rope_theta);
  head_.put_u32(prefix + "rope.dimension_count", size(model_.head_dim));
  head_.put_u32(prefix + "vocab_size", size(model_.vocab_size));
  if (model_.rope_scaling) head_.put_text(kGgufTitanRope, recipe::rope_scaling_text(*model_.rope_scaling));
  head_.put_text("tokenizer.ggml.model", "none");
  return {};
}

Status GgufWriter::write(Fs& fs, const std::string& folder, const Progress& progress) {
  done_ = 0;
  std::uint64_t end = 0;
  const std::string head = head_.finish(entries_, &end);
  TITAN_ASSIGN_OR_RETURN(const std::unique_ptr<ckpt::File> file, fs.create(ckpt::join_path(folder, kOnlyFile)));
  TITAN_RETURN_IF_ERROR(file->pwrite(0, std::as_bytes(std::span(head))));
  WriteBehind behind(*file);
  for (std::size_t i = 0; i < items_.size(); ++i) {
    const GgmlType& type = *entries_[i].type;  // written in whole blocks; a row fills whole blocks, so a head does too
    const auto make = [&](std::uint64_t at, Block data) { return as_written(i, at, std::move(data)); };
    TITAN_RETURN_IF_ERROR(
        write_elements(behind, entries_[i].offset, items_[i].ref, items_[i].head_dim, type.elements, make, progress));
  }
  if (!rope_.empty()) {
    const auto bytes = std::as_bytes(std::span(rope_));
    behind.put(entries_.back().offset, {bytes.begin(), bytes.end()});
  }
  TITAN_RETURN_IF_ERROR(behind.finish());
  TITAN_RETURN_IF_ERROR(file->truncate(end));  // unwritten bytes are zero
  TITAN_RETURN_IF_ERROR(file->datasync());
  return file->close();
}

// The error of quantising `values` to the Q8_0 blocks `blocks`.
ckpt::RoundingError error_of(std::span<const float> values, std::span<const std::byte> blocks) {
  ckpt::RoundingError error;
  float back[kMaxBlockElements];
  const GgmlType& type = q8_0();
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i % type.elements == 0) type.decode(&blocks[i / type.elements * type.bytes], back);
    const double difference = std::fabs(static_cast<double>(back[i % type.elements]) - static_cast<double>(values[i]));
    if (difference > 0) ++error.rounded;
    if (difference <= error.largest) continue;
    error.largest = difference;
    error.at = i;
  }
  return error;
}

Result<WriteBehind::Block> GgufWriter::as_written(std::size_t index, std::uint64_t at, Block data) {
  const GgufItem& item = items_[index];
  const GgufEntry& entry = entries_[index];
  if (entry.type->plain) return cast_block(item.from, *entry.type->plain, entry.name, at, std::move(data));
  const std::uint64_t count = data.size() / ckpt::dtype_size(item.from);
  Block out(count / entry.type->elements * entry.type->bytes);
  std::vector<float> values(count);
  cast(item.from, data, DType::kF32, std::as_writable_bytes(std::span(values)));
  constexpr float kLargest = 127.0f * 65504.0f;
  const auto wrong = std::find_if(values.begin(), values.end(), [](float x) { return !(std::fabs(x) <= kLargest); });
  if (wrong != values.end())
    return ckpt::unsupported("'" + entry.name + "' cannot be written as Q8_0: element " +
                             std::to_string(at + static_cast<std::uint64_t>(wrong - values.begin())) +
                             " is not finite, or too large");
  quantise_q8_0(values, out);
  rounding_.add(error_of(values, out), entry.name, at);
  return out;
}

}  // namespace

Result<std::unique_ptr<ForeignWriter>> create_gguf(Fs& fs, const CheckpointReader& source,
                                                   const ExportOptions& options) {
  return planned<GgufWriter>(fs, source, options);
}

}  // namespace titan::convert
