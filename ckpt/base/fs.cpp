#include "ckpt/base/fs.h"

#include <algorithm>

#include "ckpt/base/files.h"
#include "ckpt/base/path.h"

namespace titan::ckpt {

Status File::set_read_only() { return unsupported("permissions are not offered by this file system"); }

Result<FileInfo> Fs::stat_member(const std::string& folder, const std::string& member) {
  // Checks each name in order, because stat() of the whole path gives only the type of the last one.
  for (std::size_t end = member.find('/'); end != std::string::npos; end = member.find('/', end + 1)) {
    const std::string part = join_path(folder, member.substr(0, end));
    TITAN_ASSIGN_OR_RETURN(const FileInfo info, stat(part));
    if (info.type == FileType::kLink) return link_refused(part);
  }
  const std::string path = join_path(folder, member);
  TITAN_ASSIGN_OR_RETURN(const FileInfo info, stat(path));
  if (info.type == FileType::kLink) return link_refused(path);
  return info;
}

Result<std::unique_ptr<File>> Fs::open_member(const std::string& folder, const std::string& member, Access access) {
  TITAN_RETURN_IF_ERROR(stat_member(folder, member).status());
  const std::string path = join_path(folder, member);
  return access == Access::kScan ? open_scan(path) : open_read(path);
}

Result<std::unique_ptr<File>> Fs::open_large(const std::string& path) {
  return unsupported(path + ": open for writing in addition to another process: not offered by this file system");
}

Result<std::unique_ptr<File>> Fs::open_update(const std::string& path) {
  return unsupported(path + ": open for writing: not offered by this file system");
}

Status Fs::may_write(const std::string&) { return ok_status(); }

Status Fs::link(const std::string& from, const std::string& to) {
  return unsupported(from + ": link to " + to + ": not offered by this file system");
}

Status Fs::reflink(const std::string& from, const std::string& to) {
  return unsupported(from + ": reflink to " + to + ": not offered by this file system");
}

Status Fs::exchange(const std::string& a, const std::string& b) {
  return unsupported(a + ": exchange with " + b + ": not offered by this file system");
}

Result<std::string> Fs::real_path(const std::string& path) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    const std::string part = path.substr(begin, end - begin);
    begin = end + 1;
    if (part == ".." && !parts.empty()) parts.pop_back();
    if (!part.empty() && part != "." && part != "..") parts.push_back(part);
  }
  std::string text;
  for (const std::string& part : parts) text += "/" + part;
  if (text.empty()) text = "/";
  TITAN_RETURN_IF_ERROR(stat(text).status());
  return text;
}

}  // namespace titan::ckpt
