#include "converters/trainer/trainer_state.h"

#include <algorithm>

#include "ckpt/model/shape_text.h"
#include "converters/name_table.h"
#include "converters/torch_save/torch_file.h"
#include "recipe/model/family.h"

namespace titan::convert {

using ckpt::corrupt;
using dcp::NodeId;
using dcp::NodeKind;
using dcp::Pickle;
using recipe::Part;

namespace {

constexpr const char* kNames[] = {"optimizer.pt", "optimizer.bin"};
constexpr const char* kWithout = "take the model alone: leave out --config";

// Parts of a layer, as modules of transformers are made.
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
                             Part::kAttentionNorm,
                             Part::kFeedForwardNorm,
                             Part::kAttentionPostNorm,
                             Part::kFeedForwardPostNorm};

using Parameters = std::vector<ckpt::ParameterMeta>;

class StateReader {
 public:
  StateReader(const TorchFile& file, const Parameters& order, std::uint32_t number)
      : file_(file), pickle_(file.pickle()), order_(order), number_(number) {}

  Result<TrainerState> run() {
    TITAN_ASSIGN_OR_RETURN(states_, file_.at(pickle_.root(), "state"));
    TITAN_ASSIGN_OR_RETURN(const NodeId groups, file_.at(pickle_.root(), "param_groups"));
    if (!pickle_.is(states_, NodeKind::kDict) || !pickle_.is(groups, NodeKind::kList))
      return corrupt(file_.path() + ": state is no dict, or param_groups no list");
    for (std::size_t i = 0; i + 1 < pickle_.size(states_); i += 2) {
      const NodeId key = pickle_.item(states_, i);
      if (pickle_.is(key, NodeKind::kInt)) by_number_[pickle_.integer(key)] = pickle_.item(states_, i + 1);
    }
    for (std::size_t g = 0; g < pickle_.size(groups); ++g) TITAN_RETURN_IF_ERROR(take_group(pickle_.item(groups, g)));
    if (numbers_.size() + named_ != order_.size() || (named_ != 0 && !numbers_.empty()))
      return ckpt::incompatible(file_.path() + " is the optimizer's state of " +
                                std::to_string(numbers_.size() + named_) + " parameters, the model has " +
                                std::to_string(order_.size()))
          .with_hint(kWithout);
    TITAN_RETURN_IF_ERROR(place_numbers());
    return std::move(out_);
  }

 private:
  struct Numbered {
    NodeId state;
    std::size_t group;
  };

  Status take_group(NodeId node) {
    TITAN_ASSIGN_OR_RETURN(const GroupValues values, read_group(file_, node));
    TITAN_ASSIGN_OR_RETURN(const NodeId parameters, file_.at(node, "params"));
    if (!pickle_.is(parameters, NodeKind::kList)) return corrupt(file_.path() + ": params is no list");
    for (std::size_t i = 0; i < pickle_.size(parameters); ++i) {
      const NodeId key = pickle_.item(parameters, i);
      if (pickle_.is(key, NodeKind::kText)) {
        TITAN_RETURN_IF_ERROR(take_named(std::string(pickle_.text(key)), values));
        continue;
      }
      const auto state = pickle_.is(key, NodeKind::kInt) ? by_number_.find(pickle_.integer(key)) : by_number_.end();
      if (state == by_number_.end())
        return ckpt::incompatible(file_.path() + " has no state of parameter " + pickle_.describe(key) +
                                  ": it was not trained")
            .with_hint(kWithout);
      numbers_.push_back({state->second, groups_.size()});
    }
    groups_.push_back(values);
    return {};
  }

  Status take_named(const std::string& name, const GroupValues& values) {
    const auto at = std::ranges::find(order_, name, &ckpt::ParameterMeta::name);
    if (at == order_.end())
      return ckpt::incompatible(file_.path() + ": '" + name.substr(0, 200) + "' is no parameter of the model")
          .with_hint(kWithout);
    TITAN_ASSIGN_OR_RETURN(const NodeId state, file_.at(states_, name));
    ++named_;
    return take(*at, state, values);
  }

  // Of one group the parameters are in the model's order; of several where each has all matrices, or all vectors.
  Status place_numbers() {
    std::vector<const ckpt::ParameterMeta*> order;
    std::vector<std::size_t> of_group;
    for (std::size_t group = 0; group < groups_.size() && !numbers_.empty(); ++group) {
      const auto first = std::ranges::find(numbers_, group, &Numbered::group);
      if (first == numbers_.end()) continue;
      TITAN_ASSIGN_OR_RETURN(const StoredTensor moment, moment_of(first->state, ckpt::kExpAvg));
      const auto mine = std::ranges::count(numbers_, group, &Numbered::group);
      for (const ckpt::ParameterMeta& parameter : order_)
        if (static_cast<std::size_t>(mine) == order_.size() || parameter.shape.size() == moment.shape.size())
          order.push_back(&parameter);
      if (order.size() != of_group.size() + static_cast<std::size_t>(mine)) return other_groups();
      of_group.resize(order.size(), group);
    }
    for (std::size_t i = 0; i < numbers_.size(); ++i)
      TITAN_RETURN_IF_ERROR(take(*order[i], numbers_[i].state, groups_[numbers_[i].group]));
    return out_.size() == order_.size() ? Status{} : other_groups();
  }

