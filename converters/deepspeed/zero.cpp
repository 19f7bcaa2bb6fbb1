#include "converters/deepspeed/zero.h"

#include <algorithm>
#include <array>
#include <set>

#include "ckpt/base/integers.h"
#include "converters/deepspeed/step_files.h"

namespace titan::convert::deepspeed {

using ckpt::corrupt;

namespace {

constexpr const char* kOtherOrder =
    "the flat vectors may be in another order than param_shapes says, or one rank's file is in another's place: let "
    "zero_to_fp32.py write the weights";

/// One flat vector, as the pieces of one rank.
using Flat = std::vector<Segment>;

std::uint64_t length_of(const Flat& flat) {
  std::uint64_t sum = 0;
  for (const Segment& segment : flat) sum += segment.elements;
  return sum;
}

/// Elements [first, first + count) of `flat`; fewer if it ends earlier.
Flat slice_of(const Flat& flat, std::uint64_t first, std::uint64_t count) {
  Flat out;
  std::uint64_t begin = 0;
  for (const Segment& segment : flat) {
    const std::uint64_t end = begin + segment.elements, from = std::max(first, begin),
                        to = std::min(first + count, end);
    if (from < to) out.push_back({segment.file, segment.offset + (from - begin) * sizeof(float), to - from});
    begin = end;
  }
  return out;
}

// The ZeRO stage, stored as a number or as ZeroStageEnum(number).
std::optional<std::int64_t> stage_of(const Pickle& pickle, NodeId node) {
  if (pickle.is(node, NodeKind::kInstance) && pickle.size(pickle.arguments(node)) == 1)
    node = pickle.item(pickle.arguments(node), 0);
  return pickle.is(node, NodeKind::kInt) ? std::optional(pickle.integer(node)) : std::nullopt;
}

enum Field : std::size_t { kWeights, kMoment, kVariance, kFieldCount };

class ZeroReader {
 public:
  ZeroReader(Fs& fs, std::string folder, PieceFiles& files) : fs_(fs), folder_(std::move(folder)), files_(files) {}

  Result<Content> run() {
    TITAN_ASSIGN_OR_RETURN(const StepFiles files, files_of_step(fs_, folder_));
    TITAN_ASSIGN_OR_RETURN(const ModelFile model, open_model_file(fs_, files.model));
    out_.step = model.step;
    out_.skipped = model.skipped;
    if (files.ranks.empty()) {
      TITAN_RETURN_IF_ERROR(take_module(model));
      return std::move(out_);
    }
    out_.data_ranks = files.ranks.size();
    if (model.frozen)
      return ckpt::unsupported(files.model +
                               " has frozen parameters, which the optimizer does not hold: not supported");
    TITAN_ASSIGN_OR_RETURN(shapes_, shapes_of(model.file));
    for (const auto& [rank, path] : files.ranks) TITAN_RETURN_IF_ERROR(read_rank(rank, path));
    TITAN_RETURN_IF_ERROR(stage_ == 3 ? assemble_stage_3() : assemble());
    TITAN_RETURN_IF_ERROR(compare_with_model(out_.states, model.file, true, kOtherOrder, files_));
    if (stage_ == 3 && !ranks_recorded_)
      out_.notes.push_back(
          "the order of the ranks is taken from the names of their files: they were not saved under those names, and "
          "of stage 3 nothing else in them says whose they are");
    return std::move(out_);
  }

