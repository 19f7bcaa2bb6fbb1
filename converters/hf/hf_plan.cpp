#include "converters/hf/hf_plan.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "ckpt/base/fs.h"
#include "ckpt/base/path.h"
#include "ckpt/base/printed.h"
#include "ckpt/base/quoting.h"
#include "ckpt/base/text.h"
#include "ckpt/ops/convert_dtype.h"
#include "converters/file_names.h"
#include "converters/fused_experts.h"
#include "converters/hf/hf_checkpoint.h"
#include "converters/hf/hf_config.h"
#include "converters/json_file.h"
#include "converters/model_mismatch.h"
#include "converters/name_map.h"
#include "converters/prefix.h"
#include "converters/skip_rules.h"
#include "recipe/model/family.h"
#include "recipe/model/layers.h"
#include "recipe/model/manifest_dims.h"
#include "recipe/model/parameters.h"

namespace titan::convert {

using ckpt::join_path;

namespace {

struct ReadModel {
  ModelDims dims;
  ConfigKeys keys;  // the spelling of keys in the configuration
};

Result<ReadModel> read_model(Fs& fs, const std::string& folder, const std::string& source,
                             const ImportOptions& options) {
  const std::string path = join_path(folder, kHfConfig);
  Result<ModelDims> model = read_hf_config_file(fs, path);
  if (model.ok() && options.config && !options.look)
    TITAN_RETURN_IF_ERROR(agreed_rows(path, recipe::model_rows(*model), *options.config, options.comparison).status());
  if (model.ok()) return ReadModel{*model, keys_of_hf_config(fs, path, *model)};
  if (model.status().code != ckpt::Code::kNotFound) return model.status();
  if (options.config) {
    const Result<ModelDims> given = recipe::dims_from_rows("the configuration", *options.config);
    if (given.ok()) return ReadModel{*given, ConfigKeys::kTitan};
    if (!options.look) return given.status();
  }
  return ckpt::incompatible(folder + " has no " + kHfConfig +
                            ": the numbers of heads, RoPE and eps are not in the tensors")
      .with_hint(
          "put the model's config.json next to the weights, or say all of model.* in a file: titan-ckpt convert " +
          ckpt::shell_word(source) + " NEW --to titan --config FILE.toml");
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
    take_apart_experts();
    for (const Item& item : items_) TITAN_RETURN_IF_ERROR(sort_in(item));
    std::vector<std::string> ours;
    for (const auto& [name, entry] : ours_) ours.push_back(name);
    layers_ = recipe::layers_in(ours);
    for (const ckpt::ParameterMeta& parameter : recipe::model_parameters(model_))
      TITAN_RETURN_IF_ERROR(take(parameter));
    if (model_.tied) TITAN_RETURN_IF_ERROR(tie());
    for (const auto& [name, entry] : ours_) leave_over(entry.item->source);
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
      std::string plain = after_prefix(name, prefix);
      changed += plain != name ? 1 : 0;
      name = std::move(plain);
    }
    if (changed > 0)
      plan_.notes.push_back((prefix.empty() ? "names lack Hugging Face's `model.`"
                                            : "names begin with `" + prefix + "` where Hugging Face has `model.`") +
                            ": read as that, " + ckpt::counted(changed, "name"));
    return {};
  }

  // A tensor of the file, or a part of one. Its name is the one after the user's rules, without the prefix.
  struct Item {
    std::size_t source;
    std::string name;
    std::vector<std::uint64_t> shape;
    RowBlocks blocks;
  };
  struct Entry {
    const Item* item;
    Rows rows;
  };

