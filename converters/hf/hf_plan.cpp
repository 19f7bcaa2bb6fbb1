#include "converters/hf/hf_plan.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "ckpt/base/text.h"
#include "ckpt/ops/convert_dtype.h"
#include "converters/companions.h"
#include "converters/elsewhere.h"
#include "converters/file_names.h"
#include "converters/hf/hf_checkpoint.h"
#include "converters/hf/hf_config.h"
#include "converters/misfit.h"
#include "converters/name_table.h"
#include "converters/prefix.h"
#include "converters/skip.h"
#include "recipe/model/family.h"
#include "recipe/model/from_rows.h"
#include "recipe/model/layers.h"
#include "recipe/model/parameters.h"

namespace titan::convert {

using ckpt::join_path;

namespace {

constexpr std::uint64_t kMaxCompanionBytes = std::uint64_t{256} << 20;

struct ReadModel {
  ModelDims dims;
  ConfigKeys keys;  // whose the configuration's are
};

Result<ReadModel> read_model(Fs& fs, const std::string& folder, const std::string& source,
                             const ImportOptions& options) {
  const std::string path = join_path(folder, kHfConfig);
  Result<ModelDims> model = read_hf_config_file(fs, path);
  if (model.ok() && options.config && !options.look)
    TITAN_RETURN_IF_ERROR(agreed_rows(path, recipe::model_rows(*model), *options.config, options.comparison).status());
  if (model.ok()) return ReadModel{*model, ConfigKeys::kHuggingface};
  if (model.status().code != ckpt::Code::kNotFound) return model.status();
  if (options.config) {
    const Result<ModelDims> given = recipe::dims_from_rows("the configuration", *options.config);
    if (given.ok()) return ReadModel{*given, ConfigKeys::kOurs};
    if (!options.look) return given.status();
  }
  return ckpt::incompatible(folder + " has no " + kHfConfig +
                            ": the numbers of heads, RoPE and eps are not in the tensors")
      .with_hint(
          "put the model's config.json beside the weights, or say all of model.* in a file: titan-ckpt convert " +
          source + " NEW --to titan --config FILE.toml");
}

class Planner {
 public:
  Planner(const ForeignCheckpoint& source, const ModelDims& model, const ModelLayout& layout,
          const ImportOptions& options)
      : source_(source), tensors_(source.tensors()), model_(model), layout_(layout), options_(options) {}

  Result<ImportPlan> run() {
    std::vector<std::string> all;
    for (const ForeignTensor& tensor : tensors_) all.push_back(tensor.name);
    TITAN_ASSIGN_OR_RETURN(names_, file_names(source_.path(), all, options_));
    plan_.notes = names_.notes;
    TITAN_RETURN_IF_ERROR(take_off_prefix());
    for (std::size_t i = 0; i < tensors_.size(); ++i) TITAN_RETURN_IF_ERROR(sort_in(i));
    std::vector<std::string> ours;
    for (const auto& [name, entry] : ours_) ours.push_back(name);
    layers_ = recipe::layers_in(ours);
    for (const ckpt::ParameterMeta& parameter : recipe::model_parameters(model_))
      TITAN_RETURN_IF_ERROR(take(parameter));
    if (model_.tied) TITAN_RETURN_IF_ERROR(tie());
    for (const auto& [name, entry] : ours_) left_over_.push_back(entry.source);
    TITAN_RETURN_IF_ERROR(settle(all));
    plan_.config = recipe::model_rows(model_);
    return std::move(plan_);
  }

 private:
  Status take_off_prefix() {
    if (layout_.keys == ConfigKeys::kMistral || layout_.keys == ConfigKeys::kGguf) return {};
    std::vector<std::string> used;
    for (std::size_t i = 0; i < tensors_.size(); ++i)
      if (!names_.skipped[i]) used.push_back(names_.names[i]);
    TITAN_ASSIGN_OR_RETURN(const std::string prefix, prefix_of(source_.path(), used));
    std::size_t changed = 0;
    for (std::string& name : names_.names) {
      std::string plain = behind_prefix(name, prefix);
      changed += plain != name ? 1 : 0;
      name = std::move(plain);
    }
    if (changed > 0)
      plan_.notes.push_back("names begin with `" + prefix + "` where Hugging Face has `model.`: read as that, " +
                            std::to_string(changed) + (changed == 1 ? " name" : " names"));
    return {};
  }

