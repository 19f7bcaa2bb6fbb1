#include "converters/verl/verl_checkpoint.h"

#include <algorithm>
#include <optional>

#include "ckpt/base/fs.h"
#include "ckpt/base/path.h"
#include "ckpt/base/text.h"
#include "converters/companions.h"
#include "converters/hf/hf_checkpoint.h"
#include "converters/hf/hf_plan.h"
#include "converters/hf/training_settings.h"
#include "converters/other_programs.h"
#include "converters/run_names.h"
#include "converters/torch_save/rank_tensor.h"
#include "converters/trainer/trainer_state.h"

namespace titan::convert::verl {
namespace {

using ckpt::corrupt;

constexpr const char *kModel = "model", *kOptimizer = "optim", *kActor = "actor";
constexpr std::uint32_t kMostRanks = 512;  // a limit, because the pickles of all ranks are in memory at the same time
constexpr std::size_t kMostTensors = 100'000;

// The numbers in "model_world_size_N_rank_R.pt".
struct RankName {
  std::uint32_t world = 0, rank = 0;
};
std::optional<RankName> parse_name(const std::string& name, const std::string& what) {
  const std::string begin = what + "_world_size_", middle = "_rank_", end = ".pt";
  if (!name.starts_with(begin) || !name.ends_with(end)) return std::nullopt;
  const std::string rest = name.substr(begin.size(), name.size() - begin.size() - end.size());
  const std::size_t at = rest.find(middle);
  if (at == std::string::npos) return std::nullopt;
  const auto world = ckpt::number_of<std::uint32_t>(rest.substr(0, at)),
             rank = ckpt::number_of<std::uint32_t>(rest.substr(at + middle.size()));
  return world && rank ? std::optional(RankName{*world, *rank}) : std::nullopt;
}

std::string file_name(const std::string& what, std::uint32_t world, std::uint32_t rank) {
  return what + "_world_size_" + std::to_string(world) + "_rank_" + std::to_string(rank) + ".pt";
}

// The files of all ranks; empty if there are none. \error kCorrupt: some are missing, or they are of two runs
Result<std::vector<std::string>> rank_files(Fs& fs, const std::string& folder, const std::string& what) {
  TITAN_ASSIGN_OR_RETURN(const std::vector<ckpt::DirEntry> entries, entries_of(fs, folder));
  std::optional<std::uint32_t> world;
  std::vector<bool> there;
  for (const ckpt::DirEntry& entry : entries) {
    const auto name = parse_name(entry.name, what);
    if (!name) continue;
    const std::string usual = file_name(what, name->world, name->rank);
    if (entry.name != usual)
      return corrupt(folder + " holds " + entry.name + ", which verl writes as " + usual)
          .with_hint("rename it, if it is that rank's file");
    if (name->world == 0 || name->rank >= name->world || (world && *world != name->world))
      return corrupt(folder + " holds " + entry.name +
                     (world ? " next to files of " + std::to_string(*world) + " ranks" : ", which is of no rank"));
    if (name->world > kMostRanks)
      return ckpt::unsupported(folder + " is of " + std::to_string(name->world) + " ranks, at most " +
                               std::to_string(kMostRanks) + " are read");
    world = name->world;
    there.resize(*world);
    there[name->rank] = true;
  }
  std::vector<std::string> paths;
  for (std::uint32_t rank = 0; rank < there.size(); ++rank) {
    if (!there[rank]) return corrupt(folder + " lacks " + file_name(what, *world, rank));
    paths.push_back(through_link(fs, ckpt::join_path(folder, file_name(what, *world, rank))));
  }
  return paths;
}

// The step of ".../global_step_N" or ".../global_step_N/actor".
std::optional<std::uint64_t> step_of_folder(const std::string& path) {
  for (const std::string& folder : {path, ckpt::parent_path(path)})
    if (const std::string name = ckpt::base_name(folder); name.starts_with("global_step_")) return step_of_name(name);
  return std::nullopt;
}

class Checkpoint final : public TrainedSource {
 public:
  Checkpoint(Fs& fs, std::string path, std::string folder)
      : TrainedSource(fs, std::move(path)), folder_(std::move(folder)) {}

  Status open() {
    TITAN_ASSIGN_OR_RETURN(const std::vector<std::string> paths, rank_files(fs_, folder_, kModel));
    ranks_ = static_cast<std::uint32_t>(paths.size());
    for (const std::string& path : paths) TITAN_RETURN_IF_ERROR(take_rank(path));
    if (order_.empty()) return ckpt::incompatible(paths.front() + " holds no tensors");
    for (const std::string& name : order_) {
      TITAN_ASSIGN_OR_RETURN(PiecedTensor whole, joined_parts("'" + name + "' of " + this->path(), parts_.at(name)));
      std::vector<std::uint64_t> shape = whole.shape;
      add_part(name, add_pieced(std::move(whole)), 0, std::move(shape));
    }
    parts_.clear();
    end_of_model();
    set_why(read_optimizer());
    return {};
  }

  Result<ImportPlan> plan(const ImportOptions& options) const override {
    const bool run = asks_for_run(options);
    if (run) TITAN_RETURN_IF_ERROR(why_);
    TITAN_ASSIGN_OR_RETURN(const std::string config, folder_of_config());
    TITAN_ASSIGN_OR_RETURN(ImportPlan plan, plan_hf_import(fs_, config, *model_view(), of_model(options)));
    plan.step = step_of_folder(folder_).value_or(0);
    plan.data_ranks = ranks_;
    if (run) {
      TITAN_RETURN_IF_ERROR(take_counted_run(options, of_weights(groups_, plan), plan));
      const Status alike = take_training_settings(fs_, ckpt::join_path(config, kHfConfig), plan);
      if (!alike.ok()) return alike.with_hint(kModelAlone);
    } else if (!options.look) {
      plan.notes.push_back(why_.ok()
                               ? "the weights alone are taken: --config FILE.toml with optimizer, lr_scheduler and "
                                 "training continues the run, optimizer included"
                               : "not taken: the optimizer's state, which cannot be read: " + why_.message);
    }
    return plan;
  }

