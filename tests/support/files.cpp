#include "tests/support/files.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "ckpt/base/files.h"
#include "ckpt/base/fs.h"
#include "ckpt/base/path.h"

namespace titan::ckpt::testing {

TempDir::TempDir() {
  path_ = (std::filesystem::temp_directory_path() / "titan-test-XXXXXX").string();
  if (!::mkdtemp(path_.data())) {
    std::perror(path_.c_str());
    std::abort();
  }
}

TempDir::~TempDir() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

Status put_text(Fs& fs, const std::string& path, std::string_view text) {
  if (std::size_t slash = path.rfind('/'); slash != std::string::npos && slash > 0)
    TITAN_RETURN_IF_ERROR(make_dirs(fs, path.substr(0, slash)));
  return write_new_file(fs, path, std::as_bytes(std::span(text)));
}

std::string get_text(Fs& fs, const std::string& path) {
  Result<std::vector<std::byte>> data = read_file(fs, path, std::uint64_t{1} << 30);
  if (!data.ok()) return "<error: " + data.status().message + ">";
  return {reinterpret_cast<const char*>(data->data()), data->size()};
}

std::vector<std::string> tree(Fs& fs, const std::string& path) {
  std::vector<std::string> names;
  Result<std::vector<DirEntry>> entries = fs.list(path);
  if (!entries.ok()) return names;
  for (const DirEntry& entry : *entries) {
    names.push_back(entry.name + (entry.type == FileType::kDirectory ? "/" : ""));
    if (entry.type != FileType::kDirectory) continue;
    for (const std::string& below : tree(fs, join_path(path, entry.name))) names.push_back(entry.name + "/" + below);
  }
  return names;
}

}  // namespace titan::ckpt::testing
