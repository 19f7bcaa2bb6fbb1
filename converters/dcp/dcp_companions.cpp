#include "converters/dcp/dcp_companions.h"

#include "ckpt/base/fs.h"
#include "ckpt/base/path.h"
#include "converters/dcp/parts.h"
#include "converters/hf/hf_checkpoint.h"
#include "converters/hf/hf_plan.h"
#include "converters/other_programs.h"

namespace titan::convert::dcp {
namespace {

constexpr const char* kFolders[] = {"", ".hf_metadata", "huggingface", "pytorch_model_fsdp_0"};

// Notes that run state in pickle files is not read. Folders are not noted, because they are DCP directories, which are
// read.
Status note_pickles(Fs& fs, const std::string& path, ImportPlan& plan) {
  TITAN_ASSIGN_OR_RETURN(std::vector<ckpt::DirEntry> entries, fs.list(path));
  std::erase_if(entries, [](const ckpt::DirEntry& entry) { return entry.type == ckpt::FileType::kDirectory; });
  if (const std::vector<std::string> names = training_state(entries); !names.empty())
    plan.notes.push_back(kNotCopied + listed(names) + ": " + kStateOfRun);
  return {};
}

Status note_further_models(Fs& fs, const std::string& path, ImportPlan& plan) {
  TITAN_ASSIGN_OR_RETURN(const FurtherParts further, further_parts(fs, path));
  std::vector<std::string> names = further.optimizers;
  names.insert(names.end(), further.models.begin(), further.models.end());
  if (names.empty()) return {};
  plan.notes.push_back("not read: " + listed(names) + ": accelerate saved several here, of which the first is taken" +
                       (further.models.empty() ? ""
                                               : "; for another model give its own folder, as in " +
                                                     ckpt::join_path(path, further.models.front())));
  return {};
}

}  // namespace

Result<std::string> find_config(Fs& fs, const std::string& path) {
  for (const std::string& near : {path, ckpt::parent_path(path)}) {
    for (const std::string folder : kFolders) {
      const std::string file = ckpt::join_path(folder.empty() ? near : ckpt::join_path(near, folder), kHfConfig);
      TITAN_ASSIGN_OR_RETURN(const bool there, file_there(fs, file));
      if (there) return file;
    }
  }
  return std::string();
}

Status take_dcp_companions(Fs& fs, const std::string& path, bool huggingface, ImportPlan& plan) {
  if (huggingface) {
    TITAN_ASSIGN_OR_RETURN(const std::string config, find_config(fs, path));
    if (!config.empty()) TITAN_RETURN_IF_ERROR(find_companions(fs, ckpt::parent_path(config), plan));
  }
  TITAN_RETURN_IF_ERROR(find_companions(fs, path, plan));
  TITAN_RETURN_IF_ERROR(note_further_models(fs, path, plan));
  return note_pickles(fs, path, plan);
}

}  // namespace titan::convert::dcp
