#pragma once
// The numbers beside a file of tokens: where documents end, and what is trained on. \source docs/data.md, "The folder"
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>

#include "ckpt/base/result.h"
#include "libtrain/job/data/mapped_file.h"

namespace titan::train {

/// u64 in a file, little-endian; none without one.
class MappedNumbers {
 public:
  /// An empty path: there are none. \error as MappedFile::open
  static ckpt::Result<MappedNumbers> open(const std::string& path) {
    MappedNumbers numbers;
    if (!path.empty()) {
      TITAN_ASSIGN_OR_RETURN(numbers.file_, MappedFile::open(path));
    }
    return numbers;
  }
  bool has_file() const { return file_.has_value(); }
  const std::string& path() const { return file_->path(); }
  std::uint64_t size() const { return file_ ? file_->bytes().size() / sizeof(std::uint64_t) : 0; }
  std::uint64_t at(std::uint64_t place) const {
    std::uint64_t value = 0;
    std::memcpy(&value, file_->bytes().data() + place * sizeof value, sizeof value);
    return value;
  }
  /// The place of the first number above `least`, where they ascend.
  std::uint64_t first_above(std::uint64_t least) const {
    std::uint64_t low = 0, high = size();
    while (low < high) {
      const std::uint64_t middle = low + (high - low) / 2;
      if (at(middle) > least)
        high = middle;
      else
        low = middle + 1;
    }
    return low;
  }

 private:
  std::optional<MappedFile> file_;
};

}  // namespace titan::train
