#include "converters/mistral/mistral_format.h"

#include <algorithm>

#include "ckpt/base/fs.h"
#include "ckpt/base/path.h"
#include "ckpt/base/text.h"
#include "converters/hf/hf_checkpoint.h"
#include "converters/hf/hf_plan.h"
#include "converters/hf/made_config.h"
#include "converters/json_file.h"
#include "converters/mistral/params.h"
#include "converters/name_map.h"
#include "converters/other_programs.h"
#include "converters/read_all.h"
#include "recipe/model/manifest_dims.h"

namespace titan::convert {
namespace {

constexpr const char* kParams = "params.json";
constexpr const char* kWhole = "consolidated.safetensors";
constexpr std::uint64_t kMaxParamsBytes = std::uint64_t{4} << 20;

bool is_piece(const std::string& name) {
  return name.starts_with("consolidated-") && name.find("-of-") != std::string::npos && name.ends_with(".safetensors");
}

/// The weight files in `folder`, ascending: numbered parts, then the single file. \error kFailed
Result<std::vector<std::string>> weights_in(Fs& fs, const std::string& folder) {
  std::vector<std::string> names;
  TITAN_ASSIGN_OR_RETURN(const bool whole, is_file(fs, ckpt::join_path(folder, kWhole)));
  const auto entries = fs.list(folder);
  if (!entries.ok()) {
    if (entries.status().code == ckpt::Code::kNotFound || !whole) return names;
    return entries.status();
  }
  for (const ckpt::DirEntry& entry : *entries)
    if (is_piece(entry.name)) names.push_back(entry.name);
  std::ranges::sort(names);
  if (whole) names.emplace_back(kWhole);
  return names;
}

class MistralCheckpoint final : public ForeignCheckpoint {
 public:
  MistralCheckpoint(Fs& fs, std::string path) : ForeignCheckpoint(std::move(path)), fs_(fs) {}

  Status open() {
    TITAN_ASSIGN_OR_RETURN(const std::vector<std::string> names, weights_in(fs_, path_));
    if (names.empty()) return ckpt::not_found(path_ + " has no " + kWhole);
    if (names.size() > 1 && names.back() == kWhole)
      return ckpt::incompatible(path_ + " holds two models: " + kWhole + ", and " + std::to_string(names.size() - 1) +
                                (names.size() == 2 ? " file such as " : " files such as ") + names.front())
          .with_hint("move the one away that is not meant");
    // "consolidated-00001-of-00003.safetensors": the name has the number of files.
    const std::string& last = names.back();
    const std::size_t of = last.find("-of-");
    const auto count = of == std::string::npos
                           ? std::optional<std::uint64_t>(1)
                           : ckpt::number_of<std::uint64_t>(last.substr(of + 4, last.find('.') - of - 4));
    if (!count || *count != names.size())
      return ckpt::corrupt(path_ + " has " + std::to_string(names.size()) + " of the files that " + last + " counts");
    for (const std::string& name : names) {
      TITAN_ASSIGN_OR_RETURN(std::unique_ptr<ForeignCheckpoint> file, open_hf(fs_, ckpt::join_path(path_, name)));
      for (std::size_t i = 0; i < file->tensors().size(); ++i) {
        tensors_.push_back(file->tensors()[i]);
        places_.emplace_back(files_.size(), i);
      }
      files_.push_back(std::move(file));
    }
    return {};
  }

  Status read(std::size_t tensor, std::uint64_t first, std::span<std::byte> out) const override {
    const auto [file, index] = places_[tensor];
    return files_[file]->read(index, first, out);
  }
  Result<ImportPlan> plan(const ImportOptions& options) const override {
    const std::string params = ckpt::join_path(path_, kParams);
    TITAN_ASSIGN_OR_RETURN(const JsonValue json, read_json_object(fs_, params, kMaxParamsBytes));
    TITAN_ASSIGN_OR_RETURN(const ModelDims model, read_mistral_params(params, json));
    if (options.config && !options.look)
      TITAN_RETURN_IF_ERROR(
          agreed_rows(params, recipe::model_rows(model), *options.config, options.comparison).status());
    TITAN_ASSIGN_OR_RETURN(
        ImportPlan plan,
        plan_tensors(*this, model, {mistral_names(), "tied_embeddings", kParams, ConfigKeys::kMistral}, options));
    add_made_config(model, {.context = mistral_context(json)}, plan);
    return plan;
  }
  Result<ckpt::VerifyReport> verify(const Progress& progress) const override {
    return read_all(*this, kSafetensorsNote, progress);
  }

 private:
  Fs& fs_;
  std::vector<std::unique_ptr<ForeignCheckpoint>> files_;
  std::vector<std::pair<std::size_t, std::size_t>> places_;  // file, and tensor in it
};

class MistralFormat final : public Format {
 public:
  const char* name() const override { return "mistral"; }
  const char* title() const override { return "Mistral's own layout"; }
  bool writes() const override { return false; }
  Result<bool> probe(Fs& fs, const std::string& path) const override {
    TITAN_ASSIGN_OR_RETURN(const std::vector<std::string> names, weights_in(fs, path));
    if (names.empty()) return false;
    return file_there(fs, ckpt::join_path(path, kParams));
  }
  Status near_miss(Fs& fs, const std::string& path) const override {
    TITAN_ASSIGN_OR_RETURN(const std::vector<std::string> names, weights_in(fs, path));
    if (names.empty()) return {};
    return ckpt::incompatible(path + " has no " + kParams + " next to the weights of Mistral's own layout")
        .with_hint(std::string("put the model's ") + kParams + " next to them");
  }
  bool is_member(const std::string&) const override { return false; }
  Result<std::unique_ptr<ForeignCheckpoint>> open(Fs& fs, const std::string& path) const override {
    return opened<MistralCheckpoint>(fs, path);
  }
  Result<std::unique_ptr<ForeignWriter>> create(Fs&, const CheckpointReader&, const ExportOptions&) const override {
    return ckpt::unsupported("Mistral's own layout is read, not written")
        .with_hint("--to hf writes a folder that transformers and vLLM load");
  }
};

}  // namespace

const Format& mistral_format() {
  static const MistralFormat format;
  return format;
}

}  // namespace titan::convert