 private:
  // Without optimizer files, takes the weights of the model file.
  Status take_module(const ModelFile& model) {
    const std::string& path = model.file.path();
    const std::uint32_t number = files_.add_archive(path);
    TITAN_ASSIGN_OR_RETURN(const std::vector<std::string> names, module_names(model.file));
    for (const std::string& name : names) {
      TITAN_ASSIGN_OR_RETURN(const std::optional<StoredTensor> stored, module_tensor(model.file, name));
      if (!stored) continue;
      if (stored->elements == 0)
        return ckpt::incompatible(folder_ + " has no file of the optimizer (*" + std::string(kStates) +
                                  "), and its model's file has no elements of '" + name +
                                  "': in stage 3 the weights are in the optimizer's files");
      TITAN_ASSIGN_OR_RETURN(const DType dtype, dtype_of_torch(path + ": '" + name + "'", stored->dtype));
      State& state = out_.states[name];
      state.weights = {path + ": '" + name + "'", dtype, stored->shape, {}};
      state.weights.pieces.push_back(whole_piece(stored->shape, {{number, stored->offset, stored->elements}}));
    }
    if (out_.states.empty()) return corrupt(path + " holds no tensors of a model");
    out_.of_module = true;
    if (model.optimizer)
      out_.why_optimizer = ckpt::unsupported(path +
                                             " holds the optimizer's state itself, as without ZeRO, which is not "
                                             "read");
    return {};
  }

  Status take(const TorchFile& file, std::uint32_t number, NodeId node, Flat& flat) {
    TITAN_ASSIGN_OR_RETURN(const StoredTensor tensor, file.tensor(node));
    crcs_.emplace_back(tensor.crc, tensor.elements);
    if (tensor.dtype != "float32")
      return ckpt::unsupported(file.path() + ": the optimizer's state is of torch." + tensor.dtype +
                               ", expected float32");
    flat.push_back({number, tensor.offset, tensor.elements});
    return {};
  }

  // One rank's flat vectors: a list of groups with one vector each; in stage 3 each group is a list of sub-groups that
  // form one vector.
  Status read_rank(std::uint32_t rank_of_name, const std::string& path) {
    TITAN_ASSIGN_OR_RETURN(const TorchFile file, TorchFile::open(fs_, path));
    const Pickle& pickle = file.pickle();
    // torch stores in the file the name under which it was saved.
    const std::optional<std::uint32_t> saved = rank_in_name(file.saved_as());
    if (saved && *saved != rank_of_name)
      return corrupt(path + " was saved as " + file.saved_as() + ": one rank's file is in another's place")
          .with_hint("give each file the name that it was saved under");
    ranks_recorded_ = ranks_recorded_ && saved;
    const std::uint32_t number = files_.add_archive(path);
    TITAN_ASSIGN_OR_RETURN(const NodeId state, file.at(pickle.root(), "optimizer_state_dict"));
    const std::optional<std::int64_t> stage = stage_of(pickle, pickle.find(state, "zero_stage"));
    const NodeId third = pickle.find(state, "fp32_flat_groups");
    const std::int64_t found = third != kNoNode ? 3 : stage.value_or(1);
    if (found < 1 || found > 3 || (stage_ != 0 && stage_ != found))
      return ckpt::unsupported(path + " is of ZeRO's stage " + std::to_string(found) + ": not supported");
    stage_ = found;
    if (const NodeId padding = pickle.find(state, "param_alignment_paddings"); has_number(pickle, padding, 0))
      return ckpt::unsupported(path + " has paddings between parameters (parameter_alignment): not supported");
    TITAN_ASSIGN_OR_RETURN(const NodeId weights,
                           file.at(state, stage_ == 3 ? "fp32_flat_groups" : "single_partition_of_fp32_groups"));
    if (!pickle.is(weights, NodeKind::kList)) return corrupt(path + ": its flat groups are no list");
    const NodeId base =
        stage_ == 3 ? pickle.find(state, "optimizer_state_dict") : pickle.find(state, "base_optimizer_state");
    if (!pickle.is(base, NodeKind::kDict))
      return ckpt::unsupported(path +
                               " has no state of the optimizer in a form that is read (elastic checkpoints are not)");
    TITAN_ASSIGN_OR_RETURN(const NodeId states, file.at(base, "state"));
    TITAN_ASSIGN_OR_RETURN(const NodeId groups, file.at(base, "param_groups"));
    TITAN_RETURN_IF_ERROR(take_groups(file, groups));
    if (const NodeId clip = pickle.find(state, "clip_grad"); clip != kNoNode) {
      TITAN_ASSIGN_OR_RETURN(out_.clip, file.number(clip));
    }
    auto& rank = ranks_.emplace_back();
    crcs_.clear();
    for (std::size_t g = 0; g < pickle.size(weights); ++g) {
      if (g == 0 || stage_ != 3) rank.emplace_back();
      std::array<Flat, kFieldCount>& group = rank.back();
      TITAN_RETURN_IF_ERROR(take(file, number, pickle.item(weights, g), group[kWeights]));
      const NodeId of_group = state_at(pickle, states, static_cast<std::int64_t>(g));
      if (of_group == kNoNode) continue;
      TITAN_ASSIGN_OR_RETURN(const NodeId moment, file.at(of_group, ckpt::kExpAvg));
      TITAN_ASSIGN_OR_RETURN(const NodeId variance, file.at(of_group, ckpt::kExpAvgSq));
      TITAN_RETURN_IF_ERROR(take(file, number, moment, group[kMoment]));
      TITAN_RETURN_IF_ERROR(take(file, number, variance, group[kVariance]));
      NodeId step = pickle.find(of_group, "step");
      if (step == kNoNode && pickle.size(groups) > 0) step = pickle.find(pickle.item(groups, 0), "step");
      if (step == kNoNode) continue;
      TITAN_ASSIGN_OR_RETURN(const double count, file.number(step));
      if (count_ && *count_ != count) return corrupt(path + ": Adam has made other numbers of steps in other groups");
      count_ = count;
    }
    if (rank.size() != (stage_ == 3 ? 1 : shapes_.size()))
      return corrupt(path + " has " + std::to_string(rank.size()) + " flat groups, the model's file has " +
                     std::to_string(shapes_.size()));
    // In stage 3 the model file has no weights to compare with. So two ranks with the same CRCs are taken for copies of
    // one file.
    if (stage_ == 3 && !seen_.insert(crcs_).second)
      return corrupt(path + " holds what the file of another rank does: one rank's file is in another's place");
    return {};
  }

