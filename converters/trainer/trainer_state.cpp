#include "converters/trainer/trainer_state.h"

#include <algorithm>
#include <set>

#include "ckpt/base/fs.h"
#include "ckpt/base/path.h"
#include "ckpt/model/tensor_meta.h"
#include "converters/dcp/optimizer_groups.h"
#include "converters/file_names.h"
#include "converters/name_map.h"
#include "converters/prefix.h"
#include "converters/torch_save/rank_tensor.h"
#include "recipe/model/family.h"

namespace titan::convert {

using ckpt::corrupt;
using recipe::Part;

namespace {

constexpr const char* kNames[] = {"optimizer.pt", "optimizer.bin"};

// The parameters of a layer, in the order in which transformers creates its modules.
constexpr Part kOfLayer[] = {Part::kQuery,
                             Part::kQueryBias,
                             Part::kKey,
                             Part::kKeyBias,
                             Part::kValue,
                             Part::kValueBias,
                             Part::kAttentionOut,
                             Part::kQueryNorm,
                             Part::kKeyNorm,
                             Part::kGate,
                             Part::kUp,
                             Part::kDown,
                             Part::kRouter,
                             Part::kAttentionNorm,
                             Part::kFeedForwardNorm,
                             Part::kAttentionPostNorm,
                             Part::kFeedForwardPostNorm};

using Parameters = std::vector<ckpt::ParameterMeta>;

// The optimizer's file of one rank.
struct RankFile {
  TorchFile file;
  std::uint32_t number = 0;                 // in PieceFiles
  NodeId root = kNoNode, states = kNoNode;  // the optimizer's state_dict, and `state` in it
  std::map<std::int64_t, NodeId> by_number{};
};

class StateReader {
 public:
  /// `orders`: possible orders of the model's parameters. The first one with as many parameters as the file is used.
  StateReader(Fs& fs, std::vector<Parameters> orders, PieceFiles& files)
      : fs_(fs), orders_(std::move(orders)), files_(files) {}

  Result<TrainerState> run(const std::vector<std::string>& paths) {
    for (const std::string& path : paths) TITAN_RETURN_IF_ERROR(open(path));
    const TorchFile& file = first();
    const Pickle& pickle = file.pickle();
    TITAN_ASSIGN_OR_RETURN(const NodeId groups, file.at(ranks_.front().root, "param_groups"));
    if (!pickle.is(groups, NodeKind::kList)) return corrupt(file.path() + ": param_groups is no list");
    TITAN_RETURN_IF_ERROR(choose_order(groups));
    TITAN_RETURN_IF_ERROR(find_prefix());
    for (std::size_t g = 0; g < pickle.size(groups); ++g) TITAN_RETURN_IF_ERROR(take_group(pickle.item(groups, g)));
    if (numbers_.size() + named_ != order_.size() || (named_ != 0 && !numbers_.empty()))
      return ckpt::incompatible(file.path() + " is the optimizer's state of " +
                                std::to_string(numbers_.size() + named_) + " parameters, the model has " +
                                std::to_string(order_.size()))
          .with_hint(kModelAlone);
    TITAN_RETURN_IF_ERROR(place_numbers());
    return std::move(out_);
  }

 private:
  struct Key {
    std::int64_t number = 0;
    std::string name{};  // if not empty, identifies the parameter instead of the number
  };
  struct Numbered {
    std::int64_t number;
    std::size_t group;
  };

  const TorchFile& first() const { return ranks_.front().file; }

  Status open(const std::string& path) {
    TITAN_ASSIGN_OR_RETURN(TorchFile file, TorchFile::open(fs_, path));
    RankFile rank{std::move(file), files_.add_archive(path)};
    const Pickle& pickle = rank.file.pickle();
    rank.root = pickle.root();
    for (const char* wrapped : {"optimizer", "optimizer_state_dict", "optim"})
      if (const NodeId inner = pickle.find(pickle.root(), wrapped); pickle.find(rank.root, "state") == kNoNode)
        rank.root = pickle.find(inner, "state") == kNoNode ? rank.root : inner;
    rank.states = pickle.find(rank.root, "state");
    if (rank.states == kNoNode)
      return ckpt::unsupported(path + " is no optimizer's state_dict: a " + pickle.describe(rank.root) +
                               " without 'state'")
          .with_hint(kModelAlone);
    if (!pickle.is(rank.states, NodeKind::kDict)) return corrupt(path + ": state is no dict");
    for (std::size_t i = 0; i + 1 < pickle.size(rank.states); i += 2) {
      const NodeId key = pickle.item(rank.states, i);
      if (pickle.is(key, NodeKind::kInt)) rank.by_number[pickle.integer(key)] = pickle.item(rank.states, i + 1);
    }
    ranks_.push_back(std::move(rank));
    return {};
  }

