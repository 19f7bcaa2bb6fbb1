#pragma once
// Bytes in order: of a file, of a stream, and of what is packed in them with gzip or zstd.
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "ckpt/base/fs.h"
#include "ckpt/base/what_is_this.h"

namespace titan::corpus {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  /// Fills the beginning of `out`, which is not empty; returns how many bytes, 0 at the end.
  virtual ckpt::Result<std::size_t> read(std::span<char> out) = 0;
};

/// Calls it for each piece of a stream, as ByteSource::read.
using ReadBytes = std::function<ckpt::Result<std::size_t>(std::span<char> out)>;

std::unique_ptr<ByteSource> source_of(ReadBytes read);
/// The file `path`; links are followed. \error kInvalid: not there, no regular file; kFailed
ckpt::Result<std::unique_ptr<ByteSource>> file_source(ckpt::Fs& fs, const std::string& path);

/// A source whose beginning is known.
struct LookedAt {
  std::unique_ptr<ByteSource> source;  ///< from its first byte on
  ckpt::FileKind kind = ckpt::FileKind::kUnknown;
  bool json_lines = false;  ///< the first line is an object of JSON, or begins as one and is long
  bool marked = false;      ///< it begins with a byte order mark
  bool json = false;        ///< it begins as an object of JSON, or as a list of objects, lists or texts
};
/// Looks at how `source` begins; where it is packed with gzip or zstd, what is in it takes its place. All members and
/// frames are read, one behind the other. `name` stands in messages.
/// \error of the source; kCorrupt (by read(), too): damaged, cut off
ckpt::Result<LookedAt> look_into(const std::string& name, std::unique_ptr<ByteSource> source);

}  // namespace titan::corpus
