// DeepSpeed's universal checkpoints: a folder per parameter, with one file for its weights and one for each moment.
#include <algorithm>
#include <memory>

#include "ckpt/base/fs.h"
#include "ckpt/base/path.h"
#include "converters/deepspeed/zero.h"
#include "converters/other_programs.h"

namespace titan::convert::deepspeed {

using ckpt::corrupt;

namespace {

constexpr const char* kEnd = ".pt";
constexpr const char* kModelFiles[] = {"mp_rank_00_model_states.pt", "zero_pp_rank_0_mp_rank_00_model_states.pt"};
constexpr const char* kExchanged =
    "the folders of two parameters may be in each other's place: make the universal form once more, with "
    "ds_to_universal";
constexpr const char* kFiles[] = {"fp32", ckpt::kExpAvg, ckpt::kExpAvgSq};

// The model file, which DeepSpeed copies next to the folder of the parameters; null if there is none.
Result<std::unique_ptr<TorchFile>> open_model(Fs& fs, const std::string& folder) {
  for (const char* name : kModelFiles) {
    const std::string path = ckpt::join_path(folder, name);
    TITAN_ASSIGN_OR_RETURN(const bool there, file_there(fs, path));
    if (!there) continue;
    TITAN_ASSIGN_OR_RETURN(TorchFile file, TorchFile::open(fs, path));
    return std::make_unique<TorchFile>(std::move(file));
  }
  return std::unique_ptr<TorchFile>();
}

// Reads the settings of param groups. A group lists its flat vectors by number; the model file names the parameters of
// each vector.
Status take_groups(const TorchFile& file, const TorchFile* model, Content& out) {
  const NodeId list = file.pickle().find(file.pickle().root(), "param_groups");
  if (list == kNoNode) return {};
  std::vector<Shapes> shapes;
  if (model != nullptr && model->pickle().find(model->pickle().root(), "param_shapes") != kNoNode) {
    TITAN_ASSIGN_OR_RETURN(shapes, shapes_of(*model));
  } else {
    shapes.emplace_back();  // without a model file, all parameters count as one vector
    for (const auto& [name, state] : out.states) shapes.back().emplace_back(name, state.weights.shape);
  }
  TITAN_ASSIGN_OR_RETURN(out.groups, settings_of_shapes(file, list, shapes));
  return {};
}

}  // namespace

Result<Content> read_universal(Fs& fs, const std::string& folder, PieceFiles& files) {
  Content out;
  const std::string zero = ckpt::join_path(folder, "zero");
  TITAN_ASSIGN_OR_RETURN(const std::vector<ckpt::DirEntry> entries, fs.list(zero));
  const auto tensor = [&](const std::string& path) -> Result<PiecedTensor> {
    TITAN_ASSIGN_OR_RETURN(const TorchFile file, TorchFile::open(fs, path));
    // torch stores in the file the name under which it was saved.
    if (std::ranges::find(kFiles, file.saved_as()) != std::end(kFiles) &&
        ckpt::base_name(path) != file.saved_as() + kEnd)
      return corrupt(path + " was saved as " + file.saved_as() + kEnd + ": one file is in another's place");
    TITAN_ASSIGN_OR_RETURN(const NodeId node, file.at(file.pickle().root(), "param"));
    TITAN_ASSIGN_OR_RETURN(const StoredTensor stored, file.tensor(node));
    TITAN_ASSIGN_OR_RETURN(const DType dtype, dtype_of_torch(path, stored.dtype));
    return PiecedTensor{path,
                        dtype,
                        stored.shape,
                        {whole_piece(stored.shape, {{files.add_archive(path), stored.offset, stored.elements}})}};
  };
  TITAN_ASSIGN_OR_RETURN(const std::unique_ptr<TorchFile> model, open_model(fs, folder));
  for (const ckpt::DirEntry& entry : entries) {
    if (entry.type != ckpt::FileType::kDirectory) continue;
    const std::string at = ckpt::join_path(zero, entry.name);
    State& state = out.states[entry.name];
    TITAN_ASSIGN_OR_RETURN(state.weights, tensor(ckpt::join_path(at, "fp32.pt")));
    for (const auto& [name, slot] : {std::pair{ckpt::kExpAvg, &state.exp_avg}, {ckpt::kExpAvgSq, &state.exp_avg_sq}}) {
      const std::string path = ckpt::join_path(at, std::string(name) + ".pt");
      TITAN_ASSIGN_OR_RETURN(const bool there, file_there(fs, path));
      if (!there) continue;
      TITAN_ASSIGN_OR_RETURN(*slot, tensor(path));
    }
    const std::string step = ckpt::join_path(at, "step.pt");
    TITAN_ASSIGN_OR_RETURN(const bool counted, file_there(fs, step));
    if (!counted) continue;
    TITAN_ASSIGN_OR_RETURN(const TorchFile file, TorchFile::open(fs, step));
    files.add_archive(step);
    TITAN_ASSIGN_OR_RETURN(state.step, file.number(file.pickle().root()));
  }
  const std::string groups = ckpt::join_path(zero, "optimizer_state.pt");
  TITAN_ASSIGN_OR_RETURN(const bool there, file_there(fs, groups));
  if (there) {
    TITAN_ASSIGN_OR_RETURN(const TorchFile file, TorchFile::open(fs, groups));
    files.add_archive(groups);
    TITAN_RETURN_IF_ERROR(take_groups(file, model.get(), out));
  }
  if (out.states.empty()) return corrupt(zero + " holds no parameters");
  if (model != nullptr) TITAN_RETURN_IF_ERROR(compare_with_model(out.states, *model, false, kExchanged, files));
  out.notes.push_back("which parameter's a file is, is taken from the name of its folder: nothing in it says so");
  return out;
}

}  // namespace titan::convert::deepspeed