  struct Entry {
    std::size_t source;
    Rows rows;
  };

  TensorReport report(std::size_t source, Fate fate) const {
    const ForeignTensor& tensor = tensors_[source];
    return uncast(tensor.name, fate, tensor.dtype, tensor.shape);
  }

  Status sort_in(std::size_t i) {
    const std::string& name = names_.names[i];
    if (names_.skipped[i]) {
      plan_.report.push_back(report(i, Fate::kSkipped));
      plan_.left_out.push_back(tensors_[i].name);
    } else if (layout_.names.derivable(name)) {
      plan_.report.push_back(report(i, Fate::kDropped));
    } else if (const MappedName mapped = our_name(i); mapped.name.empty()) {
      left_over_.push_back(i);
    } else if (const auto [other, first] = ours_.emplace(mapped.name, Entry{i, mapped.rows}); !first) {
      return ckpt::incompatible(source_.path() + ": two tensors stand for " + mapped.name + ": " +
                                listed({tensors_[other->second.source].name, tensors_[i].name}))
          .with_hint("leave one of them out with --skip");
    }
    return {};
  }

  // Names that a rule made ours are taken as they are.
  MappedName our_name(std::size_t i) const {
    const std::string& name = names_.names[i];
    MappedName mapped = layout_.names.ours(name).value_or(MappedName{});
    if (mapped.name.empty() && name != tensors_[i].name && layout_.names.theirs(name)) mapped.name = name;
    if (layout_.our_rows) mapped.rows = Rows::kStay;
    if (options_.rules.rows && recipe::has_head_rows(mapped.name))
      mapped.rows = options_.rules.rows == recipe::HeadRows::kHalves ? Rows::kQuery : Rows::kStay;
    return mapped;
  }

  void add(const std::string& name, std::size_t source, std::uint64_t head_dim) {
    const auto index = static_cast<std::uint32_t>(plan_.parameters.size());
    plan_.parameters.push_back({name, tensors_[source].shape});
    plan_.tensors.push_back({{index, ""}, source, head_dim});
    plan_.report.push_back(report(source, Fate::kWritten));
    plan_.report.back().to = name;
    plan_.report.back().permuted = head_dim != 0;
  }

  Status take(const ckpt::ParameterMeta& meta) {
    const auto at = ours_.find(meta.name);
    if (at == ours_.end()) {
      const auto name = layout_.names.theirs(meta.name);
      missing_.push_back(name ? name->name : meta.name);
      return ckpt::ok_status();
    }
    const auto [source, rows] = at->second;
    const ForeignTensor& tensor = tensors_[source];
    if (tensor.shape != meta.shape)
      return shape_misfit(source_.path(), tensor.name, tensor.shape, meta, model_, layout_.keys);
    if (!ckpt::is_float(tensor.dtype) && !options_.look)
      return ckpt::incompatible("tensor '" + tensor.name + "' of " + source_.path() + " is stored as " +
                                std::string(ckpt::dtype_name(tensor.dtype)) + ": expected a float type")
          .with_hint("save the model with float weights (bfloat16, float16 or float32)");
    add(meta.name, source, rows == Rows::kStay || model_.head_dim == 2 ? 0 : model_.head_dim);
    ours_.erase(at);
    return ckpt::ok_status();
  }

