#include "converters/deepspeed/model_file.h"

#include <set>

#include "ckpt/model/leaf.h"

namespace titan::convert::deepspeed {
namespace {

using ckpt::corrupt;

constexpr const char* kModule = "module";

// The shape in a torch.Size call.
Result<std::vector<std::uint64_t>> size_of(const TorchFile& file, NodeId node) {
  const Pickle& pickle = file.pickle();
  if (pickle.is_made_by(node, "torch", "Size") && pickle.size(pickle.arguments(node)) == 1)
    node = pickle.item(pickle.arguments(node), 0);
  std::vector<std::uint64_t> shape;
  std::uint64_t elements = 0;
  bool sound = pickle.is(node, NodeKind::kTuple) || pickle.is(node, NodeKind::kList);
  for (std::size_t i = 0; sound && i < pickle.size(node); ++i) {
    const NodeId extent = pickle.item(node, i);
    sound = pickle.is(extent, NodeKind::kInt) && pickle.integer(extent) >= 0;
    if (sound) shape.push_back(static_cast<std::uint64_t>(pickle.integer(extent)));
  }
  if (!sound || shape.size() > 8 || !ckpt::checked_elements(shape, &elements))
    return corrupt(file.path() + ": a shape is " + pickle.describe(node));
  return shape;
}

std::optional<std::uint64_t> count_at(const Pickle& pickle, const char* key) {
  const NodeId node = pickle.find(pickle.root(), key);
  const bool counts = pickle.is(node, NodeKind::kInt) && pickle.integer(node) >= 0;
  return counts ? std::optional(static_cast<std::uint64_t>(pickle.integer(node))) : std::nullopt;
}

}  // namespace

Result<ModelFile> open_model_file(ckpt::Fs& fs, const std::string& path) {
  TITAN_ASSIGN_OR_RETURN(TorchFile file, TorchFile::open(fs, path));
  const Pickle& pickle = file.pickle();
  const NodeId frozen = pickle.find(pickle.root(), "frozen_param_shapes"),
               optimizer = pickle.find(pickle.root(), "optimizer");
  const auto filled = [&](NodeId node) { return pickle.is(node, NodeKind::kDict) && pickle.size(node) > 0; };
  const std::optional<std::uint64_t> step = count_at(pickle, "global_steps");
  const std::uint64_t skipped = count_at(pickle, "skipped_steps").value_or(0);
  const bool has_frozen = filled(frozen), has_optimizer = filled(optimizer);
  return ModelFile{std::move(file), step, skipped, has_frozen, has_optimizer};
}

Result<std::vector<Shapes>> shapes_of(const TorchFile& file) {
  const Pickle& pickle = file.pickle();
  TITAN_ASSIGN_OR_RETURN(const NodeId list, file.at(pickle.root(), "param_shapes"));
  const auto wrong = [&] { return corrupt(file.path() + ": param_shapes is " + pickle.describe(list)); };
  if (!pickle.is(list, NodeKind::kList)) return wrong();
  std::vector<Shapes> out;
  for (std::size_t g = 0; g < pickle.size(list); ++g) {
    const NodeId group = pickle.item(list, g);
    if (!pickle.is(group, NodeKind::kDict)) return wrong();
    Shapes& shapes = out.emplace_back();
    for (std::size_t i = 0; i + 1 < pickle.size(group); i += 2) {
      if (!pickle.is(pickle.item(group, i), NodeKind::kText)) return wrong();
      TITAN_ASSIGN_OR_RETURN(std::vector<std::uint64_t> shape, size_of(file, pickle.item(group, i + 1)));
      shapes.emplace_back(pickle.text(pickle.item(group, i)), std::move(shape));
    }
  }
  return out;
}

Result<std::optional<StoredTensor>> module_tensor(const TorchFile& file, const std::string& name) {
  const Pickle& pickle = file.pickle();
  const NodeId node = pickle.find(pickle.find(pickle.root(), kModule), name);
  if (node == kNoNode) return std::optional<StoredTensor>();
  TITAN_ASSIGN_OR_RETURN(StoredTensor stored, file.tensor(node));
  return std::optional(std::move(stored));
}

Result<std::vector<std::string>> module_names(const TorchFile& file) {
  const Pickle& pickle = file.pickle();
  TITAN_ASSIGN_OR_RETURN(const NodeId module, file.at(pickle.root(), kModule));
  if (!pickle.is(module, NodeKind::kDict)) return corrupt(file.path() + ": its module is " + pickle.describe(module));
  std::set<std::string_view> buffers;
  const NodeId named = pickle.find(pickle.root(), "buffer_names");
  for (std::size_t i = 0; pickle.is(named, NodeKind::kList) && i < pickle.size(named); ++i)
    if (pickle.is(pickle.item(named, i), NodeKind::kText)) buffers.insert(pickle.text(pickle.item(named, i)));
  std::vector<std::string> names;
  for (std::size_t i = 0; i + 1 < pickle.size(module); i += 2) {
    const NodeId key = pickle.item(module, i);
    if (!pickle.is(key, NodeKind::kText)) return corrupt(file.path() + ": a name is " + pickle.describe(key));
    if (!buffers.contains(pickle.text(key))) names.emplace_back(pickle.text(key));
  }
  return names;
}

}  // namespace titan::convert::deepspeed