  // Reads the settings of param groups. For torch each flat vector is one parameter; param_shapes in the model file
  // lists the parameters in it.
  Status take_groups(const TorchFile& file, NodeId groups) {
    TITAN_ASSIGN_OR_RETURN(auto settings, settings_of_shapes(file, groups, shapes_));
    if (!ranks_.empty() && settings != out_.groups)
      return corrupt(file.path() + ": its groups are not those of another rank");
    out_.groups = std::move(settings);
    return {};
  }

  // Whether `node`, a list of lists, contains a number other than `expected`.
  static bool has_number(const Pickle& pickle, NodeId node, std::int64_t expected, int depth = 0) {
    if (pickle.is(node, NodeKind::kInt)) return pickle.integer(node) != expected;
    if (depth > 4 || (!pickle.is(node, NodeKind::kList) && !pickle.is(node, NodeKind::kTuple))) return false;
    for (std::size_t i = 0; i < pickle.size(node); ++i)
      if (has_number(pickle, pickle.item(node, i), expected, depth + 1)) return true;
    return false;
  }
  static NodeId state_at(const Pickle& pickle, NodeId states, std::int64_t group) {
    for (std::size_t i = 0; pickle.is(states, NodeKind::kDict) && i + 1 < pickle.size(states); i += 2)
      if (pickle.is(pickle.item(states, i), NodeKind::kInt) && pickle.integer(pickle.item(states, i)) == group)
        return pickle.item(states, i + 1);
    return kNoNode;
  }

