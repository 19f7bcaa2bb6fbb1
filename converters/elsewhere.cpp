#include "converters/elsewhere.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "ckpt/base/text.h"

namespace titan::convert {
namespace {

using ckpt::DirEntry;

using Names = std::vector<std::string>;

bool has(const Names& names, std::string_view name) { return std::ranges::find(names, name) != names.end(); }

bool is_sharded(const std::string& name) {
  return name.starts_with("shard-") && name.find("-model-") != std::string::npos && name.ends_with(".safetensors");
}
bool is_gguf(const std::string& name) { return name.ends_with(".gguf"); }
bool is_pickle(const std::string& name) {
  return name.ends_with(".pt") || name.ends_with(".pth") || name.ends_with(".bin") || name.ends_with(".ckpt");
}

/// The names in `folder`; none where it cannot be listed.
Names names_in(Fs& fs, const std::string& folder) {
  Names names;
  if (const auto entries = fs.list(folder); entries.ok())
    for (const DirEntry& entry : *entries) names.push_back(entry.name);
  std::ranges::sort(names);
  return names;
}

Status not_yet(const std::string& path, const std::string& what, const char* hint) {
  return ckpt::unsupported(path + " is " + what + ": not supported yet").with_hint(hint);
}

Status gguf(const std::string& path) {
  return not_yet(path, "a GGUF file",
                 "GGUF files are mostly quantised: convert the safetensors that it was made from; or let transformers "
                 "read it: from_pretrained(FOLDER, gguf_file=NAME), then save_pretrained(OUT)");
}

Status check_file(Fs& fs, const std::string& path) {
  std::array<std::byte, 4> head{};
  const auto file = fs.open_read(path);
  if (!file.ok()) return ckpt::ok_status();
  const auto size = (*file)->size();
  if (!size.ok() || *size < head.size() || !(*file)->pread(0, head).ok()) return ckpt::ok_status();
  const std::string_view magic = ckpt::text_of(head);
  if (magic == "GGUF") return gguf(path);
  // A zip of torch.save, or the bare pickle of older versions.
  if (is_pickle(path) && (magic == "PK\x03\x04" || magic.starts_with("\x80\x02")))
    return not_yet(path, "a pickle of PyTorch",
                   "a pickle can run code, so none is read: torch.load(FILE, weights_only=True), then "
                   "safetensors.torch.save_file, or save_pretrained(FOLDER) of a recent transformers");
  return ckpt::ok_status();
}

Status check_folder(Fs& fs, const std::string& path) {
  const Names names = names_in(fs, path);
  if (has(names, "checkpoint_metadata.json") && has(names, "model"))
    return not_yet(
        path, "a nanotron checkpoint",
        "nanotron's examples/llama/convert_nanotron_to_hf.py makes a Hugging Face folder of it, which is read");
  if (has(names, "zero_to_fp32.py"))
    return not_yet(path, "a DeepSpeed checkpoint",
                   "its own zero_to_fp32.py writes the weights: `python zero_to_fp32.py . OUT --safe_serialization`");
  const bool ranks = std::ranges::any_of(names, [](const std::string& name) { return name.starts_with("mp_rank_"); });
  const bool distributed = has(names, "common.pt") && has(names, "metadata.json");
  if (ranks || distributed || has(names, "latest_checkpointed_iteration.txt") || has(names, "distrib_optim.pt"))
    return not_yet(path, "a Megatron checkpoint",
                   "Megatron Bridge makes a Hugging Face folder of it (AutoBridge.export_ckpt), which is read");
  for (const std::string& folder : {path, ckpt::join_path(path, "sharded")})
    if (std::ranges::any_of(names_in(fs, folder), is_sharded))
      return not_yet(path, "a Hugging Face export of torchtitan or torch DCP that is still in shards of ranks",
                     "consolidate_safetensors_files of torch.distributed.checkpoint joins them into a Hugging Face "
                     "folder, which is read; a step in DCP's own form is read as it is");
  const auto name = std::ranges::find_if(names, is_gguf);
  return name == names.end() ? ckpt::ok_status() : gguf(ckpt::join_path(path, *name));
}

}  // namespace

Status check_elsewhere(Fs& fs, const std::string& path) {
  const auto real = fs.real_path(path);
  const auto info = fs.stat(real.ok() ? *real : path);
  if (!info.ok()) return ckpt::ok_status();
  return info->type == ckpt::FileType::kDirectory ? check_folder(fs, path)
         : info->type == ckpt::FileType::kFile    ? check_file(fs, path)
                                                  : ckpt::ok_status();
}

}  // namespace titan::convert
