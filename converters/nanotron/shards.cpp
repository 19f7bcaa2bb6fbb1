#include "converters/nanotron/shards.h"

#include <algorithm>
#include <map>
#include <optional>

#include "ckpt/base/fs.h"
#include "ckpt/base/path.h"
#include "ckpt/base/text.h"
#include "converters/hf/safetensors.h"
#include "converters/run_names.h"

namespace titan::convert::nanotron {

using ckpt::corrupt;

namespace {

constexpr std::size_t kMaxFiles = 262'144, kMaxDepth = 12, kMaxPairs = 4096;
constexpr std::string_view kSuffix = ".safetensors";

std::optional<std::uint64_t> number(std::string_view text) { return ckpt::number_of<std::uint64_t>(text); }

struct Slice {
  std::optional<std::uint64_t> start, stop;
};

std::optional<std::vector<Slice>> slices_of(const std::string& text) {
  std::vector<Slice> slices;
  for (const std::string& part : ckpt::split(text, '|')) {
    const std::vector<std::string> numbers = ckpt::split(part, ',');
    if (numbers.size() != 3) return std::nullopt;
    Slice slice;
    if (numbers[0] != "None" && !(slice.start = number(numbers[0]))) return std::nullopt;
    if (numbers[1] != "None" && !(slice.stop = number(numbers[1]))) return std::nullopt;
    if (numbers[2] != "None" && numbers[2] != "1") return std::nullopt;
    slices.push_back(slice);
  }
  return slices;
}

struct Box {
  std::vector<std::uint64_t> offsets, sizes;
};
// The box of `shape` that the slices select; nullopt if they do not fit.
std::optional<Box> box_of(const std::vector<Slice>& slices, const std::vector<std::uint64_t>& shape) {
  if (slices.size() != shape.size()) return std::nullopt;
  Box box;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const std::uint64_t start = slices[d].start.value_or(0), stop = slices[d].stop.value_or(shape[d]);
    if (start > stop || stop > shape[d]) return std::nullopt;
    box.offsets.push_back(start);
    box.sizes.push_back(stop - start);
  }
  return box;
}

/// The parts of a file's name.
struct FileName {
  std::string suffix;  // "weight", "bias"
  std::uint32_t tp = 0, tp_size = 1;
  bool sharded = false, expert = false;
};

// "model_weight.safetensors", "model_weight_pp-rank-0-of-2_tp-rank-1-of-2.safetensors"; older versions have
// "model_model_weight.safetensors_pp-rank-...".
std::optional<FileName> parse_name(std::string name) {
  if (!name.ends_with(kSuffix)) return std::nullopt;
  name.resize(name.size() - kSuffix.size());
  if (name.starts_with("model_model_")) name.erase(0, 6);
  if (const std::size_t inner = name.find(kSuffix); inner != std::string::npos) name.erase(inner, kSuffix.size());
  if (!name.starts_with("model_")) return std::nullopt;
  name.erase(0, 6);
  FileName out;
  const std::size_t pp = name.find("_pp-rank-");
  out.suffix = name.substr(0, pp);
  if (pp == std::string::npos) return out;
  out.sharded = true;
  out.expert = name.find("_exp-rank-") != std::string::npos;
  const std::size_t tp = name.find("_tp-rank-");
  if (tp == std::string::npos) return std::nullopt;
  const std::string ranks = name.substr(tp + 9, name.find('_', tp + 1) - tp - 9);
  const std::size_t of = ranks.find("-of-");
  if (of == std::string::npos) return std::nullopt;
  const auto rank = rank_number(ranks.substr(0, of)), size = rank_number(ranks.substr(of + 4));
  if (!rank || !size || *rank >= *size) return std::nullopt;
  out.tp = *rank;
  out.tp_size = *size;
  return out;
}

struct Walk {
  Fs& fs;
  std::vector<std::pair<std::string, std::string>> files;  // folder relative to the root, name
};

Status walk(Walk& out, const std::string& root, const std::string& below, std::size_t depth) {
  if (depth > kMaxDepth) return corrupt(root + " has folders in folders, deeper than " + std::to_string(kMaxDepth));
  TITAN_ASSIGN_OR_RETURN(const std::vector<ckpt::DirEntry> entries,
                         out.fs.list(below.empty() ? root : ckpt::join_path(root, below)));
  for (const ckpt::DirEntry& entry : entries) {
    if (out.files.size() > kMaxFiles)
      return ckpt::unsupported(root + " has more than " + std::to_string(kMaxFiles) + " files");
    if (entry.type == ckpt::FileType::kDirectory)
      TITAN_RETURN_IF_ERROR(walk(out, root, below.empty() ? entry.name : below + "/" + entry.name, depth + 1));
    else if (entry.name.ends_with(kSuffix))
      out.files.emplace_back(below, entry.name);
  }
  return {};
}

std::string metadata_of(const SafetensorsHeader& header, std::string_view key) {
  for (const auto& [name, value] : header.metadata)
    if (name == key) return value;
  return "";
}

class WeightsReader {
 public:
  WeightsReader(Fs& fs, std::string root, PieceFiles& files) : fs_(fs), root_(std::move(root)), files_(files) {}