  Status put(const std::string& name, const std::vector<std::uint64_t>& shape, Field field, Flat segments) {
    PiecedTensor tensor{"'" + name + "' of " + folder_, DType::kF32, shape, {}};
    tensor.pieces.push_back(whole_piece(shape, std::move(segments)));
    TITAN_RETURN_IF_ERROR(check_pieces(tensor));
    State& state = out_.states[name];
    state.step = count_.value_or(0);
    if (field == kWeights) state.weights = std::move(tensor);
    if (field == kMoment) state.exp_avg = std::move(tensor);
    if (field == kVariance) state.exp_avg_sq = std::move(tensor);
    return {};
  }

  // Stages 1 and 2: the ranks' vectors, concatenated, contain the parameters of a group one after another.
  Status assemble() {
    for (std::size_t g = 0; g < shapes_.size(); ++g)
      for (const Field field : {kWeights, kMoment, kVariance}) {
        Flat all;
        for (const auto& rank : ranks_) all.insert(all.end(), rank[g][field].begin(), rank[g][field].end());
        if (all.empty() && field != kWeights) continue;
        std::uint64_t at = 0;
        for (const auto& [name, shape] : shapes_[g]) {
          const std::uint64_t count = ckpt::element_count(shape);
          TITAN_RETURN_IF_ERROR(put(name, shape, field, slice_of(all, at, count)));
          at += count;
        }
        // The concatenated vectors are padded to a multiple of twice the number of ranks.
        if (const std::uint64_t there = length_of(all); there < at || there - at >= 2 * ranks_.size())
          return corrupt(folder_ + ": flat group " + std::to_string(g) + " has " + std::to_string(there) +
                         " elements, its parameters " + std::to_string(at));
      }
    return {};
  }

  // Stage 3: each parameter is divided separately, and padded to the same length on all ranks.
  Status assemble_stage_3() {
    const std::uint64_t ranks = ranks_.size();
    for (const Field field : {kWeights, kMoment, kVariance}) {
      if (ranks_[0][0][field].empty() && field != kWeights) continue;
      std::uint64_t at = 0;
      for (const Shapes& group : shapes_)
        for (const auto& [name, shape] : group) {
          const std::uint64_t count = ckpt::element_count(shape), part = ckpt::ceil_div(count, ranks);
          Flat segments;
          for (const auto& rank : ranks_) {
            const Flat own = slice_of(rank[0][field], at, part);
            segments.insert(segments.end(), own.begin(), own.end());
          }
          TITAN_RETURN_IF_ERROR(put(name, shape, field, std::move(segments)));
          at += part;
        }
      for (const auto& rank : ranks_)
        if (length_of(rank[0][field]) != at)
          return corrupt(folder_ + ": a rank's flat vector has " + std::to_string(length_of(rank[0][field])) +
                         " elements, its parts of the parameters " + std::to_string(at));
    }
    return {};
  }

  Fs& fs_;
  const std::string folder_;
  PieceFiles& files_;
  std::int64_t stage_ = 0;
  bool ranks_recorded_ = true;  // every file read so far records its rank
  std::vector<Shapes> shapes_;
  std::vector<std::vector<std::array<Flat, kFieldCount>>> ranks_;        // by rank and group
  std::vector<std::pair<std::uint32_t, std::uint64_t>> crcs_;            // CRC and elements of each vector of this rank
  std::set<std::vector<std::pair<std::uint32_t, std::uint64_t>>> seen_;  // `crcs_` of the ranks read so far
  std::optional<double> count_;
  Content out_;
};

}  // namespace

Result<std::map<std::string, GroupValues>> settings_of_shapes(const TorchFile& file, NodeId groups,
                                                              const std::vector<Shapes>& shapes) {
  TITAN_ASSIGN_OR_RETURN(const std::vector<GroupValues> values, read_groups(file, groups, shapes.size()));
  std::map<std::string, GroupValues> out;
  for (std::size_t g = 0; g < values.size(); ++g)
    for (const auto& [name, shape] : shapes[g]) out[name] = values[g];
  return out;
}

Result<Content> read_zero(Fs& fs, const std::string& folder, PieceFiles& files) {
  return ZeroReader(fs, folder, files).run();
}

}  // namespace titan::convert::deepspeed
