#include "ckpt/base/path.h"

namespace titan::ckpt {

std::string parent_path(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string base_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

std::string without_slashes(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

std::string join_path(const std::string& a, const std::string& b) {
  if (a.empty()) return b;
  if (b.empty()) return a;
  std::size_t end = a.size();
  while (end > 1 && a[end - 1] == '/') --end;
  std::size_t begin = 0;
  while (begin < b.size() && b[begin] == '/') ++begin;
  if (end == 1 && a[0] == '/') return "/" + b.substr(begin);
  return a.substr(0, end) + "/" + b.substr(begin);
}

}  // namespace titan::ckpt