  Result<std::vector<Parameter>> run() {
    Walk found{fs_, {}};
    TITAN_RETURN_IF_ERROR(walk(found, root_, "", 0));
    for (const auto& [folder, name] : found.files) TITAN_RETURN_IF_ERROR(add(folder, name));
    std::vector<Parameter> out;
    for (auto& [name, parameter] : parameters_) {
      std::ranges::sort(parameter.shards, {}, &Shard::tp);
      TITAN_RETURN_IF_ERROR(check_order(parameter));
      out.push_back(std::move(parameter));
    }
    return out;
  }

 private:
  // Checks that rows ascend with the tensor-parallel rank: the optimizer's parts are placed by the rank in their file's
  // name.
  Status check_order(const Parameter& parameter) const {
    for (std::size_t i = 1; i < parameter.shards.size(); ++i) {
      const Shard &before = parameter.shards[i - 1], &shard = parameter.shards[i];
      if (!before.boxes.empty() && !shard.boxes.empty() && shard.boxes[0].offsets < before.boxes[0].offsets)
        return corrupt(paths_.at(shard.stored.file) + ": its header has the slice of a lower rank than its name says")
            .with_hint(
                "one rank's file is in another's place: the header's local_global_slices_pairs says whose it is");
    }
    return {};
  }

  Status add(const std::string& folder, const std::string& name) {
    const std::string path = ckpt::join_path(ckpt::join_path(root_, folder), name);
    const std::optional<FileName> parsed = parse_name(name);
    if (!parsed) return corrupt(path + ": its name is none of nanotron's");
    if (parsed->expert) return ckpt::unsupported(path + " is of an expert: models with experts are not supported");
    TITAN_ASSIGN_OR_RETURN(const std::unique_ptr<ckpt::File> file, fs_.open_read(path));
    TITAN_ASSIGN_OR_RETURN(const SafetensorsHeader header, read_safetensors_header(*file, path));
    const auto data = std::ranges::find(header.entries, "data", &SafetensorsEntry::name);
    if (data == header.entries.end()) return corrupt(path + " has no tensor 'data'");
    std::string full = folder + "." + parsed->suffix;
    std::replace(full.begin(), full.end(), '/', '.');
    Parameter& parameter = parameters_[full];
    const std::uint32_t number = files_.add(path);
    paths_[number] = path;
    Shard shard{
        parsed->tp, data->shape, {number, header.buffer_offset + data->begin, ckpt::element_count(data->shape)}, {}};
    std::vector<std::uint64_t> shape = data->shape;
    if (parsed->sharded) {
      const std::string slices = metadata_of(header, "local_global_slices_pairs");
      if (slices.empty())
        return ckpt::unsupported(path +
                                 " does not say where its rows lie: checkpoints of nanotron before version 1.2 "
                                 "are not supported");
      TITAN_ASSIGN_OR_RETURN(shape, parse_shape(path, metadata_of(header, "unsharded_shape")));
      TITAN_ASSIGN_OR_RETURN(shard.boxes, parse_slices(path, slices, shard.shape, shape));
    } else {
      shard.boxes.push_back({std::vector<std::uint64_t>(shape.size(), 0), shape, 0});
    }
    if (parameter.name.empty()) {
      parameter.name = full;
      parameter.shape = shape;
      parameter.dtype = data->dtype;
    }
    if (parameter.shape != shape || parameter.dtype != data->dtype)
      return corrupt(path + ": its parameter has another shape or type in another file");
    parameter.shards.push_back(std::move(shard));
    return {};
  }

