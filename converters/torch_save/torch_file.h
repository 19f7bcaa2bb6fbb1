#pragma once
// A torch.save file: the tree of its pickle, and the offsets of its tensors. Nothing is executed; objects of unknown
// classes become inert nodes.
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ckpt/base/result.h"
#include "ckpt/model/dtype.h"
#include "converters/pickle/item.h"

namespace titan::ckpt {
class File;
class Fs;
}  // namespace titan::ckpt

namespace titan::convert {

/// Elements that are contiguous in a file, row-major.
struct StoredTensor {
  std::string dtype;  ///< torch's name of the type
  std::vector<std::uint64_t> shape;
  std::uint64_t offset = 0;  ///< offset of the first element in the file, in bytes
  std::uint64_t elements = 0;
  std::uint32_t crc = 0;  ///< CRC-32 of its storage, from the archive
  bool operator==(const StoredTensor&) const = default;
};

/// Titan's type for the torch type `name`. `what` names the tensor. \error kUnsupported: Titan checkpoints cannot hold
/// it
ckpt::Result<ckpt::DType> dtype_of_torch(const std::string& what, const std::string& name);

/// An open file of torch.save.
class TorchFile {
 public:
  /// Opens the file at `path`. \error kNotFound, kCorrupt, kUnsupported (another kind of file, the form of torch before
  /// 1.6, big-endian tensors), kFailed
  static ckpt::Result<TorchFile> open(ckpt::Fs& fs, const std::string& path);
  /// Opens an archive within a file, at [offset, offset + length).
  static ckpt::Result<TorchFile> open_item(ckpt::Fs& fs, const std::string& path, std::uint64_t offset,
                                           std::uint64_t length);
  TorchFile(TorchFile&& other) noexcept;
  TorchFile& operator=(TorchFile&& other) noexcept;
  ~TorchFile();

  const std::string& path() const { return path_; }
  const Pickle& pickle() const { return pickle_; }
  /// The file name that was given to torch.save, without folder and extension; "archive" if it wrote to a stream.
  /// Renaming the file does not change it.
  const std::string& saved_as() const { return zip_->root(); }
  /// The value of `key` in the dict `node`. \error kCorrupt: missing, or `node` is not a dict
  ckpt::Result<NodeId> at(NodeId node, const std::string& key) const;
  /// The file offset and type of the tensor at `node`. \error kCorrupt: not a tensor, or it exceeds its storage;
  /// kUnsupported: its elements are not contiguous, or of a type that is not known
  ckpt::Result<StoredTensor> tensor(NodeId node) const;
  /// The number at `node`, or the element of the tensor of one element at `node`. \error kIncompatible: a value of
  /// another kind; kCorrupt, kUnsupported (tensor())
  ckpt::Result<double> number(NodeId node) const;

 private:
  TorchFile();
  ckpt::Status read(std::uint64_t offset, std::uint64_t length);
  std::string path_;
  std::unique_ptr<ckpt::File> file_;
  std::unique_ptr<ZipArchive> zip_;
  Pickle pickle_;
  mutable std::map<std::string, std::uint64_t> payloads_;  // file offsets of the storages used so far
};

}  // namespace titan::convert
