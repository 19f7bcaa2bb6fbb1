#include "ckpt/store/named_file.h"

#include "ckpt/base/files.h"
#include "ckpt/base/fs.h"

namespace titan::ckpt {

Result<FileInfo> stat_target(Fs& fs, const std::string& path) {
  TITAN_ASSIGN_OR_RETURN(const std::string real, fs.real_path(path));
  return fs.stat(real);
}

Result<std::unique_ptr<File>> open_target(Fs& fs, const std::string& path) {
  TITAN_ASSIGN_OR_RETURN(const std::string real, fs.real_path(path));
  return fs.open_read(real);
}

Result<std::string> named_file(Fs& fs, const std::string& path, const std::string& what) {
  const auto wrong = [&](const char* kind) { return invalid(path + " is " + kind + ", expected " + what); };
  Result<FileInfo> info = fs.stat(path);
  if (info.status().code == Code::kNotFound) return invalid("there is no file " + path + ", expected " + what);
  std::string real = path;
  if (info.ok() && info->type == FileType::kLink) {
    const Result<std::string> target = fs.real_path(path);
    if (target.status().code == Code::kNotFound) return wrong("a link that leads nowhere");
    TITAN_RETURN_IF_ERROR(target.status());
    real = *target;
    info = fs.stat(real);
  }
  TITAN_RETURN_IF_ERROR(info.status());
  if (info->type == FileType::kDirectory) return wrong("a folder");
  if (info->type != FileType::kFile) return wrong("no regular file");
  return real;
}

Result<std::vector<std::byte>> read_named_file(Fs& fs, const std::string& path, const std::string& what,
                                               std::uint64_t limit) {
  TITAN_ASSIGN_OR_RETURN(const std::string file, named_file(fs, path, what));
  return read_file(fs, file, limit);
}

}  // namespace titan::ckpt