  void take_apart_experts() {
    std::vector<std::string> fused;
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      const ForeignTensor& tensor = tensors_[i];
      const std::vector<ExpertPart> parts =
          names_.skipped[i] ? std::vector<ExpertPart>{} : expert_parts(names_.names[i], tensor.shape);
      if (parts.empty()) items_.push_back({i, names_.names[i], tensor.shape, {}});
      if (!parts.empty()) fused.push_back(tensor.name);
      for (const ExpertPart& part : parts) items_.push_back({i, part.name, part.shape, part.blocks});
    }
    if (!fused.empty()) plan_.notes.push_back(taken_apart(fused));
  }

  TensorReport report(const Item& item, Fate fate) const {
    return uncast(tensors_[item.source].name, fate, tensors_[item.source].dtype, item.shape);
  }

  void leave_over(std::size_t source) {
    if (std::ranges::find(left_over_, source) == left_over_.end()) left_over_.push_back(source);
  }

  Status sort_in(const Item& item) {
    if (names_.skipped[item.source]) {
      plan_.report.push_back(report(item, Fate::kSkipped));
      plan_.left_out.push_back(tensors_[item.source].name);
    } else if (layout_.names.derivable(item.name)) {
      plan_.report.push_back(report(item, Fate::kDropped));
    } else if (const MappedName mapped = our_name(item); mapped.name.empty()) {
      leave_over(item.source);
    } else if (const auto [other, first] = ours_.emplace(mapped.name, Entry{&item, mapped.rows}); !first) {
      return duplicate_mapping(source_.path(), mapped.name, tensors_[other->second.item->source].name,
                               tensors_[item.source].name);
    }
    return {};
  }

  // Names that a rule has mapped to Titan's are used unchanged.
  MappedName our_name(const Item& item) const {
    const std::string& name = item.name;
    MappedName mapped = layout_.names.ours(name).value_or(MappedName{});
    if (mapped.name.empty() && name != tensors_[item.source].name && layout_.names.theirs(name)) mapped.name = name;
    if (layout_.interleaved_rows) mapped.rows = Rows::kStay;
    if (options_.rules.rows && recipe::has_head_rows(mapped.name))
      mapped.rows = options_.rules.rows == recipe::HeadRows::kRotateHalf ? Rows::kQuery : Rows::kStay;
    return mapped;
  }

  void add(const std::string& name, const Item& item, std::uint64_t head_dim) {
    const auto index = static_cast<std::uint32_t>(plan_.parameters.size());
    plan_.parameters.push_back({name, item.shape});
    plan_.tensors.push_back({{index, ""}, item.source, head_dim, false, item.blocks});
    plan_.report.push_back(report(item, Fate::kWritten));
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
    const auto [item, rows] = at->second;
    const ForeignTensor& tensor = tensors_[item->source];
    if (item->shape != meta.shape)
      return shape_mismatch(source_.path(), tensor.name, item->shape, meta, model_, layout_.keys);
    if (!ckpt::is_float(tensor.dtype) && !options_.look)
      return ckpt::incompatible("tensor '" + tensor.name + "' of " + source_.path() + " is stored as " +
                                std::string(ckpt::dtype_name(tensor.dtype)) + ": expected a float type")
          .with_hint("save the model with float weights (bfloat16, float16 or float32)");
    add(meta.name, *item, rows == Rows::kStay || model_.head_dim == 2 ? 0 : model_.head_dim);
    ours_.erase(at);
    return ckpt::ok_status();
  }

  // A stored head of a model with tied embeddings must equal the embedding.
  Status tie() {
    const auto head = ours_.find(std::string(recipe::kHeadName));
    if (plan_.parameters.empty() || plan_.parameters.front().name != recipe::kEmbeddingName)
      return ckpt::ok_status();  // settle() reports a missing embedding
    const std::size_t embedding = plan_.tensors.front().source;
    if (head == ours_.end()) {  // the usual case: one tensor for both
      const ForeignTensor& whole = tensors_[embedding];
      plan_.report.push_back(uncast(whole.name, Fate::kTied, whole.dtype, whole.shape));
      plan_.report.back().from = layout_.names.theirs(recipe::kHeadName)->name;
      plan_.report.back().to = recipe::kEmbeddingName;
      return ckpt::ok_status();
    }
    const std::size_t source = head->second.item->source;
    TITAN_ASSIGN_OR_RETURN(const bool equal, same_elements(source_, source, embedding));
    if (!equal) {
      return ckpt::incompatible(source_.path() + " says that embedding and head are tied, but '" +
                                tensors_[source].name + "' differs from '" + tensors_[embedding].name + "'")
          .with_hint(tie_hint(false));
    }
    plan_.report.push_back(report(*head->second.item, Fate::kTied));
    plan_.report.back().to = recipe::kEmbeddingName;
    ours_.erase(head);
    return ckpt::ok_status();
  }

  // Checks that a conversion uses every tensor and finds every parameter. With `look`, unused tensors are left out and
  // missing parameters are accepted.
  Status settle(const std::vector<std::string>& all) {
    if (options_.look) {
      for (const std::size_t i : left_over_) add(tensors_[i].name, {i, tensors_[i].name, tensors_[i].shape, {}}, 0);
      return {};
    }
    const std::string layers = layers_mismatch(layers_, model_, layout_.keys);
    std::vector<std::string> names;
    for (const std::size_t i : left_over_) names.push_back(tensors_[i].name);
    TITAN_RETURN_IF_ERROR(complain("no place in the model for", names,
                                   plan_.tensors.empty() ? unknown_names_hint()
                                   : layers.empty()      ? "leave them out with " + skip_flags(names, all)
                                                         : layers));
    return complain("missing", missing_,
                    missing_ == std::vector<std::string>{layout_.names.theirs(recipe::kHeadName)->name} ? tie_hint(true)
                    : layers.empty() ? "the model cannot be had without them"
                                     : layers);
  }

  // The hint for a head that does not fit `tied`. In a GGUF file, no key ties the head: it is tied if its tensor is
  // absent.
  std::string tie_hint(bool tied) const {
    if (layout_.keys == ConfigKeys::kGguf)
      return tied ? "the model cannot be had without them" : "leave one of them out with --skip";
    const bool ours = layout_.keys == ConfigKeys::kTitan;
    return std::string("set ") + (ours ? "model.tied_embeddings" : layout_.tied) + " to " + (tied ? "true" : "false") +
           " in " + (ours ? "the configuration" : layout_.file) +
           (tied ? " if the head is the embedding" : " if they are two tensors");
  }

  // The hint if no tensor name is known. The usual hint, to skip unknown tensors, would leave nothing.
  std::string unknown_names_hint() const {
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
  std::vector<Item> items_;
  ImportPlan plan_;
  std::map<std::string, Entry> ours_;
  std::vector<std::size_t> left_over_;
  std::vector<std::string> missing_;
};

}  // namespace

