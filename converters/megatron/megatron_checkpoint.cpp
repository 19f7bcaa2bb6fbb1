#include "converters/megatron/megatron_checkpoint.h"

#include <algorithm>

#include "ckpt/base/fs.h"
#include "ckpt/base/path.h"
#include "ckpt/base/printable.h"
#include "ckpt/base/quoting.h"
#include "ckpt/base/text.h"
#include "ckpt/plan/lr_settings.h"
#include "converters/dcp/torchtitan.h"
#include "converters/json_file.h"
#include "converters/megatron/parts_view.h"
#include "converters/run_names.h"
#include "converters/skip_rules.h"
#include "recipe/model/manifest_dims.h"

namespace titan::convert::megatron {
namespace {

constexpr const char *kMetadata = "metadata.json", *kIteration = "iter_", *kVocabulary = "model.vocab_size",
                     *kEmbedding = "embedding.word_embeddings.weight";

class Checkpoint final : public ForeignCheckpoint {
 public:
  Checkpoint(Fs& fs, std::string path, std::string folder)
      : ForeignCheckpoint(std::move(path)), fs_(fs), folder_(std::move(folder)) {}

  Status open() {
    TITAN_RETURN_IF_ERROR(check_form());
    TITAN_ASSIGN_OR_RETURN(reader_, dcp::DcpReader::open(fs_, folder_));
    Result<CommonState> common = read_common(fs_, *reader_);
    if (!common.ok() && common.status().code != ckpt::Code::kNotFound) return common.status();
    if (common.ok()) common_ = *std::move(common);
    TITAN_ASSIGN_OR_RETURN(layers_, list_tensors(*reader_));
    if (layers_.empty()) return ckpt::incompatible(folder_ + " holds no tensors of a model");
    for (const LayerTensor& one : layers_) tensors_.push_back(one.tensor);
    return {};
  }

  Status read(std::size_t tensor, std::uint64_t first, std::span<std::byte> out) const override {
    const LayerTensor& one = layers_[tensor];
    return reader_->read(*one.entry, one.first + first, out);
  }

  Result<ImportPlan> plan(const ImportOptions& asked) const override {
    ImportOptions options = asked;
    const bool skipped = forget_state(options);
    if (options.config && !options.look && !skipped && dcp::has_run_settings(*options.config))
      TITAN_RETURN_IF_ERROR(common_.why_optimizer);
    if (!common_.arguments && !options.config && options.look) return unmapped_plan();
    const RuledNames ruled = rule_names(tensors_, options);
    const std::uint64_t rows = vocabulary(ruled.names);
    TITAN_ASSIGN_OR_RETURN(const recipe::ModelDims model, model_of(options, rows));
    TITAN_ASSIGN_OR_RETURN(const PartsView parts, PartsView::of(*this, ruled, model));
    const TrainedParts trained(fs_, parts, common_);
    TITAN_ASSIGN_OR_RETURN(ImportPlan plan, trained.plan_model(rest_of(ruled, parts.tensors()), model));
    report_skipped(ruled, tensors_, plan);
    if (rows > static_cast<std::uint64_t>(model.vocab_size))
      plan.notes.push_back("the first " + std::to_string(model.vocab_size) + " of " + std::to_string(rows) +
                           " rows of the padded vocabulary are taken, as model.vocab_size says");
    else if (!options.look)
      plan.notes.push_back("all " + std::to_string(rows) +
                           " rows of the vocabulary are taken, also those that Megatron padded it with: "
                           "--config with model.vocab_size takes that many");
    if (!common_.why_optimizer.ok() && !options.look)
      plan.notes.push_back("not taken: the optimizer's state: " + common_.why_optimizer.message);
    return parts.of_raw(std::move(plan));
  }

  Result<ckpt::VerifyReport> verify(const Progress& progress) const override {
    TITAN_ASSIGN_OR_RETURN(ckpt::VerifyReport report, reader_->verify(progress));
    if (common_.why_optimizer.code == ckpt::Code::kCorrupt)
      report.damage.push_back({kCommonFile, "structure", "", 0, 0, 0, common_.why_optimizer.message});
    return report;
  }