  Status choose_order(NodeId groups) {
    const Pickle& pickle = first().pickle();
    std::size_t count = 0;
    for (std::size_t g = 0; g < pickle.size(groups); ++g) {
      TITAN_ASSIGN_OR_RETURN(const NodeId parameters, first().at(pickle.item(groups, g), "params"));
      if (pickle.is(parameters, NodeKind::kList)) count += pickle.size(parameters);
    }
    const auto fits = std::ranges::find(orders_, count, &Parameters::size);
    order_ = fits == orders_.end() ? orders_.front() : *fits;
    return {};
  }

  // Finds the prefix of names: "_orig_mod.model.", "base.model." or similar, as in model files; "" if the names lack
  // even "model.".
  Status find_prefix() {
    const Pickle& pickle = first().pickle();
    std::vector<std::string> names;
    for (std::size_t i = 0; i + 1 < pickle.size(ranks_.front().states); i += 2)
      if (const NodeId key = pickle.item(ranks_.front().states, i); pickle.is(key, NodeKind::kText))
        names.push_back(without_wrappers(pickle.text(key)));
    TITAN_ASSIGN_OR_RETURN(prefix_, prefix_of(first().path(), names));
    return {};
  }

  // Refuses other optimizers than AdamW by the fields of their groups. The names of the state do not suffice, because
  // other optimizers use the same.
  Status check_fields(NodeId group) const {
    const Pickle& pickle = first().pickle();
    for (std::size_t i = 0; pickle.is(group, NodeKind::kDict) && i + 1 < pickle.size(group); i += 2)
      if (const NodeId key = pickle.item(group, i);
          pickle.is(key, NodeKind::kText) && !dcp::is_group_field(pickle.text(key)))
        return dcp::unknown_field(first().path(), std::string(pickle.text(key))).with_hint(kModelAlone);
    return pickle.find(group, "amsgrad") == kNoNode ? dcp::no_adamw(first().path()).with_hint(kModelAlone) : Status{};
  }

  Status take_group(NodeId node) {
    const Pickle& pickle = first().pickle();
    TITAN_RETURN_IF_ERROR(check_fields(node));
    TITAN_ASSIGN_OR_RETURN(const GroupValues values, read_group(first(), node));
    TITAN_ASSIGN_OR_RETURN(const NodeId parameters, first().at(node, "params"));
    if (!pickle.is(parameters, NodeKind::kList)) return corrupt(first().path() + ": params is no list");
    for (std::size_t i = 0; i < pickle.size(parameters); ++i) {
      const NodeId key = pickle.item(parameters, i);
      if (pickle.is(key, NodeKind::kText))
        TITAN_RETURN_IF_ERROR(take_named(std::string(pickle.text(key)), values));
      else if (pickle.is(key, NodeKind::kInt))
        numbers_.push_back({pickle.integer(key), groups_.size()});
      else
        return corrupt(first().path() + ": a parameter is " + pickle.describe(key));
    }
    groups_.push_back(values);
    return {};
  }

  Status take_named(const std::string& name, const GroupValues& values) {
    const std::string plain = after_prefix(without_wrappers(name), prefix_);
    const auto at = std::ranges::find(order_, plain, &ckpt::ParameterMeta::name);
    if (at == order_.end())
      return ckpt::incompatible(first().path() + ": '" + name.substr(0, 200) + "' is no parameter of the model")
          .with_hint(kModelAlone);
    ++named_;
    return take(*at, {0, name}, values);
  }

