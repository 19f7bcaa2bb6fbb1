#pragma once
// The layout of a patch file, from which one checkpoint (the target) is rebuilt out of another (the base): a magic
// number, records, the head (PatchHead), and at the end the head's digest. \source ckpt/FORMAT.md, "Patch files"
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ckpt/base/hash.h"
#include "ckpt/base/result.h"

namespace titan::ckpt {
class File;
}  // namespace titan::ckpt

namespace titan::convert {

inline constexpr std::string_view kPatchMark = "TITANPCH";
inline constexpr std::uint64_t kPatchBegin = 16;   ///< bytes before the first record
inline constexpr std::uint64_t kPatchRecord = 56;  ///< size of a record without its stored bytes
inline constexpr std::uint64_t kPatchEnd = 32;     ///< bytes after the head
inline constexpr std::uint64_t kMostPatchHead = std::uint64_t{64} << 20;
inline constexpr std::size_t kMostPatchFiles = 100'000, kMostPatchTensors = std::size_t{1} << 20;
inline constexpr std::uint32_t kNoTensor = 0xffffffff;

/// The next bytes of the target, and how to reconstruct them.
struct PatchRecord {
  std::uint32_t tensor =
      kNoTensor;  ///< the base tensor that the bytes are coded against: an index into PatchHead::tensors
  std::uint32_t element_size = 1;
  std::uint64_t first = 0;   ///< first byte within that tensor
  std::uint32_t raw = 0;     ///< bytes of the target, at most ckpt::kMaxDifferencePiece
  std::uint32_t stored = 0;  ///< bytes of the encoded difference, which follow the record
  ckpt::Digest digest;       ///< digest of the target's bytes
  bool operator==(const PatchRecord&) const = default;
};

/// One of the two checkpoints.
struct PatchSide {
  std::string kind;  ///< "titan" or "hf"
  ckpt::Digest id;   ///< from the manifest, or of the contents (contents.h)
  bool operator==(const PatchSide&) const = default;
};

/// A file of the target.
struct PatchedFile {
  std::string path;  ///< in the target's folder
  std::uint64_t bytes = 0;
  bool operator==(const PatchedFile&) const = default;
};

/// A tensor of the base.
struct PatchTensor {
  std::string name;
  std::uint64_t bytes = 0;
  bool operator==(const PatchTensor&) const = default;
};

/// The description of the patch, stored after the records.
struct PatchHead {
  PatchSide base, target;
  bool one_file = false;   ///< the target is a file, not a folder
  std::uint64_t step = 0;  ///< the target's step, if it is a Titan checkpoint
  std::string writer;
  std::vector<PatchedFile> files;    ///< in the order of the records
  std::vector<PatchTensor> tensors;  ///< the base tensors that records refer to
  std::uint64_t bytes() const;       ///< of all files
  bool operator==(const PatchHead&) const = default;
};

/// The bytes before the first record.
std::string patch_begin();
/// Encodes a record, with a checksum of the record and of `stored`.
std::array<std::byte, kPatchRecord> encode_patch_record(const PatchRecord& record, std::span<const std::byte> stored);
/// Encodes the head and the end of the file, which follow the last record.
std::string encode_patch_end(const PatchHead& head);

/// Decodes a head. \error kCorrupt, kIncompatible (a newer version)
ckpt::Result<PatchHead> decode_patch_head(const std::string& what, std::string_view json);

/// Reads a patch from beginning to end; `what` names the patch in messages.
class PatchReader {
 public:
  /// \error kInvalid (not a patch), kUnsupported (another kind of file), kCorrupt, kIncompatible (newer), kFailed
  static ckpt::Result<PatchReader> open(std::unique_ptr<ckpt::File> file, const std::string& what);
  PatchReader(PatchReader&& other) noexcept;
  PatchReader& operator=(PatchReader&& other) noexcept;
  ~PatchReader();
  const PatchHead& head() const { return head_; }
  std::uint64_t bytes() const { return bytes_; }  ///< of the patch
  bool more() const { return at_ < end_; }
  /// Returns the next record, and its stored bytes in `stored`. \error kCorrupt, kFailed
  ckpt::Result<PatchRecord> next(std::vector<std::byte>& stored);

 private:
  PatchReader(std::unique_ptr<ckpt::File> file, std::string what);
  ckpt::Status damaged(const std::string& why) const;

  std::unique_ptr<ckpt::File> file_;
  std::string what_;
  PatchHead head_;
  std::uint64_t bytes_ = 0, at_ = kPatchBegin, end_ = 0;  // file size, next record's offset, head's offset
};

}  // namespace titan::convert
