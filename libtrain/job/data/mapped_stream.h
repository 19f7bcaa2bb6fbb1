#pragma once
// A stream of tokens over consecutive memory-mapped files. Next to a data file there may be two files of numbers: its
// document ends, and the ranges of tokens that are trained on. \source docs/data.md, "The folder"
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ckpt/base/result.h"
#include "corpus/token_file.h"
#include "libtrain/job/data/dataset.h"
#include "libtrain/job/data/mapped_file.h"

namespace titan::train {

/// Little-endian u64 numbers in a file; none if there is no file.
class MappedNumbers {
 public:
  /// Opens the file at `path`; an empty path: there are no numbers. \error as MappedFile::open
  static ckpt::Result<MappedNumbers> open(const std::string& path) {
    MappedNumbers numbers;
    if (path.empty()) return numbers;
    TITAN_ASSIGN_OR_RETURN(numbers.file_, MappedFile::open(path));
    numbers.place_.count = numbers.file_->bytes().size() / sizeof(std::uint64_t);
    return numbers;
  }
  /// Opens the document ends in the index file of a file of ids (corpus/token_file.h). They may repeat, since documents
  /// may be empty. \error as MappedFile::open; kFailed: the file has become shorter
  static ckpt::Result<MappedNumbers> of_index(const std::string& path, const corpus::IndexedEnds& place) {
    MappedNumbers numbers;
    TITAN_ASSIGN_OR_RETURN(numbers.file_, MappedFile::open(path));
    if (place.offset + place.count * sizeof(std::uint64_t) > numbers.file_->bytes().size())
      return ckpt::failed("'" + path + "' changes while it is read");
    numbers.place_ = place;
    numbers.repeat_ = true;
    return numbers;
  }
  bool has_file() const { return file_.has_value(); }
  bool may_repeat() const { return repeat_; }
  const std::string& path() const { return file_->path(); }
  std::uint64_t size() const { return place_.count; }
  /// The number at index `place`, in tokens. The largest u64 if it is not a whole number of tokens.
  std::uint64_t at(std::uint64_t place) const {
    std::uint64_t value = 0;
    std::memcpy(&value, file_->bytes().data() + place_.offset + place * sizeof value, sizeof value);
    return value % place_.unit == 0 ? value / place_.unit : std::numeric_limits<std::uint64_t>::max();
  }
  /// The index of the first number above `least`; numbers ascend.
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
  corpus::IndexedEnds place_;
  bool repeat_ = false;
};

/// One file of the stream.
struct DataSegment {
  MappedFile file;
  corpus::TokenFile layout;
  std::uint64_t begin;    ///< position of its first token in the stream
  MappedNumbers ends;     ///< ends of its documents
  MappedNumbers answers;  ///< begin and end of each range that is trained on; no file: all tokens are
};

/// The stream of `segments`, which are not empty and have `tokens` tokens in total. `bound`: upper bound of ids
/// (exclusive); 0: not known. `document_end`: a document also ends after each token with this id.
std::unique_ptr<TokenStream> make_mapped_stream(std::vector<DataSegment> segments, std::uint64_t tokens,
                                                std::uint64_t bound,
                                                std::optional<std::int64_t> document_end = std::nullopt);

}  // namespace titan::train