  // Assigns numbered states to parameters. In one group, parameters are in the model's order. Of several groups, each
  // must have only matrices or only vectors, in the model's order.
  Status place_numbers() {
    std::vector<const ckpt::ParameterMeta*> order;
    std::vector<std::size_t> of_group;
    for (std::size_t group = 0; group < groups_.size() && !numbers_.empty(); ++group) {
      const auto one = std::ranges::find(numbers_, group, &Numbered::group);
      if (one == numbers_.end()) continue;
      TITAN_ASSIGN_OR_RETURN(const PiecedTensor moment,
                             moment_of({one->number}, ckpt::kExpAvg, first().path() + ": a moment"));
      const auto mine = std::ranges::count(numbers_, group, &Numbered::group);
      for (const ckpt::ParameterMeta& parameter : order_)
        if (static_cast<std::size_t>(mine) == order_.size() ||
            (parameter.shape.size() > 1) == (moment.shape.size() > 1))
          order.push_back(&parameter);
      if (order.size() != of_group.size() + static_cast<std::size_t>(mine)) return other_groups();
      of_group.resize(order.size(), group);
    }
    for (std::size_t i = 0; i < numbers_.size(); ++i)
      TITAN_RETURN_IF_ERROR(take(*order[i], {numbers_[i].number}, groups_[numbers_[i].group]));
    return out_.size() == order_.size() ? Status{} : other_groups();
  }

  Status other_groups() const {
    return ckpt::incompatible(
               first().path() + ": the optimizer has " + std::to_string(groups_.size()) +
               " groups of parameters without names, expected one, or one of matrices and one of vectors "
               "(norms, biases): which state is whose cannot be known")
        .with_hint(kModelAlone);
  }

  Result<NodeId> state_of(const RankFile& rank, const Key& key) const {
    if (!key.name.empty()) return rank.file.at(rank.states, key.name);
    if (const auto at = rank.by_number.find(key.number); at != rank.by_number.end()) return at->second;
    return ckpt::incompatible(rank.file.path() + " has no state of parameter " + std::to_string(key.number) +
                              ": it was not trained")
        .with_hint(kModelAlone);
  }

  // The moment `slot` of the parameter `key`; `name` is for messages.
  Result<PiecedTensor> moment_of(const Key& key, const char* slot, const std::string& name) const {
    RankParts parts;
    for (const RankFile& rank : ranks_) {
      const Pickle& pickle = rank.file.pickle();
      TITAN_ASSIGN_OR_RETURN(const NodeId state, state_of(rank, key));
      const NodeId node = pickle.is(state, NodeKind::kDict) ? pickle.find(state, slot) : kNoNode;
      if (node == kNoNode)
        return ckpt::unsupported(rank.file.path() + ": the state of a parameter has no " + slot +
                                 ": only AdamW's is read")
            .with_hint(kModelAlone);
      TITAN_ASSIGN_OR_RETURN(RankPart part, rank_part(rank.file, node));
      parts.emplace_back(rank.number, std::move(part));
    }
    return joined_parts(name, parts);
  }

  Status take(const ckpt::ParameterMeta& parameter, const Key& key, const GroupValues& group) {
    TrainerMoments moments;
    moments.group = group;
    for (const auto& [slot, to] :
         {std::pair{ckpt::kExpAvg, &moments.exp_avg}, {ckpt::kExpAvgSq, &moments.exp_avg_sq}}) {
      const std::string name = "the optimizer's " + std::string(slot) + " of '" + parameter.name + "'";
      TITAN_ASSIGN_OR_RETURN(*to, moment_of(key, slot, name));
      if (to->shape != parameter.shape)
        return ckpt::incompatible(first().path() + ": " + name + " has the shape " + ckpt::shape_text(to->shape) +
                                  ", the parameter " + ckpt::shape_text(parameter.shape) +
                                  ": its parameters are in another order, or of another model")
            .with_hint(kModelAlone);
    }
    TITAN_ASSIGN_OR_RETURN(const NodeId state, state_of(ranks_.front(), key));
    TITAN_ASSIGN_OR_RETURN(const NodeId step, first().at(state, "step"));
    TITAN_ASSIGN_OR_RETURN(moments.step, first().number(step));
    if (out_.emplace(parameter.name, std::move(moments)).second) return {};
    return corrupt(first().path() + " has two states of '" + parameter.name + "'");
  }

