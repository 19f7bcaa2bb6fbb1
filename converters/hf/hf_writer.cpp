
#include <algorithm>
#include <map>

#include "ckpt/base/files.h"
#include "ckpt/base/fs.h"
#include "ckpt/base/path.h"
#include "ckpt/base/printed.h"
#include "ckpt/format/json_writer.h"
#include "converters/companions.h"
#include "converters/hf/byte_tokenizer.h"
#include "converters/hf/hf_checkpoint.h"
#include "converters/hf/hf_config.h"
#include "converters/hf/safetensors.h"
#include "converters/hf/written_config.h"
#include "converters/model_only.h"
#include "converters/name_map.h"
#include "recipe/model/family.h"
#include "recipe/model/manifest_dims.h"

namespace titan::convert {

using ckpt::join_path;

namespace {

constexpr std::uint64_t kMaxTokenizerBytes = std::uint64_t{64} << 20;

struct Item {
  std::string name;
  ckpt::TensorRef ref;
  DType from, to;
  std::uint64_t head_dim = 0;  // not 0: rows are reordered to rotate-half order
};

std::string file_name(std::size_t i, std::size_t count) {
  if (count == 1) return kHfWeights;
  return ckpt::printed("model-%05zu-of-%05zu.safetensors", i + 1, count);
}

Status write_text(Fs& fs, const std::string& path, const std::string& text) {
  return ckpt::write_new_file(fs, path, std::as_bytes(std::span(text)));
}

class HfWriter final : public ModelWriter {
 public:
  using ModelWriter::ModelWriter;

  Status plan(Fs& fs);
  Status write(Fs& fs, const std::string& folder, const Progress& progress) override;

 private:
  Status check_model() override {
    names_ = huggingface_names().of(model_);
    return check_dtype();
  }
  Status add(std::uint32_t parameter) override;
  void add_item(std::uint32_t parameter, const std::string& name, std::uint64_t head_dim);
  void cut_files();
  Status settle_tokenizer(Fs& fs);
  std::uint64_t item_bytes(const Item& item) const {
    return ckpt::element_count(manifest_.parameters[item.ref.index].meta.shape) * ckpt::dtype_size(item.to);
  }
  Status write_file(Fs& fs, const std::string& path, const std::vector<Item>& items, const Progress& progress);
  std::string index_text() const;

