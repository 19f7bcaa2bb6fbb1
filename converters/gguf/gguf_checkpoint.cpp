#include "converters/gguf/gguf_checkpoint.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <optional>
#include <set>

#include "ckpt/base/fs.h"
#include "ckpt/base/path.h"
#include "ckpt/base/text.h"
#include "converters/companions.h"
#include "converters/gguf/gguf_file.h"
#include "converters/gguf/gguf_model.h"
#include "converters/hf/hf_plan.h"
#include "converters/hf/made_config.h"
#include "converters/name_map.h"
#include "recipe/model/manifest_dims.h"

namespace titan::convert {
namespace {

constexpr std::uint64_t kMaxPieces = 1024, kMaxRopeTable = 4096;
constexpr std::size_t kPieceEnd = 20;  // length of "-00001-of-00003.gguf"

// The names of all parts, if `name` is that of a part.
std::vector<std::string> pieces_of(const std::string& name) {
  if (name.size() <= kPieceEnd) return {};
  const std::string stem = name.substr(0, name.size() - kPieceEnd), end = name.substr(stem.size());
  const auto number = [&](std::size_t at) { return ckpt::number_of<std::uint64_t>(end.substr(at, 5)); };
  if (end[0] != '-' || end.substr(6, 4) != "-of-" || !number(1) || !number(10)) return {};
  if (*number(1) == 0 || *number(1) > *number(10) || *number(10) > kMaxPieces) return {};
  std::vector<std::string> names;
  for (std::uint64_t i = 1; i <= *number(10); ++i) {
    char text[kPieceEnd + 12];
    std::snprintf(text, sizeof text, "-%05llu-of-%05llu.gguf", static_cast<unsigned long long>(i),
                  static_cast<unsigned long long>(*number(10)));
    names.push_back(stem + text);
  }
  return names;
}

class GgufCheckpoint final : public ForeignCheckpoint {
 public:
  GgufCheckpoint(Fs& fs, std::string path) : ForeignCheckpoint(std::move(path)), fs_(fs) {}

  Status open(const std::vector<std::string>& files);
  Status read(std::size_t tensor, std::uint64_t first, std::span<std::byte> out) const override;
  Result<ImportPlan> plan(const ImportOptions& options) const override;
  Result<ckpt::VerifyReport> verify(const Progress& progress) const override;

 private:
  struct Place {
    std::size_t file;
    const GgmlType* type;
    std::uint64_t offset, bytes;
  };
  Status check_pieces(std::size_t count) const;
  Result<std::vector<float>> rope_table() const;
  void note_what_stays(ImportPlan& plan) const;
  TextSettings text_settings() const;

