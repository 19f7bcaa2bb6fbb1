#include "converters/hf/hf_plan.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "ckpt/base/text.h"
#include "ckpt/model/shape_text.h"
#include "converters/companions.h"
#include "converters/hf/hf_checkpoint.h"
#include "converters/hf/hf_config.h"
#include "converters/name_table.h"
#include "converters/skip.h"
#include "recipe/model/from_rows.h"
#include "recipe/model/parameters.h"

namespace titan::convert {

using ckpt::join_path;

namespace {

constexpr std::uint64_t kMaxCompanionBytes = std::uint64_t{256} << 20;

Result<ModelDims> read_model(Fs& fs, const std::string& folder, const std::string& source,
                             const ImportOptions& options) {
  const std::string path = join_path(folder, kHfConfig);
  const auto bytes = ckpt::read_file(fs, through_link(fs, path), kMaxHfConfigBytes);
  if (bytes.ok()) {
    TITAN_ASSIGN_OR_RETURN(const JsonValue config, parse_json(path, ckpt::text_of(*bytes)));
    TITAN_ASSIGN_OR_RETURN(const ModelDims model, read_hf_config(path, config));
    if (options.config)
      TITAN_RETURN_IF_ERROR(agreed_rows(path, recipe::model_rows(model), *options.config, options.comparison).status());
    return model;
  }
  if (bytes.status().code != ckpt::Code::kNotFound) return bytes.status();
  if (options.config) return recipe::dims_from_rows("the configuration", *options.config);
  return ckpt::incompatible(folder + " has no " + kHfConfig +
                            ": the numbers of heads, RoPE and eps are not in the tensors")
      .with_hint(
          "put the model's config.json beside the weights, or say all of model.* in a file: titan-ckpt convert " +
          source + " NEW --to titan --config FILE.toml");
}

class Planner {
 public:
  Planner(const ForeignCheckpoint& source, const ModelDims& model, const ImportOptions& options)
      : source_(source), tensors_(source.tensors()), model_(model), skip_(options.skip) {}

  Result<ImportPlan> run() {
    for (std::size_t i = 0; i < tensors_.size(); ++i) sort_in(i);
    plan_.parameters = recipe::model_parameters(model_);
    for (std::uint32_t p = 0; p < plan_.parameters.size(); ++p) TITAN_RETURN_IF_ERROR(take(p));
    if (model_.tied) TITAN_RETURN_IF_ERROR(tie());
    for (const auto& [name, entry] : ours_) left_over_.push_back(tensors_[entry.source].name);
    TITAN_RETURN_IF_ERROR(skip_.check_used(source_.path()));
    TITAN_RETURN_IF_ERROR(complain("no place in the model for", left_over_, "leave them out with --skip GLOB"));
    TITAN_RETURN_IF_ERROR(complain("missing", missing_, "the model cannot be had without them"));
    plan_.config = recipe::model_rows(model_);
    return std::move(plan_);
  }

 private:
  struct Entry {
    std::size_t source;
    Rows rows;
  };

  TensorReport report(std::size_t source, Fate fate) const {
    const ForeignTensor& tensor = tensors_[source];
    return uncast(tensor.name, fate, tensor.dtype, tensor.shape);
  }

  void sort_in(std::size_t i) {
    const std::string& name = tensors_[i].name;
    if (skip_.takes(name)) {
      plan_.report.push_back(report(i, Fate::kSkipped));
    } else if (huggingface_names().derivable(name)) {
      plan_.report.push_back(report(i, Fate::kDropped));
    } else if (const auto mapped = huggingface_names().ours(name)) {
      ours_.emplace(mapped->name, Entry{i, mapped->rows});
    } else {
      left_over_.push_back(name);
    }
  }

  Status take(std::uint32_t parameter) {
    const ckpt::ParameterMeta& meta = plan_.parameters[parameter];
    const auto at = ours_.find(meta.name);
    if (at == ours_.end()) {
      const auto name = huggingface_names().theirs(meta.name);
      missing_.push_back(name ? name->name : meta.name);
      return ckpt::ok_status();
    }
    const auto [source, rows] = at->second;
    const ForeignTensor& tensor = tensors_[source];
    if (tensor.shape != meta.shape) {
      return ckpt::corrupt("tensor '" + tensor.name + "' of " + source_.path() + " has the shape " +
                           ckpt::shape_text(tensor.shape) + ", the configuration makes it " +
                           ckpt::shape_text(meta.shape));
    }
    const std::uint64_t head_dim = rows == Rows::kStay || model_.head_dim == 2 ? 0 : model_.head_dim;
    plan_.tensors.push_back({{parameter, ""}, source, head_dim});
    plan_.report.push_back(report(source, Fate::kWritten));
    plan_.report.back().to = meta.name;
    plan_.report.back().permuted = head_dim != 0;
    ours_.erase(at);
    return ckpt::ok_status();
  }

