#pragma once
// The bytes of a checkpoint's files, divided into runs of tensor elements and everything else.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ckpt/base/aligned_buffer.h"
#include "ckpt/base/cancel.h"
#include "ckpt/base/fs.h"
#include "ckpt/format/difference_codec.h"
#include "converters/format.h"
#include "converters/patch/patch_file.h"

namespace titan::convert {

inline constexpr std::uint64_t kPatchPiece = std::uint64_t{1} << 20;  ///< bytes of a patch's target encoded together

/// The number of threads that process pieces: ckpt::io_threads(wanted), at most 4, so that the threads' buffers fit
/// into 64 MiB: each thread needs 5 to 12 MiB for a piece, its base and the codec.
unsigned patch_threads(unsigned wanted);

/// Consecutive bytes of a file that are elements of one tensor, or no tensor data. `tensor` is kNoTensor if they are
/// not tensor data, or are compressed.
struct Region {
  std::uint64_t offset = 0, bytes = 0;
  std::uint32_t tensor = kNoTensor;  ///< index into Contents::tensors()
  std::uint64_t first = 0;           ///< first byte within the tensor
  bool operator==(const Region&) const = default;
};

/// A file of the checkpoint.
struct ContentFile {
  std::string path;  ///< in the folder; if the checkpoint is one file, the file's name
  std::uint64_t bytes = 0;
  std::vector<Region> regions;  ///< ascending, without gaps
};

/// A tensor of the checkpoint.
struct ContentTensor {
  std::string name;  ///< in Titan checkpoints prefixed with the component
  DType dtype = DType::kF32;
  std::uint64_t bytes = 0;
  std::uint64_t piece = kPatchPiece;  ///< bytes of a piece (the unit of reading): whole leaves
};

/// An open checkpoint: a Titan checkpoint, or safetensors in a folder or in one file. Reading is thread-safe.
class Contents {
 public:
  virtual ~Contents() = default;
  /// `access`: how files of tensors are read. \error kUnsupported (another format); errors of opening the checkpoint
  static Result<std::unique_ptr<Contents>> open(Fs& fs, const std::string& path,
                                                ckpt::Access access = ckpt::Access::kScan);

  const std::string& path() const { return path_; }
  const std::vector<ContentFile>& files() const { return files_; }
  const std::vector<ContentTensor>& tensors() const { return tensors_; }
  bool one_file() const { return one_file_; }
  std::uint64_t bytes() const;  ///< of all files
  /// Names of other files in the folder, which do not belong to the checkpoint.
  const std::vector<std::string>& others() const { return others_; }
  virtual const char* kind() const = 0;  ///< "titan" or "hf"
  virtual std::uint64_t step() const { return 0; }
  /// The id in the manifest of a Titan checkpoint. Empty for other checkpoints, whose id content_id() computes.
  virtual std::optional<ckpt::Digest> id() const { return {}; }
  /// Memory for one piece, rounded up at both ends to whole blocks of the store.
  static ckpt::AlignedBuffer piece_memory() {
    return ckpt::AlignedBuffer(ckpt::kMaxDifferencePiece + 2 * ckpt::kScanAlignment);
  }
  /// Reads `bytes` bytes of a tensor from byte `first` on into `memory` and returns them: whole elements, at most a
  /// piece. \error kCorrupt (a digest, in Titan checkpoints), kFailed
  virtual Result<std::span<const std::byte>> read_tensor(std::uint32_t tensor, std::uint64_t first, std::uint64_t bytes,
                                                         ckpt::AlignedBuffer& memory) const = 0;
  /// As read_tensor(), for bytes of files()[file] as stored.
  virtual Result<std::span<const std::byte>> read_file(std::size_t file, std::uint64_t offset, std::uint64_t bytes,
                                                       ckpt::AlignedBuffer& memory) const = 0;

 protected:
  explicit Contents(std::string path) : path_(std::move(path)) {}
  std::string path_;
  std::vector<ContentFile> files_;
  std::vector<ContentTensor> tensors_;
  std::vector<std::string> others_;
  bool one_file_ = false;
};

/// Calls `work(offset in the region, bytes)` for each piece of a region. Pieces begin at multiples of the piece size
/// from the beginning of the region's tensor.
template <typename Work>
Status each_piece(const Contents& contents, const Region& region, const Work& work) {
  const std::uint64_t step = region.tensor == kNoTensor ? kPatchPiece : contents.tensors()[region.tensor].piece;
  for (std::uint64_t at = 0; at < region.bytes;) {
    const std::uint64_t bytes = std::min(region.bytes - at, step - (region.first + at) % step);
    TITAN_RETURN_IF_ERROR(work(at, bytes));
    at += bytes;
  }
  return ckpt::ok_status();
}

/// Digests of pieces that were read already, by tensor and piece number (byte offset in the tensor / piece size).
using PieceDigests = std::vector<std::vector<ckpt::Digest>>;

/// The digest of names, sizes and bytes of all files, computed from the digests of their pieces. `known` is empty, or
/// has zero digests for pieces that must still be read; `threads` threads read and hash them. \error errors of reading
/// and of `cancel`
Result<ckpt::Digest> content_id(const Contents& contents, const PieceDigests& known, const ckpt::CancelToken& cancel,
                                unsigned threads = 1);

/// Computes content_id() from digests that arrive in the order of files and pieces.
class ContentId {
 public:
  void begin_file(const std::string& path, std::uint64_t bytes);
  void piece(const ckpt::Digest& digest) { hasher_.update(std::as_bytes(std::span(digest.bytes))); }
  ckpt::Digest finish();

 private:
  void end_file();
  ckpt::IdentityEncoder files_;
  ckpt::Hasher hasher_;
  bool open_ = false;
};

}  // namespace titan::convert
