// The universal form of DeepSpeed: a folder for each parameter, with a file for its weights and each moment.
#include <algorithm>

#include "converters/deepspeed/zero.h"
#include "converters/elsewhere.h"

namespace titan::convert::deepspeed {

using ckpt::corrupt;
using dcp::NodeId;

namespace {

constexpr const char* kEnd = ".pt";
constexpr const char* kFiles[] = {"fp32", ckpt::kExpAvg, ckpt::kExpAvgSq};

}  // namespace

Result<Content> read_universal(Fs& fs, const std::string& folder, PieceFiles& files) {
  Content out;
  const std::string zero = ckpt::join_path(folder, "zero");
  TITAN_ASSIGN_OR_RETURN(const std::vector<ckpt::DirEntry> entries, fs.list(zero));
  const auto tensor = [&](const std::string& path) -> Result<PiecedTensor> {
    TITAN_ASSIGN_OR_RETURN(const TorchFile file, TorchFile::open(fs, path));
    // torch keeps the name under which it saved a file.
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
    TITAN_ASSIGN_OR_RETURN(state.step, file.number(file.pickle().root()));
  }
  const std::string groups = ckpt::join_path(zero, "optimizer_state.pt");
  TITAN_ASSIGN_OR_RETURN(const bool there, file_there(fs, groups));
  if (there) {
    TITAN_ASSIGN_OR_RETURN(const TorchFile file, TorchFile::open(fs, groups));
    const NodeId list = file.pickle().find(file.pickle().root(), "param_groups");
    if (list != dcp::kNoNode) TITAN_RETURN_IF_ERROR(read_groups(file, list, out.groups));
  }
  if (out.states.empty()) return corrupt(zero + " holds no parameters");
  out.notes.push_back("which parameter's a file is, is taken from the name of its folder: nothing in it says so");
  return out;
}

}  // namespace titan::convert::deepspeed
