#pragma once
// Tensors that are stored in pieces in several files. Any range of elements can be read.
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "ckpt/model/dtype.h"
#include "converters/dcp/metadata.h"

namespace titan::ckpt {
class File;
class Fs;
}  // namespace titan::ckpt

namespace titan::convert {

/// Contiguous elements in a file.
struct Segment {
  std::uint32_t file = 0;    ///< the number that PieceFiles::add returned
  std::uint64_t offset = 0;  ///< in the file, in bytes
  std::uint64_t elements = 0;
  bool operator==(const Segment&) const = default;
};

/// A box of a tensor. Its elements, row-major, are stored in the concatenation of `segments`, beginning with element
/// `first` of the concatenation.
struct Box {
  std::vector<std::uint64_t> offsets, sizes;
  std::vector<Segment> segments;
  std::uint64_t first = 0;
};

/// A tensor and its pieces.
struct PiecedTensor {
  std::string name;  ///< for messages
  ckpt::DType dtype = ckpt::DType::kF32;
  std::vector<std::uint64_t> shape;
  std::vector<Box> pieces;
};

/// A piece that is a whole tensor of `shape`.
Box whole_piece(const std::vector<std::uint64_t>& shape, std::vector<Segment> segments, std::uint64_t first = 0);
/// Checks that the pieces are disjoint, fill the tensor, and have segments for all of it. \error kCorrupt
ckpt::Status check_pieces(const PiecedTensor& tensor);

/// The files that hold pieces; keeps a few open. Thread-safe.
class PieceFiles {
 public:
  explicit PieceFiles(ckpt::Fs& fs) : fs_(fs) {}
  /// Adds the file `path` and returns its number for Segment::file.
  std::uint32_t add(const std::string& path);
  /// Like add(), for a torch.save archive, whose storages have a CRC-32 each.
  std::uint32_t add_archive(const std::string& path);
  /// Whether all files are archives.
  bool all_archives() const { return archives_.size() == paths_.size(); }
  /// Reads elements of `tensor` from `first` on. \error kCorrupt, kFailed
  ckpt::Status read(const PiecedTensor& tensor, std::uint64_t first, std::span<std::byte> out) const {
    return read_boxes(tensor, first, out, false);
  }
  /// As read(), but first reads the whole archive storage and checks its CRC. \error kCorrupt: the CRC differs
  ckpt::Status read_checked(const PiecedTensor& tensor, std::uint64_t first, std::span<std::byte> out) const {
    return read_boxes(tensor, first, out, true);
  }
  /// Whether `count` elements of `exact` from `first` on, rounded to the type of `stored`, equal those of `stored`.
  /// \error kCorrupt, kFailed
  ckpt::Result<bool> rounds_to(const PiecedTensor& exact, const PiecedTensor& stored, std::uint64_t first,
                               std::uint64_t count) const;
  /// Checks the entries of the archives that read_checked() has not read. Calls `told(file, status)` for each entry;
  /// the status is kCorrupt if the CRC differs. \error kCorrupt, kFailed; errors of `told`
  ckpt::Status check_rest(const std::function<ckpt::Status(const std::string&, const ckpt::Status&)>& told) const;

 private:
  struct Archive;
  ckpt::Status read_boxes(const PiecedTensor& tensor, std::uint64_t first, std::span<std::byte> out, bool check) const;
  ckpt::Result<std::shared_ptr<Archive>> open_archive(std::uint32_t index) const;
  ckpt::Status check_storage(std::uint32_t index, std::uint64_t offset) const;
  ckpt::Result<std::shared_ptr<ckpt::File>> file(std::uint32_t index) const;
  ckpt::Status read_piece(const Box& piece, std::uint64_t unit, std::uint64_t first, std::span<std::byte> out,
                          bool check) const;

  ckpt::Fs& fs_;
  std::vector<std::string> paths_;
  std::map<std::string, std::uint32_t> numbers_;
  mutable std::mutex mutex_;
  mutable std::map<std::uint32_t, std::shared_ptr<ckpt::File>> open_;
  mutable std::mutex check_mutex_;                                      // taken before mutex_
  mutable std::map<std::uint32_t, std::shared_ptr<Archive>> archives_;  // null: not opened yet
};

}  // namespace titan::convert