  Fs& fs_;
  const std::string root_;
  std::map<std::uint32_t, std::string> paths_;  // by the number of the file
  PieceFiles& files_;
  std::map<std::string, Parameter> parameters_;
};

}  // namespace

Result<std::vector<std::uint64_t>> parse_shape(const std::string& what, std::string_view text) {
  const auto wrong = [&] { return corrupt(what + ": unsharded_shape is '" + std::string(text.substr(0, 60)) + "'"); };
  if (text.size() < 2 || text.front() != '(' || text.back() != ')') return wrong();
  std::vector<std::uint64_t> shape;
  for (const std::string& part : ckpt::split(text.substr(1, text.size() - 2), ',')) {
    std::string_view digits = ckpt::trimmed(part);
    if (digits.starts_with("np.int64(") && digits.ends_with(")")) digits = digits.substr(9, digits.size() - 10);
    if (digits.empty() && !shape.empty()) continue;  // "(64,)"
    const auto extent = number(digits);
    if (!extent) return wrong();
    shape.push_back(*extent);
  }
  std::uint64_t elements = 0;
  return ckpt::checked_elements(shape, &elements) && shape.size() <= 8 ? Result<std::vector<std::uint64_t>>(shape)
                                                                       : wrong();
}

Result<std::vector<ShardBox>> parse_slices(const std::string& what, std::string_view text,
                                           const std::vector<std::uint64_t>& local,
                                           const std::vector<std::uint64_t>& shape) {
  std::vector<ShardBox> boxes;
  const std::vector<std::string> pairs = ckpt::split(text, ';');
  if (pairs.size() > kMaxPairs) return corrupt(what + ": more than " + std::to_string(kMaxPairs) + " slices");
  for (const std::string& pair : pairs) {
    const auto wrong = [&] { return corrupt(what + ": local_global_slices_pairs has '" + pair.substr(0, 80) + "'"); };
    const std::vector<std::string> sides = ckpt::split(pair, '#');
    if (sides.size() != 2) return wrong();
    const auto here = slices_of(sides[0]), there = slices_of(sides[1]);
    if (!here || !there) return wrong();
    const auto from = box_of(*here, local), to = box_of(*there, shape);
    if (!from || !to || from->sizes != to->sizes) return wrong();
    // If the rows of the shard are complete, they are adjacent.
    std::uint64_t row = 1;
    for (std::size_t d = 1; d < local.size(); ++d) {
      row *= local[d];
      if (from->sizes[d] != local[d])
        return ckpt::unsupported(what + ": a slice of a shard that is no run of whole rows: not supported");
    }
    boxes.push_back({to->offsets, to->sizes, local.empty() ? 0 : from->offsets[0] * row});
  }
  return boxes;
}

Result<std::vector<Parameter>> read_parameters(Fs& fs, const std::string& folder, PieceFiles& files) {
  return WeightsReader(fs, folder, files).run();
}

}  // namespace titan::convert::nanotron
