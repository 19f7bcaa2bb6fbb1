#include "converters/nanotron/optimizer.h"

#include <algorithm>

#include "ckpt/base/fs.h"
#include "ckpt/base/path.h"
#include "converters/run_names.h"
#include "converters/torch_save/torch_file.h"

namespace titan::convert::nanotron {

using ckpt::corrupt;

namespace {

constexpr const char* kFields[] = {ckpt::kExpAvg, ckpt::kExpAvgSq, "master"};
enum Field : std::size_t { kMoment, kVariance, kMaster, kFieldCount };
constexpr std::uint64_t kSample = 1024;  // elements of each rank's part of a master that are compared with the model's
constexpr std::string_view kBegin = "optimizer_pp-";
constexpr const char* kMisplaced =
    "one rank's file may be in another's place: compare the sizes and dates of the files with those of the run's "
    "folder";

// The file of a rank, with the CRCs and lengths of its optimizer tensors.
struct RankFile {
  std::string path;
  std::vector<std::pair<std::uint32_t, std::uint64_t>> content;
  bool used = false;
};

struct Rank {
  std::uint32_t pp = 0, dp = 0, tp = 0;
  auto operator<=>(const Rank&) const = default;
};

// The number after "_KEY-" in "optimizer_pp-0-of-2_dp-1-of-2_tp-0-of-1_exp-0-of-1.pt"; 0 if the key is not there.
std::optional<std::uint32_t> rank_in(const std::string& name, const std::string& key) {
  const std::size_t at = name.find("_" + key + "-");
  if (at == std::string::npos) return 0;
  const std::size_t begin = at + key.size() + 2, end = name.find("-of-", begin);
  return end == std::string::npos ? std::nullopt : rank_number(name.substr(begin, end - begin));
}
// All ranks in the name; nullopt if one is not in nanotron's form.
std::optional<Rank> rank_of(const std::string& name) {
  const auto pp = rank_in(name, "pp"), dp = rank_in(name, "dp"), tp = rank_in(name, "tp");
  return pp && dp && tp ? std::optional(Rank{*pp, *dp, *tp}) : std::nullopt;
}

// The pieces of one field of a parameter: for each tensor-parallel rank, those of the data-parallel ranks in order.
struct Stored {
  std::string dtype;
  std::map<std::uint32_t, std::map<std::uint32_t, Segment>> by_tp;
};
struct Collected {
  std::uint32_t pp = 0;  // a tied embedding is on two stages: the first stage's state is used
  Stored fields[kFieldCount];
  std::optional<double> step;
};

class OptimizerReader {
 public:
  OptimizerReader(Fs& fs, const std::vector<Parameter>& parameters, PieceFiles& files) : fs_(fs), files_(files) {
    for (const Parameter& parameter : parameters) parameters_[parameter.name] = &parameter;
  }

  Result<Optimizer> run(const std::string& folder) {
    const auto entries = fs_.list(folder);
    if (!entries.ok() && entries.status().code == ckpt::Code::kNotFound) return Optimizer{};
    if (!entries.ok()) return entries.status();
    std::map<Rank, std::string> order;
    for (const ckpt::DirEntry& entry : *entries) {
      if (!entry.name.starts_with(kBegin) || !entry.name.ends_with(".pt")) continue;
      const std::string path = ckpt::join_path(folder, entry.name);
      const std::optional<Rank> rank = rank_of(entry.name);
      const auto expert = rank_in(entry.name, "exp");
      if (!rank || !expert) return corrupt(path + ": its name is none of nanotron's");
      if (*expert != 0) return ckpt::unsupported(path + " is of an expert: models with experts are not supported");
      if (!order.emplace(*rank, path).second) return corrupt(path + ": another file is of the same rank");
    }
    for (const auto& [rank, path] : order) TITAN_RETURN_IF_ERROR(read(rank, path));
    for (auto& [name, collected] : collected_) TITAN_RETURN_IF_ERROR(settle(name, collected));
    TITAN_RETURN_IF_ERROR(check_different());
    return std::move(out_);
  }