 private:
  // Checks metadata.json, which names the checkpoint's form and is written last.
  Status check_form() const {
    const std::string path = ckpt::join_path(folder_, kMetadata);
    const Result<ckpt::JsonValue> json = read_json_object(fs_, path);
    if (json.status().code == ckpt::Code::kNotFound)
      return ckpt::incompatible(path + " is missing: Megatron writes it last, so the checkpoint is not whole");
    TITAN_RETURN_IF_ERROR(json.status());
    const ckpt::JsonValue* form = json->find("sharded_backend");
    if (form == nullptr || form->text() == nullptr)
      return ckpt::incompatible(path + " names no sharded_backend: it is " + short_text(*json));
    if (*form->text() == "torch_dist") return {};
    return ckpt::unsupported(path + ": sharded_backend is " + short_text(*form) + ", expected torch_dist")
        .with_hint("load it and save it again with --ckpt-format torch_dist");
  }

  // Optimizer state that cannot be read is not among the tensors, so --skip patterns for it would count as unused.
  // Replaces them by one pattern for all of it. Returns whether there were such patterns.
  bool forget_state(ImportOptions& options) const {
    if (common_.why_optimizer.ok()) return false;
    const auto of_state = [&](const std::string& glob) {
      SkipRules rule({glob});
      return rule.takes(std::string(kStatePrefix)) || rule.takes(std::string(kBuckets));
    };
    if (std::erase_if(options.skip, of_state) == 0) return false;
    options.skip.push_back("optimizer.*");
    return true;
  }

  // The number of rows of the embedding; 0 if there is none.
  std::uint64_t vocabulary(const std::vector<std::string>& names) const {
    for (std::size_t i = 0; i < tensors_.size(); ++i)
      if (names[i].ends_with(kEmbedding) && !tensors_[i].shape.empty()) return tensors_[i].shape[0];
    return 0;
  }

  Result<recipe::ModelDims> model_of(const ImportOptions& options, std::uint64_t rows) const {
    if (!common_.arguments) {
      if (options.config) return recipe::dims_from_rows("the configuration", *options.config);
      return ckpt::incompatible(folder_ +
                                " does not say its model: it holds no arguments of Megatron's, which say heads, RoPE "
                                "and eps")
          .with_hint("say all of model.* in a file: titan-ckpt convert " + ckpt::shell_word(path_) +
                     " NEW --to titan --config FILE.toml");
    }
    recipe::ModelDims model = common_.arguments->dims;
    if (rows > 0) model.vocab_size = recipe::to_dimension(rows);
    if (!options.config) return checked(model);
    const auto given = ckpt::number_of<std::uint64_t>(ckpt::setting(*options.config, kVocabulary));
    if (given && *given > 0 && *given < static_cast<std::uint64_t>(model.vocab_size))
      model.vocab_size = recipe::to_dimension(*given);
    if (!options.look)
      TITAN_RETURN_IF_ERROR(
          agreed_rows(path_, recipe::model_rows(model), *options.config, options.comparison).status());
    return checked(model);
  }
  Result<recipe::ModelDims> checked(const recipe::ModelDims& model) const {
    if (const Status sound = recipe::check_dims(model); !sound.ok()) return sound.wrapped(path_);
    return model;
  }

  // The plan to inspect a checkpoint that has no arguments: the model's tensors as stored.
  ImportPlan unmapped_plan() const {
    ImportPlan plan;
    plan.step = common_.step.value_or(0);
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      if (!split_state(tensors_[i].name).slot.empty()) continue;
      plan.tensors.push_back({{static_cast<std::uint32_t>(plan.parameters.size()), ""}, i});
      plan.parameters.push_back({tensors_[i].name, tensors_[i].shape});
    }
    return plan;
  }