  Fs& fs_;
  const std::vector<Parameters> orders_;
  Parameters order_;
  std::string prefix_;  // before "layers." in names of states
  PieceFiles& files_;
  std::vector<RankFile> ranks_;
  std::vector<Numbered> numbers_;  // in the order in which the groups list them
  std::size_t named_ = 0;
  std::vector<GroupValues> groups_;
  TrainerState out_;
};

}  // namespace

std::vector<PlacedState> placed_state(const TrainerState& state, const std::vector<ForeignTensor>& tensors) {
  std::set<std::string> there;
  for (const ForeignTensor& tensor : tensors) there.insert(tensor.name);
  std::vector<PlacedState> placed;
  for (const auto& [name, moments] : state) {
    const std::vector<std::uint64_t>& shape = moments.exp_avg.shape;
    PlacedState one{&moments, {{name, {}, shape}}};
    if (std::vector<ExpertPart> parts = expert_parts(name, shape); !there.contains(name) && !parts.empty())
      one.parts = std::move(parts);
    placed.push_back(std::move(one));
  }
  return placed;
}

std::map<std::string, GroupValues> groups_of(const std::vector<PlacedState>& placed) {
  std::map<std::string, GroupValues> groups;
  for (const PlacedState& one : placed)
    for (const ExpertPart& part : one.parts) groups[part.name] = one.moments->group;
  return groups;
}

Result<std::string> find_trainer_state(Fs& fs, const std::string& folder) {
  for (const char* name : kNames) {
    const auto info = fs.stat(ckpt::join_path(folder, name));
    if (info.ok()) return std::string(name);
    if (info.status().code != ckpt::Code::kNotFound) return info.status();
  }
  return std::string();
}

Parameters in_order_of_transformers(const recipe::ModelDims& model, bool fused) {
  const NameMap names = huggingface_names().of(model);
  Parameters order;
  const auto add = [&](Part part, std::uint64_t layer, std::uint64_t expert = 0) {
    const recipe::ParameterKind& kind = recipe::kind_of(part);
    if (!kind.is_in(model)) return;
    const std::string of_layer = std::to_string(layer), of_expert = std::to_string(expert);
    const std::string own = recipe::filled_pattern(kind.huggingface, {of_layer, of_expert});
    const auto mapped = names.theirs(recipe::name_of(part, layer, expert));
    order.push_back({mapped && !fused ? mapped->name : own, recipe::shape_of(kind, model)});
  };
  const auto add_experts = [&](std::uint64_t layer) {
    const auto experts = static_cast<std::uint64_t>(model.n_experts), inner = static_cast<std::uint64_t>(model.ffn_dim),
               width = static_cast<std::uint64_t>(model.dim);
    if (fused) {
      const auto [gates_and_ups, downs] = fused_experts(layer);
      order.push_back({gates_and_ups, {experts, 2 * inner, width}});
      order.push_back({downs, {experts, width, inner}});
      return;
    }
    // transformers' Mixtral classes register w1, w2, w3 (gate, down, up); Qwen3-MoE's register gate, up, down.
    for (std::uint64_t expert = 0; expert < experts; ++expert) {
      add(Part::kExpertGate, layer, expert);
      add(model.qk_norm ? Part::kExpertUp : Part::kExpertDown, layer, expert);
      add(model.qk_norm ? Part::kExpertDown : Part::kExpertUp, layer, expert);
    }
  };
  add(Part::kEmbedding, 0);
  for (std::uint64_t layer = 0; layer < static_cast<std::uint64_t>(model.n_layers); ++layer) {
    for (const Part part : kOfLayer) {
      const bool router = part == Part::kRouter && model.experts, experts_first = fused && model.qk_norm;
      if (router && experts_first) add_experts(layer);
      add(part, layer);
      if (router && !experts_first) add_experts(layer);
    }
  }
  add(Part::kFinalNorm, 0);
  if (!model.tied) add(Part::kHead, 0);
  return order;
}

Result<TrainerState> read_trainer_state(Fs& fs, const std::vector<std::string>& paths, const recipe::ModelDims& model,
                                        PieceFiles& files) {
  if (paths.empty()) return ckpt::not_found("no file of an optimizer");
  std::vector<Parameters> orders{in_order_of_transformers(model)};
  if (model.experts) orders.push_back(in_order_of_transformers(model, true));
  return StateReader(fs, std::move(orders), files).run(paths);
}

}  // namespace titan::convert