  // A head beside a tied embedding must be the embedding.
  Status tie() {
    const auto head = ours_.find("output.weight");
    const auto embedding = std::ranges::find(plan_.tensors, ckpt::TensorRef{0, ""}, &TensorPlan::ref);
    if (embedding == plan_.tensors.end()) return ckpt::ok_status();  // missing: said elsewhere
    if (head == ours_.end()) {                                       // the usual case: the file has one tensor for both
      plan_.report.push_back(report(embedding->source, Fate::kTied));
      plan_.report.back().from = "lm_head.weight";
      plan_.report.back().to = "tok_embeddings.weight";
      return ckpt::ok_status();
    }
    const std::size_t source = head->second.source;
    TITAN_ASSIGN_OR_RETURN(const bool equal, same_elements(source, embedding->source));
    if (!equal) {
      return ckpt::incompatible(source_.path() + " says that embedding and head are tied, but '" +
                                tensors_[source].name + "' differs from '" + tensors_[embedding->source].name + "'")
          .with_hint("set tie_word_embeddings to false in config.json if they are two tensors");
    }
    plan_.report.push_back(report(source, Fate::kTied));
    plan_.report.back().to = "tok_embeddings.weight";
    ours_.erase(head);
    return ckpt::ok_status();
  }

  Result<bool> same_elements(std::size_t a, std::size_t b) const {
    constexpr std::uint64_t kChunk = std::uint64_t{1} << 18;
    if (tensors_[a].shape != tensors_[b].shape || tensors_[a].dtype != tensors_[b].dtype) return false;
    const std::uint64_t size = ckpt::dtype_size(tensors_[a].dtype), elements = ckpt::element_count(tensors_[a].shape);
    std::vector<std::byte> left(kChunk * size), right(kChunk * size);
    for (std::uint64_t at = 0; at < elements; at += kChunk) {
      const std::size_t bytes = std::min(kChunk, elements - at) * size;
      TITAN_RETURN_IF_ERROR(source_.read(a, at, std::span(left).first(bytes)));
      TITAN_RETURN_IF_ERROR(source_.read(b, at, std::span(right).first(bytes)));
      if (std::memcmp(left.data(), right.data(), bytes) != 0) return false;
    }
    return true;
  }

  Status complain(const char* what, const std::vector<std::string>& names, const char* hint) const {
    if (names.empty()) return ckpt::ok_status();
    Status status = ckpt::incompatible(source_.path() + ": " + std::to_string(names.size()) + " tensor" +
                                       (names.size() > 1 ? "s" : "") + ": " + what + " " + listed(names));
    return status.with_hint(hint);
  }

  const ForeignCheckpoint& source_;
  const std::vector<ForeignTensor>& tensors_;
  const ModelDims& model_;
  SkipRules skip_;
  ImportPlan plan_;
  std::map<std::string, Entry> ours_;
  std::vector<std::string> left_over_, missing_;
};

// Files of some models that have no place in a checkpoint. A note names them, so that the user can copy them.
const char* why_left_behind(const std::string& name) {
  if (name == "additional_chat_templates") return "it is a folder";
  return name.ends_with(".py") ? "it is code" : nullptr;
}

// A link may lead within the folder, or to the blobs of Hugging Face's cache (<model>/snapshots/<revision> beside
// <model>/blobs). No other link is followed: these files are shown to others later, so they must not be arbitrary files
// of this machine.
bool may_travel(Fs& fs, const std::string& folder, const std::string& real) {
  const auto home = fs.real_path(folder);
  if (!home.ok()) return false;
  const std::string blobs = join_path(ckpt::parent_path(ckpt::parent_path(*home)), "blobs");
  const auto info = fs.stat(blobs);  // a link in its place may lead anywhere
  return real.starts_with(*home + "/") ||
         (info.ok() && info->type == ckpt::FileType::kDirectory && real.starts_with(blobs + "/"));
}

Status find_companions(Fs& fs, const std::string& folder, ImportPlan& plan) {
  TITAN_ASSIGN_OR_RETURN(const std::vector<ckpt::DirEntry> entries, fs.list(folder));
  for (const ckpt::DirEntry& entry : entries) {
    if (const char* why = why_left_behind(entry.name)) plan.notes.push_back(entry.name + " is not taken along: " + why);
    if (!is_companion(entry.name)) continue;
    const std::string name = join_path(folder, entry.name), path = through_link(fs, name);
    TITAN_ASSIGN_OR_RETURN(const ckpt::FileInfo info, fs.stat(path));
    if (path != name && !may_travel(fs, folder, path)) {
      plan.notes.push_back(entry.name + " is not taken along: it is a link out of the folder, to " + path);
    } else if (info.type == ckpt::FileType::kFile && info.size <= kMaxCompanionBytes) {
      plan.companions.push_back({path, entry.name, {}});
    } else {
      plan.notes.push_back(entry.name + " is not taken along: it is " +
                           (info.type == ckpt::FileType::kFile ? "too large" : "not a regular file"));
    }
  }
  return ckpt::ok_status();
}

}  // namespace

Result<ImportPlan> plan_hf_import(Fs& fs, const std::string& folder, const ForeignCheckpoint& source,
                                  const ImportOptions& options) {
  TITAN_ASSIGN_OR_RETURN(const ModelDims model, read_model(fs, folder, source.path(), options));
  TITAN_ASSIGN_OR_RETURN(ImportPlan plan, Planner(source, model, options).run());
  TITAN_RETURN_IF_ERROR(find_companions(fs, folder, plan));
  return plan;
}

}  // namespace titan::convert
