#include "converters/deepspeed/step_files.h"

#include "ckpt/base/fs.h"
#include "ckpt/base/path.h"
#include "converters/run_names.h"

namespace titan::convert::deepspeed {
namespace {

constexpr std::string_view kRank = "zero_pp_rank_", kOfModel = "mp_rank_00_model_states.pt";
constexpr const char* kMakeUniversal =
    "make it universal: python -m deepspeed.checkpoint.ds_to_universal --input_folder IN --output_folder OUT";

// Refuses files of pipelines, experts and tensor-parallel ranks, which are not read. \error kUnsupported
ckpt::Status check_kind(const std::string& name, const std::string& path) {
  if (name.starts_with("layer_") && name.ends_with("model_states.pt"))
    return ckpt::unsupported(path + " is of a pipeline of DeepSpeed's own: not supported").with_hint(kMakeUniversal);
  if (name.find("expert_") != std::string::npos)
    return ckpt::unsupported(path + " is of an expert: models with experts are not supported");
  if (name.find("mp_rank_") != std::string::npos && name.find("mp_rank_00_") == std::string::npos)
    return ckpt::unsupported(path + " is of a second tensor-parallel rank: the files do not say how tensors are cut")
        .with_hint(kMakeUniversal);
  return {};
}

}  // namespace

std::optional<std::uint32_t> rank_in_name(std::string_view name) {
  const std::size_t at = name.find(kRank);
  if (at == std::string_view::npos) return std::nullopt;
  name.remove_prefix(at + kRank.size());
  return rank_number(name.substr(0, name.find('_')));
}

ckpt::Result<StepFiles> files_of_step(ckpt::Fs& fs, const std::string& folder) {
  StepFiles out;
  TITAN_ASSIGN_OR_RETURN(const std::vector<ckpt::DirEntry> entries, fs.list(folder));
  for (const ckpt::DirEntry& entry : entries) {
    const std::string path = ckpt::join_path(folder, entry.name);
    TITAN_RETURN_IF_ERROR(check_kind(entry.name, path));
    const bool of_model = entry.name.ends_with(kOfModel);
    if (!of_model && !entry.name.ends_with(kStates)) continue;
    const std::optional<std::uint32_t> rank = rank_in_name(entry.name);
    if (!rank && (!of_model || entry.name.find(kRank) != std::string::npos))
      return ckpt::corrupt(path + ": its name is none of DeepSpeed's");
    if (of_model && rank.value_or(0) == 0) out.model = path;
    if (!of_model && !out.ranks.emplace(*rank, path).second)
      return ckpt::corrupt(path + ": another file is of the same rank");
  }
  if (out.model.empty()) return ckpt::corrupt(folder + " has no file of the model (*" + std::string(kOfModel) + ")");
  if (!out.ranks.empty() && out.ranks.rbegin()->first + std::size_t{1} != out.ranks.size())
    return ckpt::corrupt(folder + " lacks files of the optimizer: the last rank is " +
                         std::to_string(out.ranks.rbegin()->first) + ", and there are " +
                         std::to_string(out.ranks.size()) + " files");
  return out;
}

}  // namespace titan::convert::deepspeed