  // A head beside a tied embedding must be the embedding.
  Status tie() {
    const auto head = ours_.find(std::string(recipe::kHeadName));
    if (plan_.parameters.empty() || plan_.parameters.front().name != recipe::kEmbeddingName)
      return ckpt::ok_status();  // missing: said elsewhere
    const std::size_t embedding = plan_.tensors.front().source;
    if (head == ours_.end()) {  // the usual case: the file has one tensor for both
      plan_.report.push_back(report(embedding, Fate::kTied));
      plan_.report.back().from = layout_.names.theirs(recipe::kHeadName)->name;
      plan_.report.back().to = recipe::kEmbeddingName;
      return ckpt::ok_status();
    }
    const std::size_t source = head->second.source;
    TITAN_ASSIGN_OR_RETURN(const bool equal, same_elements(source_, source, embedding));
    if (!equal) {
      return ckpt::incompatible(source_.path() + " says that embedding and head are tied, but '" +
                                tensors_[source].name + "' differs from '" + tensors_[embedding].name + "'")
          .with_hint(tie_hint(false));
    }
    plan_.report.push_back(report(source, Fate::kTied));
    plan_.report.back().to = recipe::kEmbeddingName;
    ours_.erase(head);
    return ckpt::ok_status();
  }

  // A conversion needs a place for every tensor and a tensor for every parameter. A look shows what is there.
  Status settle(const std::vector<std::string>& all) {
    if (options_.look) {
      for (const std::size_t i : left_over_) add(tensors_[i].name, i, 0);
      return {};
    }
    const std::string layers = layers_misfit(layers_, model_, layout_.keys);
    std::vector<std::string> names;
    for (const std::size_t i : left_over_) names.push_back(tensors_[i].name);
    TITAN_RETURN_IF_ERROR(complain("no place in the model for", names,
                                   plan_.tensors.empty() ? strangers()
                                   : layers.empty()      ? "leave them out with " + skip_flags(names, all)
                                                         : layers));
    return complain("missing", missing_,
                    missing_ == std::vector<std::string>{layout_.names.theirs(recipe::kHeadName)->name} ? tie_hint(true)
                    : layers.empty() ? "the model cannot be had without them"
                                     : layers);
  }

  // A file of llama.cpp says it by the tensor alone.
  std::string tie_hint(bool tied) const {
    if (layout_.keys == ConfigKeys::kGguf)
      return tied ? "the model cannot be had without them" : "leave one of them out with --skip";
    const bool ours = layout_.keys == ConfigKeys::kOurs;
    return std::string("set ") + (ours ? "model.tied_embeddings" : layout_.tied) + " to " + (tied ? "true" : "false") +
           " in " + (ours ? "the configuration" : layout_.file) +
           (tied ? " if the head is the embedding" : " if they are two tensors");
  }

  // Where no name fits, leaving them out would leave nothing.
  std::string strangers() const {
    const char* whose = layout_.keys == ConfigKeys::kMistral ? "Mistral's"
                        : layout_.keys == ConfigKeys::kGguf  ? "llama.cpp's"
                                                             : "Hugging Face's";
    return std::string("none of the names is one of ") + whose + ", such as " +
           layout_.names.theirs(recipe::name_of(recipe::Part::kAttentionOut))->name +
           ": say what each is called there with --rename FROM=TO, where * stands for a part without dots";
  }

  Status complain(const char* what, const std::vector<std::string>& names, const std::string& hint) const {
    if (names.empty()) return ckpt::ok_status();
    Status status = ckpt::incompatible(source_.path() + ": " + std::to_string(names.size()) + " tensor" +
                                       (names.size() > 1 ? "s" : "") + ": " + what + " " + listed(names));
    return status.with_hint(hint);
  }