  Status other_groups() const {
    return ckpt::incompatible(
               file_.path() + ": the optimizer has " + std::to_string(groups_.size()) +
               " groups of parameters without names, expected one, or one of matrices and one of vectors "
               "(norms, biases): which state is whose cannot be known")
        .with_hint(kWithout);
  }

  Result<StoredTensor> moment_of(NodeId state, const char* slot) const {
    if (!pickle_.is(state, NodeKind::kDict) || pickle_.find(state, slot) == dcp::kNoNode)
      return ckpt::unsupported(file_.path() + ": the state of a parameter has no " + slot + ": only AdamW's is read")
          .with_hint(kWithout);
    return file_.tensor(pickle_.find(state, slot));
  }

  Status take(const ckpt::ParameterMeta& parameter, NodeId state, const GroupValues& group) {
    TrainerMoments moments;
    moments.group = group;
    for (const auto& [slot, to] :
         {std::pair{ckpt::kExpAvg, &moments.exp_avg}, {ckpt::kExpAvgSq, &moments.exp_avg_sq}}) {
      TITAN_ASSIGN_OR_RETURN(const StoredTensor stored, moment_of(state, slot));
      to->name = "the optimizer's " + std::string(slot) + " of '" + parameter.name + "'";
      if (stored.shape != parameter.shape)
        return ckpt::incompatible(file_.path() + ": " + to->name + " has the shape " + ckpt::shape_text(stored.shape) +
                                  ", the parameter " + ckpt::shape_text(parameter.shape) +
                                  ": its parameters are in another order, or of another model")
            .with_hint(kWithout);
      TITAN_ASSIGN_OR_RETURN(to->dtype, dtype_of_torch(to->name, stored.dtype));
      to->shape = stored.shape;
      to->pieces = {whole_piece(stored.shape, {{number_, stored.offset, stored.elements}})};
    }
    TITAN_ASSIGN_OR_RETURN(const NodeId step, file_.at(state, "step"));
    TITAN_ASSIGN_OR_RETURN(moments.step, file_.number(step));
    if (out_.emplace(parameter.name, std::move(moments)).second) return {};
    return corrupt(file_.path() + " has two states of '" + parameter.name + "'");
  }

  const TorchFile& file_;
  const Pickle& pickle_;
  const Parameters& order_;
  const std::uint32_t number_;
  NodeId states_ = dcp::kNoNode;
  std::map<std::int64_t, NodeId> by_number_;
  std::vector<Numbered> numbers_;  // as the groups list them
  std::size_t named_ = 0;
  std::vector<GroupValues> groups_;
  TrainerState out_;
};

}  // namespace

Result<std::string> find_trainer_state(Fs& fs, const std::string& folder) {
  for (const char* name : kNames) {
    TITAN_ASSIGN_OR_RETURN(const bool there, is_file(fs, ckpt::join_path(folder, name)));
    if (there) return std::string(name);
  }
  return std::string();
}

Parameters in_order_of_transformers(const recipe::ModelDims& model) {
  Parameters order;
  const auto add = [&](Part part, std::uint64_t layer) {
    const recipe::ParameterKind& kind = recipe::kind_of(part);
    if (!kind.is_in(model)) return;
    const std::string digits = std::to_string(layer);
    order.push_back({recipe::filled_pattern(kind.huggingface, {digits, {}}), recipe::shape_of(kind, model)});
  };
  add(Part::kEmbedding, 0);
  for (std::uint64_t layer = 0; layer < static_cast<std::uint64_t>(model.n_layers); ++layer)
    for (const Part part : kOfLayer) add(part, layer);
  add(Part::kFinalNorm, 0);
  if (!model.tied) add(Part::kHead, 0);
  return order;
}

Result<TrainerState> read_trainer_state(Fs& fs, const std::string& path, const recipe::ModelDims& model,
                                        PieceFiles& files) {
  if (model.experts)
    return ckpt::unsupported(path + " is the optimizer's state of a model of experts, which is not read yet")
        .with_hint(kWithout);
  TITAN_ASSIGN_OR_RETURN(const TorchFile file, TorchFile::open(fs, path));
  return StateReader(file, in_order_of_transformers(model), files.add(path)).run();
}

}  // namespace titan::convert