  Fs& fs_;
  const std::string folder_;
  std::unique_ptr<dcp::DcpReader> reader_;
  CommonState common_;
  std::vector<LayerTensor> layers_;
};

// Decides by names alone: a DCP directory with one of Megatron's files next to it.
Result<bool> is_iteration(Fs& fs, const std::string& path) {
  TITAN_ASSIGN_OR_RETURN(const bool tensors, is_file(fs, ckpt::join_path(path, dcp::kMetadataFile)));
  if (!tensors) return false;
  for (const char* name : {kMetadata, kCommonFile}) {
    TITAN_ASSIGN_OR_RETURN(const bool there, is_file(fs, ckpt::join_path(path, name)));
    if (there) return true;
  }
  return false;
}

// The newest of the steps below `path`; "" if there is none.
Result<std::string> newest_iteration(Fs& fs, const std::string& path) {
  const auto entries = fs.list(path);
  std::string newest;
  std::uint64_t last = 0;
  for (std::size_t i = 0; entries.ok() && i < entries->size(); ++i) {
    const std::string& name = (*entries)[i].name;
    const auto number = name.starts_with(kIteration) ? ckpt::number_of<std::uint64_t>(name.substr(5)) : std::nullopt;
    if (!number || (!newest.empty() && *number < last)) continue;
    TITAN_ASSIGN_OR_RETURN(const bool there, is_iteration(fs, ckpt::join_path(path, name)));
    if (!there) continue;
    newest = ckpt::join_path(path, name);
    last = *number;
  }
  return newest;
}

// The content of the file that names the last step: "5", "release". \error kNotFound, kFailed
Result<std::string> last_word(Fs& fs, const std::string& path) {
  return latest_word(fs, ckpt::join_path(path, kLatestOfMegatron));
}

class MegatronFormat final : public Format {
 public:
  const char* name() const override { return "megatron"; }
  const char* title() const override { return "Megatron-Core torch_dist"; }
  bool writes() const override { return false; }
  Result<bool> probe(Fs& fs, const std::string& path) const override {
    TITAN_ASSIGN_OR_RETURN(const std::string folder, find_iteration(fs, path));
    return !folder.empty();
  }
  Status near_miss(Fs& fs, const std::string& path) const override {
    TITAN_ASSIGN_OR_RETURN(const std::string newest, newest_iteration(fs, path));
    if (newest.empty()) return {};
    const Result<std::string> word = last_word(fs, path);
    const std::string says = !word.ok() ? "is not there, or cannot be read"
                             : word->empty()
                                 ? "is empty"
                                 : "names '" + ckpt::printable(word->substr(0, 40)) + "', which is not there";
    return ckpt::not_found(path + " holds steps of Megatron-Core, but " + kLatestOfMegatron + " " + says)
        .with_hint("name a step: the newest is " + newest);
  }
  bool is_member(const std::string&) const override { return false; }
  Result<std::unique_ptr<ForeignCheckpoint>> open(Fs& fs, const std::string& path) const override {
    TITAN_ASSIGN_OR_RETURN(const std::string folder, find_iteration(fs, path));
    if (folder.empty()) return ckpt::not_found(path + " holds no checkpoint of Megatron-Core in the form torch_dist");
    return opened<Checkpoint>(fs, path, folder);
  }
  Result<std::unique_ptr<ForeignWriter>> create(Fs&, const CheckpointReader&, const ExportOptions&) const override {
    return ckpt::unsupported("Megatron's checkpoints are read, not written")
        .with_hint("--to hf writes a folder that Megatron Bridge imports (AutoBridge.import_ckpt)");
  }
};

}  // namespace

Result<std::string> find_iteration(Fs& fs, const std::string& path) {
  TITAN_ASSIGN_OR_RETURN(const bool itself, is_iteration(fs, path));
  if (itself) return path;
  const Result<std::string> word = last_word(fs, path);
  if (!word.ok()) return std::string();
  const auto number = ckpt::number_of<std::uint64_t>(*word);
  if (!number && *word != "release") return std::string();
  const std::string digits = number ? std::to_string(*number) : "";
  const std::string folder = ckpt::join_path(
      path, number ? kIteration + std::string(7 - std::min<std::size_t>(7, digits.size()), '0') + digits : *word);
  TITAN_ASSIGN_OR_RETURN(const bool there, is_iteration(fs, folder));
  return there ? folder : std::string();
}

const Format& megatron_format() {
  static const MegatronFormat format;
  return format;
}

}  // namespace titan::convert::megatron
