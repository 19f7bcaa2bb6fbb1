#include "converters/other_programs.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "ckpt/base/fs.h"
#include "ckpt/base/path.h"
#include "ckpt/base/text.h"
#include "converters/companions.h"

namespace titan::convert {
namespace {

using ckpt::DirEntry;
using ckpt::FileKind;

constexpr const char* kWithPickles =
    "a pickle can run code, so none is read: torch.load(FILE, weights_only=True), then safetensors.torch.save_file, or "
    "save_pretrained(FOLDER) of a recent transformers";
constexpr const char* kUnpack = "unpack it, and give the folder that was in it";
constexpr const char* kDownload =
    "fetch the file again, and look at what the server answers: a page or an error was saved in its place (a login, a "
    "wrong address)";

// The hint for a file of a kind that is not a checkpoint; nullptr: there is no hint for this kind.
const char* hint_for(FileKind kind) {
  switch (kind) {
    case FileKind::kGguf: return "give the GGUF file itself, or its folder: it is read";
    case FileKind::kGgml:
      return "files of GGML are older than GGUF: convert the safetensors that it was made from; llama.cpp has "
             "convert_llama_ggml_to_gguf.py";
    case FileKind::kTorch:
    case FileKind::kPickle: return kWithPickles;
    case FileKind::kNpz:
      return "mlx_lm and older MLX write such: dict(numpy.load(FILE)), then safetensors.numpy.save_file under the "
             "names "
             "of Hugging Face, next to config.json";
    case FileKind::kLfsPointer:
      return "fetch the file itself: `git lfs pull` in the folder that was cloned, or hf download";
    case FileKind::kWebPage:
    case FileKind::kErrorPage: return kDownload;
    case FileKind::kHdf5:
      return "one of Titan's checkpoints is the folder above the one with the shards; tf_model.h5 of Keras is read by "
             "transformers 4: from_pretrained(FOLDER, from_tf=True), then save_pretrained(OUT)";
    case FileKind::kTar:
    case FileKind::kGzip:
    case FileKind::kZstd:
    case FileKind::kXz:
    case FileKind::kBzip2:
    case FileKind::kSevenZip:
    case FileKind::kRar:
    case FileKind::kZip: return kUnpack;
    case FileKind::kScript:
    case FileKind::kNpy:
    case FileKind::kParquet:
    case FileKind::kArrow:
    case FileKind::kFeather:
    case FileKind::kPdf:
    case FileKind::kPng:
    case FileKind::kJpeg:
    case FileKind::kGif:
    case FileKind::kSqlite:
    case FileKind::kProgram: return "give the folder of a checkpoint, or a .safetensors file";
    default: return nullptr;
  }
}

class Folder {
 public:
  Folder(Fs& fs, std::string path) : fs_(fs), path_(std::move(path)) {
    if (const auto entries = fs.list(path_); entries.ok())
      for (const DirEntry& entry : *entries) names_.push_back(entry.name);
    std::ranges::sort(names_);
  }

  bool has(std::string_view name) const { return std::ranges::find(names_, name) != names_.end(); }
  /// The first name with this beginning and this end; "" if there is none.
  std::string any(std::string_view begin, std::string_view end) const {
    const auto found = std::ranges::find_if(
        names_, [&](const std::string& name) { return name.starts_with(begin) && name.ends_with(end); });
    return found == names_.end() ? "" : *found;
  }
  bool is(std::string_view begin, std::string_view end = "") const { return !any(begin, end).empty(); }
  Folder below(const std::string& name) const { return Folder(fs_, ckpt::join_path(path_, name)); }