  const ForeignCheckpoint& source_;
  const std::vector<ForeignTensor>& tensors_;
  const ModelDims& model_;
  const ModelLayout& layout_;
  const ImportOptions& options_;
  std::int64_t layers_ = 0;
  FileNames names_;
  ImportPlan plan_;
  std::map<std::string, Entry> ours_;
  std::vector<std::size_t> left_over_;
  std::vector<std::string> missing_;
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

// Files in which trainers keep what is no weight: Hugging Face's Trainer, accelerate, DeepSpeed.
bool is_training_state(const std::string& name) {
  constexpr std::string_view kBegins[] = {"optimizer.", "optimizer_",    "scheduler.",     "scaler.",
                                          "sampler.",   "trainer_state", "training_args.", "random_states_",
                                          "rng_state",  "global_step",   "dl_state_dict.", "custom_checkpoint_"};
  return std::ranges::any_of(kBegins, [&](std::string_view begin) { return name.starts_with(begin); });
}

}  // namespace

std::vector<std::string> training_state(const std::vector<ckpt::DirEntry>& entries) {
  std::vector<std::string> names;
  for (const ckpt::DirEntry& entry : entries)
    if (is_training_state(entry.name)) names.push_back(entry.name);
  std::ranges::sort(names);
  return names;
}

Status find_companions(Fs& fs, const std::string& folder, ImportPlan& plan) {
  TITAN_ASSIGN_OR_RETURN(const std::vector<ckpt::DirEntry> entries, fs.list(folder));
  for (const ckpt::DirEntry& entry : entries) {
    if (const char* why = why_left_behind(entry.name)) plan.notes.push_back(entry.name + " is not taken along: " + why);
    if (!is_companion(entry.name)) continue;
    if (std::ranges::find(plan.companions, entry.name, &Companion::name) != plan.companions.end()) continue;
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

Result<ModelDims> read_hf_config_file(Fs& fs, const std::string& path) {
  TITAN_ASSIGN_OR_RETURN(const std::vector<std::byte> bytes,
                         ckpt::read_file(fs, through_link(fs, path), kMaxHfConfigBytes));
  const Result<JsonValue> config = parse_json(path, ckpt::text_of(bytes));
  if (!config.ok()) return or_what_it_is(path, ckpt::text_of(bytes), config.status());
  return read_hf_config(path, *config);
}

Result<bool> same_elements(const ForeignCheckpoint& source, std::size_t a, std::size_t b) {
  constexpr std::uint64_t kChunk = std::uint64_t{1} << 18;
  const ForeignTensor &one = source.tensors()[a], &other = source.tensors()[b];
  if (one.shape != other.shape || one.dtype != other.dtype) return false;
  const std::uint64_t size = ckpt::dtype_size(one.dtype), elements = ckpt::element_count(one.shape);
  std::vector<std::byte> left(kChunk * size), right(kChunk * size);
  for (std::uint64_t at = 0; at < elements; at += kChunk) {
    const std::size_t bytes = std::min(kChunk, elements - at) * size;
    TITAN_RETURN_IF_ERROR(source.read(a, at, std::span(left).first(bytes)));
    TITAN_RETURN_IF_ERROR(source.read(b, at, std::span(right).first(bytes)));
    if (std::memcmp(left.data(), right.data(), bytes) != 0) return false;
  }
  return true;
}

Result<ImportPlan> plan_tensors(const ForeignCheckpoint& source, const ModelDims& model, const ModelLayout& layout,
                                const ImportOptions& options) {
  return Planner(source, model, layout, options).run();
}

Result<ImportPlan> plan_hf_import(Fs& fs, const std::string& folder, const ForeignCheckpoint& source,
                                  const ImportOptions& options) {
  TITAN_ASSIGN_OR_RETURN(const ReadModel model, read_model(fs, folder, source.path(), options));
  const NameTable names = huggingface_names().of(model.dims);
  const ModelLayout layout{names, "tie_word_embeddings", kHfConfig, model.keys};
  TITAN_ASSIGN_OR_RETURN(ImportPlan plan, plan_tensors(source, model.dims, layout, options));
  if (source.path() == folder) {
    TITAN_ASSIGN_OR_RETURN(const std::vector<ckpt::DirEntry> entries, fs.list(folder));
    // Whoever means to go on with a run must know that its state was not taken.
    if (const std::vector<std::string> names = training_state(entries); !names.empty())
      plan.notes.push_back(kLeftBehind + listed(names) + ": " + kStateOfRun + "; the weights alone are taken");
  }
  TITAN_RETURN_IF_ERROR(find_companions(fs, folder, plan));
  return plan;
}

}  // namespace titan::convert