  std::optional<NameMap> names_;  // Hugging Face's names for the model's family
  std::vector<Item> items_;
  std::vector<std::vector<Item>> files_;
  JsonValue config_;
  bool byte_tokenizer_ = false;  // the byte tokenizer is written
};

Status HfWriter::plan(Fs& fs) {
  TITAN_RETURN_IF_ERROR(plan_model(options_.untie));
  cut_files();
  TITAN_ASSIGN_OR_RETURN(WrittenConfig written,
                         written_config(fs, model_, manifest_.config, files_[0][0].to, options_, notes_));
  config_ = std::move(written.json);
  TITAN_RETURN_IF_ERROR(settle_tokenizer(fs));
  if (manifest_.component(ckpt::kOptimizer) != nullptr)
    notes_.push_back("the optimizer's state and the position of the run have no place in this format");
  return ckpt::ok_status();
}

Status HfWriter::add(std::uint32_t parameter) {
  const ckpt::ParameterRecord& record = manifest_.parameters[parameter];
  const std::string& name = record.meta.name;
  const std::optional<MappedName> mapped = names_->theirs(name);
  if (!mapped || (model_.tied && name == recipe::kHeadName)) return no_place(name);
  const std::uint64_t head_dim = mapped->rows == Rows::kStay || model_.head_dim == 2 ? 0 : model_.head_dim;
  add_item(parameter, mapped->name, head_dim);
  if (!model_.tied || name != recipe::kEmbeddingName) return ckpt::ok_status();
  if (options_.untie)
    add_item(parameter, std::string(recipe::kHuggingfaceHead), 0);
  else
    report_tied_head();
  return ckpt::ok_status();
}

void HfWriter::add_item(std::uint32_t parameter, const std::string& name, std::uint64_t head_dim) {
  const ckpt::ParameterRecord& record = manifest_.parameters[parameter];
  const DType from = record.model->dtype;
  const DType to = options_.dtype && ckpt::is_float(from) ? *options_.dtype : from;
  items_.push_back({name, {parameter, ""}, from, to, head_dim});
  report_.push_back({.from = record.meta.name,
                     .to = name,
                     .from_dtype = from,
                     .to_dtype = to,
                     .shape = record.meta.shape,
                     .permuted = head_dim != 0});
  bytes_ += item_bytes(items_.back());
}

// Divides the tensors over files in model order, as transformers does: a new file begins with the tensor that would
// make the current one too large.
void HfWriter::cut_files() {
  std::uint64_t size = 0;
  for (Item& item : items_) {
    const std::uint64_t bytes = item_bytes(item);
    if (files_.empty() || (size > 0 && bytes > options_.max_shard_bytes - std::min(size, options_.max_shard_bytes))) {
      files_.emplace_back();
      size = 0;
    }
    size += bytes;
    files_.back().push_back(std::move(item));
  }
}

// Decides about the byte tokenizer: a model trained on bytes gets it. Other runs that began from random weights, and
// checkpoints that came without companions, get no tokenizer.
Status HfWriter::settle_tokenizer(Fs& fs) {
  const bool there =
      std::ranges::any_of(options_.companions, [](const Companion& file) { return is_vocabulary(file.name); });
  const bool bytes = recipe::reads_bytes(manifest_.config);
  byte_tokenizer_ = bytes && !there;
  if (byte_tokenizer_) return ckpt::ok_status();
  if (bytes) {
    TITAN_ASSIGN_OR_RETURN(const std::string text,
                           read_companion(fs, options_.companions, kHfTokenizer, kMaxTokenizerBytes));
    if (!is_byte_tokenizer(text))
      notes_.push_back(
          "the run trained on bytes (training.dataset = \"text\"); "
          "the tokenizer files are those of the model that it began from, and have other ids");
  }
  if (there) return ckpt::ok_status();
  const bool generation = std::ranges::any_of(
      options_.companions, [](const Companion& file) { return file.name == "generation_config.json"; });
  notes_.push_back(std::string("no tokenizer files are in the checkpoint: copy ") +
                   (generation ? "tokenizer.json and tokenizer_config.json"
                               : "tokenizer.json, tokenizer_config.json and generation_config.json") +
                   " of the model that this one began from into the folder");
  return ckpt::ok_status();
}

Status HfWriter::write(Fs& fs, const std::string& folder, const Progress& progress) {
  done_ = 0;
  for (std::size_t i = 0; i < files_.size(); ++i)
    TITAN_RETURN_IF_ERROR(write_file(fs, join_path(folder, file_name(i, files_.size())), files_[i], progress));
  if (files_.size() > 1) TITAN_RETURN_IF_ERROR(write_text(fs, join_path(folder, kHfIndex), index_text()));
  TITAN_RETURN_IF_ERROR(write_text(fs, join_path(folder, kHfConfig), config_.write()));
  if (byte_tokenizer_) {
    const JsonValue* longest = config_.find("max_position_embeddings");
    const std::string config = byte_tokenizer_config(longest == nullptr ? std::nullopt : longest->as_u64());
    TITAN_RETURN_IF_ERROR(write_text(fs, join_path(folder, kHfTokenizer), byte_tokenizer_json()));
    TITAN_RETURN_IF_ERROR(write_text(fs, join_path(folder, "tokenizer_config.json"), config));
  }
  return copy_companions(fs, options_.companions, folder, is_further_companion);
}

std::string HfWriter::index_text() const {
  std::map<std::string, std::string> weights;
  for (std::size_t i = 0; i < files_.size(); ++i)
    for (const Item& item : files_[i]) weights.emplace(item.name, file_name(i, files_.size()));
  JsonValue map = JsonValue::object(), metadata = JsonValue::object(), index = JsonValue::object();
  for (const auto& [name, file] : weights) map.set(name, JsonValue::string(file));
  metadata.set("total_size", JsonValue::integer(bytes_));
  index.set("metadata", std::move(metadata));
  index.set("weight_map", std::move(map));
  return index.write();
}

Status HfWriter::write_file(Fs& fs, const std::string& path, const std::vector<Item>& items, const Progress& progress) {
  std::vector<SafetensorsEntry> entries;
  std::map<std::string_view, const Item*> by_name;
  for (const Item& item : items) {
    entries.push_back({item.name, item.to, manifest_.parameters[item.ref.index].meta.shape});
    by_name.emplace(item.name, &item);
  }
  const std::string header = encode_safetensors_header(entries, {{"format", "pt"}});
  TITAN_ASSIGN_OR_RETURN(const std::unique_ptr<ckpt::File> file, fs.create(path));
  TITAN_RETURN_IF_ERROR(file->pwrite(0, std::as_bytes(std::span(header))));
  WriteBehind behind(*file);
  for (const SafetensorsEntry& entry : entries) {
    const Item& item = *by_name.at(entry.name);
    const auto make = [&](std::uint64_t at, Block data) {
      return cast_block(item.from, item.to, item.name, at, std::move(data));
    };
    TITAN_RETURN_IF_ERROR(
        write_elements(behind, header.size() + entry.begin, item.ref, item.head_dim, 1, make, progress));
  }
  TITAN_RETURN_IF_ERROR(behind.finish());
  TITAN_RETURN_IF_ERROR(file->datasync());
  return file->close();
}

}  // namespace

Result<std::unique_ptr<ForeignWriter>> create_hf(Fs& fs, const CheckpointReader& source, const ExportOptions& options) {
  return planned<HfWriter>(fs, source, options);
}

}  // namespace titan::convert