 private:
  Fs& fs_;
  std::string path_;
  std::vector<std::string> names_;
};

// torch_dist steps are supported, and verl writes such a file next to its own steps.
bool is_run_of_older_megatron(const Folder& at) {
  const std::string step = at.any("iter_0", "");
  return (!step.empty() || at.has("latest_checkpointed_iteration.txt")) && !at.is("global_step_") &&
         (step.empty() || !at.below(step).has(".metadata"));
}

// A DeepSpeed run folder without a step that Titan reads. If a step in it has *_states.pt files, Titan can read that
// step, so this is not another program's checkpoint.
bool is_run_of_deepspeed(const Folder& at) {
  const std::string step = at.any("global_step", "");
  return (at.has("zero_to_fp32.py") || (at.has("latest") && !step.empty())) &&
         (step.empty() || !at.below(step).is("", "_states.pt"));
}

struct Program {
  const char* what;
  bool (*is)(const Folder&);
  const char* hint;
};

// Tried in this order; the first program that recognises the folder is reported.
constexpr Program kPrograms[] = {
    {"a DeepSpeed checkpoint",
     [](const Folder& at) {
       return at.is("", "mp_rank_00_model_states.pt") || at.is("", "_optim_states.pt") || is_run_of_deepspeed(at);
     },
     "DeepSpeed's own script writes the weights, given the folder that holds global_stepN: python -m "
     "deepspeed.utils.zero_to_fp32 FOLDER OUT --safe_serialization (zero_to_fp32.py next to it is the same)"},
    {"a Megatron checkpoint",
     [](const Folder& at) {
       return at.is("mp_rank_") || (at.has("common.pt") && at.has("metadata.json")) || at.has("distrib_optim.pt") ||
              is_run_of_older_megatron(at);
     },
     "its form torch_dist is read: load it in Megatron and save it with --ckpt-format torch_dist; or Megatron Bridge "
     "makes a Hugging Face folder of it (AutoBridge.export_ckpt)"},
    {"a NeMo checkpoint",
     [](const Folder& at) {
       return (at.has("context") && at.has("weights")) || (at.has("model_config.yaml") && at.has("model_weights"));
     },
     "NeMo's exporter makes a Hugging Face folder of it, which is read: nemo.collections.llm.export_ckpt(path=FOLDER, "
     "target=\"hf\", output_path=OUT)"},
    {"a checkpoint of Orbax (JAX)",
     [](const Folder& at) {
       return at.has("manifest.ocdbt") || at.has("_CHECKPOINT_METADATA") || at.is("ocdbt.process_") ||
              at.below("default").has("manifest.ocdbt") || at.below("params").has("manifest.ocdbt");
     },
     "restore it with the program that wrote it and save its weights as safetensors (MaxText has to_huggingface.py)"},
    {"a model of Flax", [](const Folder& at) { return at.has("flax_model.msgpack"); },
     "transformers 4 reads it: from_pretrained(FOLDER, from_flax=True), then save_pretrained(OUT)"},
    {"a model of TensorFlow", [](const Folder& at) { return at.has("tf_model.h5") || at.has("saved_model.pb"); },
     "transformers 4 reads it: from_pretrained(FOLDER, from_tf=True), then save_pretrained(OUT)"},
    {"a model of MLX in NumPy's arrays", [](const Folder& at) { return at.is("weights", ".npz"); },
     "mlx_lm.convert of today writes safetensors, which are read where they are not quantised"},
};

Status not_yet(const std::string& path, const std::string& what, const char* hint) {
  return ckpt::unsupported(path + " is " + what + ": not supported yet").with_hint(hint);
}

Status no_checkpoint(const std::string& path, FileKind kind, const char* hint) {
  return ckpt::unsupported(path + " is " + ckpt::kind_text(kind) + ", no checkpoint").with_hint(hint);
}

bool holds_weights(FileKind kind) {
  return kind == FileKind::kGgml || kind == FileKind::kTorch || kind == FileKind::kPickle || kind == FileKind::kNpz;
}

Status check_file(Fs& fs, const std::string& path) {
  const auto file = fs.open_read(path);
  if (!file.ok()) return ckpt::ok_status();
  const auto size = (*file)->size();
  if (!size.ok()) return ckpt::ok_status();
  std::vector<std::byte> head(std::min<std::uint64_t>(*size, ckpt::kSignatureBytes));
  if (!(*file)->pread(0, head).ok()) return ckpt::ok_status();
  const FileKind kind = ckpt::file_kind(ckpt::text_of(head));
  if (path.ends_with(".nemo") && (kind == FileKind::kTar || kind == FileKind::kGzip))
    return not_yet(path, "a NeMo checkpoint in one archive",
                   "unpack it with tar -xf; NeMo's scripts/checkpoint_converters write a Hugging Face folder of it");
  const char* const hint = hint_for(kind);
  if (hint == nullptr) return ckpt::ok_status();
  return holds_weights(kind) ? not_yet(path, ckpt::kind_text(kind), hint) : no_checkpoint(path, kind, hint);
}

Status check_folder(Fs& fs, const std::string& path) {
  const Folder folder(fs, path);
  for (const Program& program : kPrograms)
    if (program.is(folder)) return not_yet(path, program.what, program.hint);
  return ckpt::ok_status();
}

}  // namespace

Status check_other_programs(Fs& fs, const std::string& path) {
  const auto real = fs.real_path(path);
  const auto info = fs.stat(real.ok() ? *real : path);
  if (!info.ok()) return ckpt::ok_status();
  return info->type == ckpt::FileType::kDirectory ? check_folder(fs, path)
         : info->type == ckpt::FileType::kFile    ? check_file(fs, through_link(fs, path))
                                                  : ckpt::ok_status();
}

Result<bool> file_there(Fs& fs, const std::string& path) {
  const auto here = fs.stat(path), info = fs.stat(through_link(fs, path));
  if (!here.ok() && here.status().code == ckpt::Code::kNotFound) return false;
  TITAN_RETURN_IF_ERROR(here.status());
  TITAN_RETURN_IF_ERROR(info.status());
  if (info->type == ckpt::FileType::kFile) return true;
  return ckpt::unsupported(path + " is " +
                           (info->type == ckpt::FileType::kDirectory ? "a folder"
                            : info->type == ckpt::FileType::kLink    ? "a link that leads nowhere"
                                                                     : "no regular file") +
                           ", expected a file");
}

Status or_wrong_file_kind(const std::string& path, std::string_view beginning, const Status& error, FileKind expected) {
  const FileKind kind = ckpt::file_kind(beginning.substr(0, ckpt::kSignatureBytes));
  if (kind == expected) return error;
  if (kind == FileKind::kZeros)
    return ckpt::corrupt(path + " begins with " + std::to_string(beginning.size()) +
                         " bytes that are all zero: it was never written, or only its length was");
  if (const char* const hint = hint_for(kind))
    return ckpt::unsupported(path + " is " + ckpt::kind_text(kind) + ", whatever its name says").with_hint(hint);
  return error;
}

Status or_wrong_file_kind(const std::string& path, ckpt::File& file, const Status& error, FileKind expected) {
  const auto size = file.size();
  if (!size.ok()) return error;
  std::vector<std::byte> head(std::min<std::uint64_t>(*size, ckpt::kSignatureBytes));
  return file.pread(0, head).ok() ? or_wrong_file_kind(path, ckpt::text_of(head), error, expected) : error;
}

}  // namespace titan::convert
