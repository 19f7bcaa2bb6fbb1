#pragma once
// A folder for one test, removed at its end, whose files may be written again and again.
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

#include "tests/support/files.h"

namespace titan::train {

class ScratchDir : public ckpt::testing::TempDir {
 public:
  /// Writes or replaces a file (missing folders are made) and returns its path.
  std::string write(const std::string& name, std::string_view content) const {
    const std::string file = *this / name;
    std::filesystem::create_directories(std::filesystem::path(file).parent_path());
    std::ofstream(file, std::ios::binary | std::ios::trunc) << content;
    return file;
  }
};

inline std::string read_text(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

}  // namespace titan::train