 private:
  Status take_rank(const std::string& path) {
    TITAN_ASSIGN_OR_RETURN(const TorchFile file, TorchFile::open(fs_, path));
    const Pickle& pickle = file.pickle();
    const std::uint32_t number = files_.add_archive(path);
    if (!pickle.is(pickle.root(), NodeKind::kDict)) return corrupt(path + " is no dict of tensors");
    const bool first = parts_.empty();
    std::size_t seen = 0;
    for (std::size_t i = 0; i + 1 < pickle.size(pickle.root()); i += 2) {
      const NodeId key = pickle.item(pickle.root(), i);
      if (!pickle.is(key, NodeKind::kText)) return corrupt(path + ": a name is " + pickle.describe(key));
      const std::string name(pickle.text(key));
      if (first && parts_.size() == kMostTensors)
        return ckpt::unsupported(path + " has more than " + std::to_string(kMostTensors) + " tensors");
      TITAN_ASSIGN_OR_RETURN(RankPart part, rank_part(file, pickle.item(pickle.root(), i + 1)));
      const auto [at, added] = parts_.try_emplace(name);
      if (added && !first) return corrupt(path + " holds '" + name + "', which the first rank's file does not");
      if (!at->second.empty() && at->second.back().first == number)
        return corrupt(path + " holds '" + name + "' twice");
      if (added) order_.push_back(name);
      at->second.emplace_back(number, std::move(part));
      ++seen;
    }
    if (seen != parts_.size()) return corrupt(path + " lacks tensors of the first rank's file");
    return {};
  }

  Status read_optimizer() {
    TITAN_ASSIGN_OR_RETURN(const std::vector<std::string> paths, rank_files(fs_, folder_, kOptimizer));
    if (paths.empty())
      return ckpt::incompatible(folder_ + " has no " + file_name(kOptimizer, ranks_, 0)).with_hint(kModelAlone);
    TITAN_ASSIGN_OR_RETURN(const std::string config, folder_of_config());
    Result<recipe::ModelDims> said = read_hf_config_file(fs_, ckpt::join_path(config, kHfConfig));
    if (said.status().code == ckpt::Code::kNotFound)
      return ckpt::incompatible(folder_ + " has no " + kHfConfig + ", which says whose states " + paths.front() +
                                " has")
          .with_hint("copy the model's config.json into " + ckpt::join_path(folder_, "huggingface") + ", or " +
                     kModelAlone);
    TITAN_ASSIGN_OR_RETURN(const recipe::ModelDims model, std::move(said));
    TITAN_ASSIGN_OR_RETURN(state_, read_trainer_state(fs_, paths, model, files_));
    const std::vector<PlacedState> placed = placed_state(state_, tensors());
    groups_ = groups_of(placed);
    for (const auto& [moments, parts] : placed)
      add_moments(parts, moments->exp_avg, moments->exp_avg_sq, moments->step);
    know_states(huggingface_names().of(model));
    return {};
  }

  // The folder of config.json and the tokenizer: `huggingface` (verl), the folder of the rank files, or the one above.
  Result<std::string> folder_of_config() const {
    for (const std::string& folder : {ckpt::join_path(folder_, "huggingface"), folder_, ckpt::parent_path(folder_)}) {
      TITAN_ASSIGN_OR_RETURN(const bool there, file_there(fs_, ckpt::join_path(folder, kHfConfig)));
      if (there) return folder;
    }
    return folder_;
  }

  const std::string folder_;
  std::uint32_t ranks_ = 0;
  std::vector<std::string> order_;
  std::map<std::string, RankParts> parts_;  // used only by open()
  TrainerState state_;
  std::map<std::string, GroupValues> groups_;
};

class VerlFormat final : public Format {
 public:
  const char* name() const override { return "verl"; }
  const char* title() const override { return "verl (FSDP's pickles of ranks)"; }
  bool writes() const override { return false; }
  Result<bool> probe(Fs& fs, const std::string& path) const override {
    TITAN_ASSIGN_OR_RETURN(const std::string folder, find_ranks(fs, path));
    return !folder.empty();
  }
  bool is_member(const std::string&) const override { return false; }
  Result<std::unique_ptr<ForeignCheckpoint>> open(Fs& fs, const std::string& path) const override {
    TITAN_ASSIGN_OR_RETURN(const std::string folder, find_ranks(fs, path));
    if (folder.empty()) return ckpt::not_found(path + " holds no files of verl's ranks");
    return opened<Checkpoint>(fs, path, folder);
  }
  Result<std::unique_ptr<ForeignWriter>> create(Fs&, const CheckpointReader&, const ExportOptions&) const override {
    return ckpt::unsupported("verl's checkpoints are read, not written")
        .with_hint("--to hf writes a folder that verl begins from (actor_rollout_ref.model.path)");
  }
};

}  // namespace

Result<std::string> find_ranks(Fs& fs, const std::string& path) {
  for (const std::string& folder : {path, ckpt::join_path(path, kActor)}) {
    TITAN_ASSIGN_OR_RETURN(const std::vector<ckpt::DirEntry> entries, entries_of(fs, folder));
    if (std::ranges::any_of(entries, [](const auto& entry) { return parse_name(entry.name, kModel).has_value(); }))
      return folder;
  }
  return std::string();
}

const Format& verl_format() {
  static const VerlFormat format;
  return format;
}

}  // namespace titan::convert::verl