Result<ModelDims> read_hf_config_file(Fs& fs, const std::string& path) {
  TITAN_ASSIGN_OR_RETURN(const JsonValue config, read_json_object(fs, path, kMaxHfConfigBytes));
  return read_hf_config(path, config);
}

ConfigKeys keys_of_hf_config(Fs& fs, const std::string& path, const ModelDims& model) {
  if (!model.experts) return ConfigKeys::kHuggingface;
  const Result<JsonValue> config = read_json_object(fs, path, kMaxHfConfigBytes);
  const auto says = [&](const char* key) { return config.ok() && config->find(key) != nullptr; };
  // A model with norms of queries and keys is Qwen3-MoE, which uses num_experts if the file has neither key;
  // transformers 5 writes num_local_experts for Qwen3-MoE and Mixtral.
  const bool local = !says("num_experts") && (says("num_local_experts") || !model.qk_norm);
  return local ? ConfigKeys::kHuggingfaceLocal : ConfigKeys::kHuggingface;
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
  const NameMap names = huggingface_names().of(model.dims);
  const ModelLayout layout{names, "tie_word_embeddings", kHfConfig, model.keys};
  TITAN_ASSIGN_OR_RETURN(ImportPlan plan, plan_tensors(source, model.dims, layout, options));
  if (source.path() == folder) {
    TITAN_ASSIGN_OR_RETURN(const std::vector<ckpt::DirEntry> entries, fs.list(folder));
    // Notes run state that is not read, because a user may want to resume from it.
    if (const std::vector<std::string> names = training_state(entries); !names.empty())
      plan.notes.push_back(kNotCopied + listed(names) + ": " + kStateOfRun + "; the weights alone are taken");
  }
  TITAN_RETURN_IF_ERROR(find_companions(fs, folder, plan));
  return plan;
}

}  // namespace titan::convert