 private:
  Status read(const Rank& rank, const std::string& path) {
    TITAN_ASSIGN_OR_RETURN(const TorchFile file, TorchFile::open(fs_, path));
    const Pickle& pickle = file.pickle();
    const std::uint32_t number = files_.add_archive(path);
    ranks_[number].path = path;
    // torch stores in the file the name under which it was saved.
    const std::string& saved = file.saved_as();
    const std::optional<Rank> named = saved.starts_with(kBegin) ? rank_of(saved) : std::nullopt;
    if (named && *named != rank)
      return corrupt(path + " was saved as " + saved + ": one rank's file is in another's place")
          .with_hint("give each file the name that it was saved under");
    out_.ranks_recorded = out_.ranks_recorded && named;
    TITAN_ASSIGN_OR_RETURN(const NodeId names, file.at(pickle.root(), "names"));
    TITAN_ASSIGN_OR_RETURN(const NodeId states, file.at(pickle.root(), "state"));
    TITAN_ASSIGN_OR_RETURN(const NodeId groups, file.at(pickle.root(), "param_groups"));
    if (!pickle.is(names, NodeKind::kDict) || !pickle.is(states, NodeKind::kDict))
      return corrupt(path + ": names or state is no dict");
    std::map<std::int64_t, std::string> by_index;
    for (std::size_t i = 0; i + 1 < pickle.size(names); i += 2)
      if (pickle.is(pickle.item(names, i), NodeKind::kInt) && pickle.is(pickle.item(names, i + 1), NodeKind::kText))
        by_index.emplace(pickle.integer(pickle.item(names, i)), pickle.text(pickle.item(names, i + 1)));
    for (std::size_t i = 0; i + 1 < pickle.size(states); i += 2) {
      const NodeId key = pickle.item(states, i);
      const auto name = pickle.is(key, NodeKind::kInt) ? by_index.find(pickle.integer(key)) : by_index.end();
      if (name == by_index.end()) return corrupt(path + ": a state of " + pickle.describe(key) + ", which has no name");
      TITAN_RETURN_IF_ERROR(take_state(file, rank, number, name->second, pickle.item(states, i + 1)));
    }
    const NodeId masters = pickle.find(pickle.root(), "gradient_accumulator");
    for (std::size_t i = 0; pickle.is(masters, NodeKind::kDict) && i + 1 < pickle.size(masters); i += 2)
      if (pickle.is(pickle.item(masters, i), NodeKind::kText))
        TITAN_RETURN_IF_ERROR(take(file, rank, number, std::string(pickle.text(pickle.item(masters, i))), kMaster,
                                   pickle.item(masters, i + 1)));
    return take_groups(file, groups, by_index);
  }

  Status take_groups(const TorchFile& file, NodeId groups, const std::map<std::int64_t, std::string>& by_index) {
    if (!by_index.empty() && (by_index.begin()->first != 0 || by_index.rbegin()->first + 1 != std::ssize(by_index)))
      return corrupt(file.path() + ": names does not number its parameters from 0 on");
    TITAN_ASSIGN_OR_RETURN(const std::vector<GroupValues> values, read_groups(file, groups, by_index.size()));
    for (const auto& [index, name] : by_index) {
      if (values.empty()) return corrupt(file.path() + ": param_groups is empty");
      const GroupValues& own = values[static_cast<std::size_t>(index)];
      if (const auto at = out_.groups.emplace(name, own).first; at->second != own)
        return corrupt(file.path() + ": '" + name + "' has other settings than on another rank");
    }
    return {};
  }

  // Where to collect the state of `name` on this rank; nullptr if it is not used because another stage has it, too.
  Result<Collected*> place(const std::string& path, const Rank& rank, const std::string& name) {
    if (!parameters_.contains(name)) return corrupt(path + ": '" + name + "' is no parameter of the model");
    const auto [at, fresh] = collected_.try_emplace(name);
    if (fresh) at->second.pp = rank.pp;
    return at->second.pp == rank.pp ? &at->second : nullptr;
  }

  Status take_state(const TorchFile& file, const Rank& rank, std::uint32_t number, const std::string& name,
                    NodeId state) {
    for (const Field field : {kMoment, kVariance}) {
      TITAN_ASSIGN_OR_RETURN(const NodeId node, file.at(state, kFields[field]));
      TITAN_RETURN_IF_ERROR(take(file, rank, number, name, field, node));
    }
    TITAN_ASSIGN_OR_RETURN(Collected* const to, place(file.path(), rank, name));
    if (to == nullptr) return {};
    TITAN_ASSIGN_OR_RETURN(const NodeId node, file.at(state, "step"));
    TITAN_ASSIGN_OR_RETURN(const double step, file.number(node));
    if (to->step && *to->step != step)
      return corrupt(file.path() + ": '" + name + "' has made " + std::to_string(step) + " steps, and " +
                     std::to_string(*to->step) + " on another rank");
    to->step = step;
    return {};
  }

  Status take(const TorchFile& file, const Rank& rank, std::uint32_t number, const std::string& name, Field field,
              NodeId node) {
    TITAN_ASSIGN_OR_RETURN(Collected* const to, place(file.path(), rank, name));
    if (to == nullptr) return {};
    TITAN_ASSIGN_OR_RETURN(const StoredTensor tensor, file.tensor(node));
    Stored& stored = to->fields[field];
    if (stored.dtype.empty()) stored.dtype = tensor.dtype;
    if (stored.dtype != tensor.dtype) return corrupt(file.path() + ": '" + name + "' has two types of elements");
    ranks_[number].content.emplace_back(tensor.crc, tensor.elements);
    stored.by_tp[rank.tp][rank.dp] = {number, tensor.offset, tensor.elements};
    return {};
  }