  Fs& fs_;
  GgufHeader header_;  // of the first file, with the tensors of all files
  std::vector<std::unique_ptr<ckpt::File>> files_;
  std::vector<Place> places_;
};

Status GgufCheckpoint::open(const std::vector<std::string>& files) {
  std::set<std::string> seen;
  for (const std::string& name : files) {
    Result<std::unique_ptr<ckpt::File>> opened = fs_.open_read(through_link(fs_, name));
    if (!opened.ok() && opened.status().code == ckpt::Code::kNotFound && files.size() > 1)
      return ckpt::corrupt(name + " is missing: the names of the other pieces count it");
    TITAN_ASSIGN_OR_RETURN(std::unique_ptr<ckpt::File> file, std::move(opened));
    TITAN_ASSIGN_OR_RETURN(GgufHeader header, read_gguf_header(*file, name));
    for (const GgufTensor& tensor : header.tensors) {
      if (!seen.insert(tensor.name).second)
        return ckpt::corrupt("tensor '" + tensor.name + "' is in " + name + " and in another piece");
      tensors_.push_back({tensor.name, tensor.type->dtype(), tensor.shape});
      places_.push_back({files_.size(), tensor.type, tensor.offset, tensor.bytes});
    }
    if (files_.empty())
      header_ = std::move(header);
    else
      header_.tensors.insert(header_.tensors.end(), header.tensors.begin(), header.tensors.end());
    files_.push_back(std::move(file));
  }
  return check_pieces(files.size());
}

// Parts record how many there are, and the total number of tensors.
Status GgufCheckpoint::check_pieces(std::size_t count) const {
  const auto says = [&](const char* key, std::size_t otherwise) {
    const GgufValue* value = header_.find(key, GgufValue::Kind::kWhole);
    return value == nullptr ? static_cast<std::int64_t>(otherwise) : value->whole;
  };
  if (const std::int64_t pieces = std::max<std::int64_t>(says("split.count", count), 1);
      pieces != static_cast<std::int64_t>(count))
    return ckpt::corrupt(path_ + " is a piece of a model in " + std::to_string(pieces) + " files, " +
                         std::to_string(count) + (count == 1 ? " is here" : " are here"))
        .with_hint("keep the names that llama.cpp gives to pieces: NAME-00001-of-0000N.gguf");
  const std::int64_t tensors = says("split.tensors.count", tensors_.size());
  if (count == 1 || tensors == static_cast<std::int64_t>(tensors_.size())) return {};
  return ckpt::corrupt(path_ + ": its pieces have " + std::to_string(tensors_.size()) + " tensors, and say " +
                       std::to_string(tensors));
}

Status GgufCheckpoint::read(std::size_t tensor, std::uint64_t first, std::span<std::byte> out) const {
  const Place& place = places_[tensor];
  ckpt::File& file = *files_[place.file];
  if (out.empty()) return {};
  if (place.type->plain) return file.pread(place.offset + first * place.type->bytes, out);
  constexpr std::uint64_t kBlocks = 256;  // blocks read at a time
  const std::uint64_t elements = place.type->elements, end = first + out.size() / sizeof(float);
  std::vector<std::byte> blocks(kBlocks * place.type->bytes);
  float values[kMaxBlockElements];
  std::uint64_t loaded = 0, begin = 0;  // number of loaded blocks, and the number of the first of them
  for (std::uint64_t at = first; at < end;) {
    const std::uint64_t block = at / elements;
    if (block >= begin + loaded) {
      begin = block;
      loaded = std::min(kBlocks, (end - 1) / elements + 1 - block);
      TITAN_RETURN_IF_ERROR(
          file.pread(place.offset + block * place.type->bytes, std::span(blocks).first(loaded * place.type->bytes)));
    }
    place.type->decode(&blocks[(block - begin) * place.type->bytes], values);
    const std::uint64_t skipped = at - block * elements, count = std::min(elements - skipped, end - at);
    std::memcpy(&out[(at - first) * sizeof(float)], values + skipped, count * sizeof(float));
    at += count;
  }
  return {};
}

Result<std::vector<float>> GgufCheckpoint::rope_table() const {
  std::vector<float> table;
  const auto at = std::ranges::find(tensors_, kGgufRope, &ForeignTensor::name);
  if (at == tensors_.end()) return table;
  const std::uint64_t elements = ckpt::element_count(at->shape);
  if (at->dtype != DType::kF32 || elements == 0 || elements > kMaxRopeTable)
    return ckpt::unsupported(path_ + ": " + kGgufRope + " is no table of float32 with at most " +
                             std::to_string(kMaxRopeTable) + " elements");
  table.resize(elements);
  TITAN_RETURN_IF_ERROR(
      read(static_cast<std::size_t>(at - tensors_.begin()), 0, std::as_writable_bytes(std::span(table))));
  return table;
}

void GgufCheckpoint::note_what_stays(ImportPlan& plan) const {
  std::set<std::string> types;
  std::size_t quantised = 0;
  for (const Place& place : places_) {
    if (place.type->plain) continue;
    types.insert(place.type->name);
    ++quantised;
  }
  if (quantised > 0)
    plan.notes.push_back(std::to_string(quantised) + (quantised == 1 ? " tensor is" : " tensors are") + " quantised (" +
                         ckpt::joined({types.begin(), types.end()}) +
                         "): taken as the float32 values that these stand for");
  const auto model = header_.text("tokenizer.ggml.model");
  const GgufValue* tokens = header_.find("tokenizer.ggml.tokens", GgufValue::Kind::kList);
  if (model && tokens != nullptr)
    plan.notes.push_back("the tokenizer inside (" + model->substr(0, 40) + ", " + std::to_string(tokens->count) +
                         " tokens) does not travel: take tokenizer.json from the model that the file was made of");
}

TextSettings GgufCheckpoint::text_settings() const {
  const auto number = [&](const std::string& key) -> std::optional<std::uint64_t> {
    const GgufValue* value = header_.find(key, GgufValue::Kind::kWhole);
    return value == nullptr || value->whole < 0 ? std::nullopt : std::optional<std::uint64_t>(value->whole);
  };
  return {.context = number(header_.text("general.architecture").value_or("") + ".context_length"),
          .begin = number("tokenizer.ggml.bos_token_id"),
          .end = number("tokenizer.ggml.eos_token_id")};
}

Result<ImportPlan> GgufCheckpoint::plan(const ImportOptions& options) const {
  TITAN_ASSIGN_OR_RETURN(const std::vector<float> rope, rope_table());
  TITAN_ASSIGN_OR_RETURN(const GgufModel model, read_gguf_model(path_, header_, rope));
  if (options.config && !options.look)
    TITAN_RETURN_IF_ERROR(
        agreed_rows(path_, recipe::model_rows(model.dims), *options.config, options.comparison).status());
  const ModelLayout layout{gguf_tensor_names(), kGgufHead, "the file", ConfigKeys::kGguf, model.interleaved_rows};
  TITAN_ASSIGN_OR_RETURN(ImportPlan plan, plan_tensors(*this, model.dims, layout, options));
  note_what_stays(plan);
  add_made_config(model.dims, text_settings(), plan);
  return plan;
}

Result<ckpt::VerifyReport> GgufCheckpoint::verify(const Progress& progress) const {
  // The structure was checked on opening; this checks that every byte can be read.
  constexpr std::uint64_t kChunk = std::uint64_t{4} << 20;
  ckpt::VerifyReport report;
  report.note =
      "GGUF files have no checksums: structure and sizes are right and every byte can be read, but a changed value "
      "cannot be found";
  std::uint64_t total = 0;
  for (const Place& place : places_) total += place.bytes;
  std::vector<std::byte> buffer(std::min(kChunk, total));
  for (const Place& place : places_) {
    for (std::uint64_t at = 0; at < place.bytes; at += kChunk) {
      const std::uint64_t count = std::min(kChunk, place.bytes - at);
      TITAN_RETURN_IF_ERROR(files_[place.file]->pread(place.offset + at, std::span(buffer).first(count)));
      report.bytes += count;
      if (progress) TITAN_RETURN_IF_ERROR(progress(report.bytes, total));
    }
    ++report.leaves;
  }
  return report;
}

// Whether the file begins like a GGUF file, whatever its name.
Result<bool> begins_so(Fs& fs, const std::string& path) {
  TITAN_ASSIGN_OR_RETURN(const std::unique_ptr<ckpt::File> file, fs.open_read(through_link(fs, path)));
  std::byte magic[4];
  const Status read = file->pread(0, magic);
  if (!read.ok() && read.code != ckpt::Code::kCorrupt) return read;
  return read.ok() && ckpt::text_of(magic) == "GGUF";
}

}  // namespace

Result<std::vector<std::string>> gguf_names(Fs& fs, const std::string& folder) {
  std::vector<std::string> names;
  TITAN_ASSIGN_OR_RETURN(const std::vector<ckpt::DirEntry> entries, entries_of(fs, folder));
  for (const ckpt::DirEntry& entry : entries)
    if (entry.name.ends_with(kGgufSuffix)) names.push_back(entry.name);
  return names;
}

Result<std::vector<std::string>> gguf_files(Fs& fs, const std::string& path) {
  std::vector<std::string> files;
  TITAN_ASSIGN_OR_RETURN(const bool alone, is_file(fs, path));
  std::string name = ckpt::base_name(path), folder = ckpt::parent_path(path);
  if (alone && !name.ends_with(kGgufSuffix)) {
    TITAN_ASSIGN_OR_RETURN(const bool known, begins_so(fs, path));
    if (known) files.push_back(path);
    return files;
  }
  if (!alone) {
    TITAN_ASSIGN_OR_RETURN(const std::vector<std::string> names, gguf_names(fs, path));
    if (names.empty() || (names.size() > 1 && pieces_of(names[0]) != names)) return files;
    name = names[0];
    folder = path;
  }
  for (const std::string& piece : pieces_of(name)) files.push_back(ckpt::join_path(folder, piece));
  if (files.empty()) files.push_back(alone ? path : ckpt::join_path(folder, name));
  return files;
}

Result<std::unique_ptr<ForeignCheckpoint>> open_gguf(Fs& fs, const std::string& path) {
  TITAN_ASSIGN_OR_RETURN(const std::vector<std::string> files, gguf_files(fs, path));
  if (files.empty()) return ckpt::not_found(path + " is no GGUF file, and holds none");
  auto checkpoint = std::make_unique<GgufCheckpoint>(fs, path);
  TITAN_RETURN_IF_ERROR(checkpoint->open(files));
  return std::unique_ptr<ForeignCheckpoint>(std::move(checkpoint));
}

}  // namespace titan::convert
