#include "ckpt/store/destination.h"

#include <span>

#include "ckpt/base/files.h"
#include "ckpt/base/fs.h"
#include "ckpt/base/path.h"
#include "ckpt/base/text.h"
#include "ckpt/format/manifest_codec.h"
#include "ckpt/format/member_names.h"

namespace titan::ckpt {
namespace {

// Whether the file is a manifest of Titan. Other programs use the name, too, so the first bytes decide. An unreadable
// file counts as a manifest.
bool is_checkpoint(Fs& fs, const std::string& folder) {
  const std::string path = join_path(folder, kManifestFile);
  if (const auto info = fs.stat(path); !info.ok() || info->type != FileType::kFile) return false;
  if (parse_step_name(base_name(folder))) return true;
  const auto file = fs.open_read(path);
  if (!file.ok()) return true;
  std::string begin(kManifestPrefix.size(), '\0');
  const Status read = (*file)->pread(0, std::as_writable_bytes(std::span(begin)));
  return read.ok() ? begin == kManifestPrefix : read.code != Code::kCorrupt;  // kCorrupt: a shorter file
}

}  // namespace

bool is_below(const std::string& path, const std::string& folder) {
  return path != folder && path.starts_with(folder == "/" ? folder : folder + "/");
}

Status check_outside_checkpoints(Fs& fs, const std::string& path) {
  Result<std::string> real = fs.real_path(parent_path(path));
  if (!real.ok()) real = fs.real_path(parent_path(parent_path(path)));  // one missing level will be created
  if (!real.ok()) return ok_status();                                   // creating the file will give the error
  for (std::string folder = *real;; folder = parent_path(folder)) {
    if (is_checkpoint(fs, folder))
      return invalid(path + " lies inside the checkpoint " + folder)
          .with_hint("published checkpoints are never changed: choose a place outside");
    if (folder == "/" || folder == ".") return ok_status();
  }
}

Status check_output_file(Fs& fs, const std::string& out) {
  if (out.ends_with('/')) return invalid(out + " names a folder, expected the name of a file to write");
  if (const Result<FileInfo> there = fs.stat(out); there.ok() && there->type == FileType::kDirectory) {
    return invalid(out + " is a folder, expected the name of a file to write");
  } else if (there.ok() && there->type != FileType::kFile) {
    return invalid(out + " exists and is not a regular file: it is not replaced").with_hint("write to a plain file");
  }
  return check_outside_checkpoints(fs, out);
}

Result<std::optional<std::string>> text_to_replace(Fs& fs, const std::string& path, std::uint64_t most) {
  TITAN_RETURN_IF_ERROR(check_output_file(fs, path));
  const Result<std::vector<std::byte>> text = read_file(fs, path, most);
  if (text.ok()) return std::optional(std::string(text_of(*text)));
  if (text.status().code == Code::kNotFound) return std::optional<std::string>("");
  if (text.status().code == Code::kCorrupt) return std::optional<std::string>();
  return text.status();
}

}  // namespace titan::ckpt