  Status settle(const std::string& name, const Collected& collected) {
    const Parameter& parameter = *parameters_.at(name);
    ParameterState& state = out_.states[name];
    if (!collected.step) return corrupt("the optimizer has no count of steps for '" + name + "'");
    state.step = *collected.step;
    TITAN_ASSIGN_OR_RETURN(state.exp_avg, whole(parameter, collected.fields[kMoment], kMoment));
    TITAN_ASSIGN_OR_RETURN(state.exp_avg_sq, whole(parameter, collected.fields[kVariance], kVariance));
    if (collected.fields[kMaster].by_tp.empty()) return {};
    TITAN_ASSIGN_OR_RETURN(state.master, whole(parameter, collected.fields[kMaster], kMaster));
    for (const Shard& shard : parameter.shards) TITAN_RETURN_IF_ERROR(compare(parameter, shard, *state.master));
    return {};
  }

  // Only the file's name gives its rank, which a copy may change. So the masters, rounded, must equal the weights of
  // the rank's shard.
  Status compare(const Parameter& parameter, const Shard& shard, const PiecedTensor& master) const {
    if (shard.boxes.empty() || !ckpt::is_float(master.dtype)) return {};
    if (!ckpt::is_float(parameter.dtype) || parameter.dtype == DType::kF64) return {};
    const ShardBox& box = shard.boxes.front();
    const auto piece = std::ranges::find(master.pieces, box.offsets, &Box::offsets);
    if (piece == master.pieces.end()) return {};
    const std::vector<std::uint64_t> length{shard.stored.elements};
    const PiecedTensor exact{master.name, master.dtype, length, {whole_piece(length, piece->segments)}},
        weights{"'" + parameter.name + "'", parameter.dtype, length, {whole_piece(length, {shard.stored})}};
    std::uint64_t first = 0;
    for (const Segment& segment : piece->segments) {
      TITAN_ASSIGN_OR_RETURN(const bool same,
                             files_.rounds_to(exact, weights, first, std::min(kSample, segment.elements)));
      if (!same)
        return corrupt(ranks_.at(segment.file).path + ": its masters of '" + parameter.name +
                       "' are not the weights of tensor-parallel rank " + std::to_string(shard.tp) +
                       " in the model's files")
            .with_hint(kMisplaced);
      first += segment.elements;
    }
    return {};
  }

  // Each rank has its own moments: two files with the same content are copies of one file.
  Status check_different() const {
    std::map<std::vector<std::pair<std::uint32_t, std::uint64_t>>, std::string> seen;
    for (const auto& [number, rank] : ranks_) {
      if (!rank.used || rank.content.empty()) continue;
      if (const auto [at, fresh] = seen.emplace(rank.content, rank.path); !fresh)
        return corrupt(rank.path + " holds what " + ckpt::base_name(at->second) + " does").with_hint(kMisplaced);
    }
    return {};
  }

  // The elements of a shard in the order of the data-parallel ranks, placed like the shard's weights.
  Result<PiecedTensor> whole(const Parameter& parameter, const Stored& stored, Field field) {
    PiecedTensor out;
    out.name = "the optimizer's " + std::string(kFields[field]) + " of '" + parameter.name + "'";
    out.shape = parameter.shape;
    TITAN_ASSIGN_OR_RETURN(out.dtype, dtype_of_torch(out.name, stored.dtype));
    for (const Shard& shard : parameter.shards) {
      const auto ranks = stored.by_tp.find(shard.tp);
      if (ranks == stored.by_tp.end())
        return corrupt(out.name + " lacks the file of tensor-parallel rank " + std::to_string(shard.tp));
      const std::uint64_t needed = ckpt::element_count(shard.shape);
      std::vector<Segment> segments;
      std::uint64_t there = 0;
      for (const auto& [dp, segment] : ranks->second) {
        if (there == needed) break;  // without ZeRO each rank has all elements
        segments.push_back(segment);
        ranks_[segment.file].used = true;
        there += segment.elements;
      }
      if (there != needed)
        return corrupt(out.name + " has " + std::to_string(there) + " elements on tensor-parallel rank " +
                       std::to_string(shard.tp) + ", its weights have " + std::to_string(needed));
      for (const ShardBox& box : shard.boxes) out.pieces.push_back({box.offsets, box.sizes, segments, box.first});
    }
    TITAN_RETURN_IF_ERROR(check_pieces(out));
    return out;
  }

  Fs& fs_;
  PieceFiles& files_;
  std::map<std::string, const Parameter*> parameters_;
  std::map<std::string, Collected> collected_;
  std::map<std::uint32_t, RankFile> ranks_;  // by the number of the file
  Optimizer out_;
};

}  // namespace

Result<Optimizer> read_optimizer(Fs& fs, const std::string& folder, const std::vector<Parameter>& parameters,
                                 PieceFiles& files) {
  return OptimizerReader(fs, parameters, files).run(folder);
}

}  // namespace titan::convert::nanotron
