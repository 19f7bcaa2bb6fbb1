#pragma once
// Sequential bytes of a file or a stream, which may be compressed with gzip or zstd.
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "ckpt/base/file_kind.h"
#include "ckpt/base/result.h"

namespace titan::ckpt {
class Fs;
}

namespace titan::corpus {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  /// Fills the beginning of `out`, which must not be empty. Returns the number of bytes, 0 at the end.
  virtual ckpt::Result<std::size_t> read(std::span<char> out) = 0;
};

/// Reads the next piece of a stream, like ByteSource::read.
using ReadBytes = std::function<ckpt::Result<std::size_t>(std::span<char> out)>;

std::unique_ptr<ByteSource> source_of(ReadBytes read);
/// Opens the file `path`; follows links. \error kInvalid: it does not exist, or is not a regular file; kFailed
ckpt::Result<std::unique_ptr<ByteSource>> file_source(ckpt::Fs& fs, const std::string& path);

/// A source whose beginning was examined.
struct LookedAt {
  std::unique_ptr<ByteSource> source;  ///< from its first byte on
  ckpt::FileKind kind = ckpt::FileKind::kUnknown;
  bool json_lines = false;  ///< the first line is a JSON object, or begins like one and is long
  bool marked = false;      ///< it begins with a byte order mark (BOM)
  bool json = false;        ///< it begins like a JSON object, or like a list of objects, lists or strings
};
/// Examines how `source` begins. If it is compressed with gzip or zstd, the result reads the decompressed bytes of all
/// members and frames, one after the other. `name` is for messages. \error those of the source; kCorrupt (also by
/// read()): damaged, incomplete
ckpt::Result<LookedAt> look_into(const std::string& name, std::unique_ptr<ByteSource> source);

}  // namespace titan::corpus
