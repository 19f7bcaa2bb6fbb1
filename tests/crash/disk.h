#pragma once
// A file system as a value: inodes with bytes or names, shared between copies until one of them changes.
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace titan::crash {

using Inode = std::uint32_t;
inline constexpr Inode kNoInode = ~Inode{0};
inline constexpr Inode kRoot = 0;

/// The bytes of a file and their hash, which is computed once.
class Blob {
 public:
  explicit Blob(std::string bytes) : bytes_(std::move(bytes)) {}
  const std::string& bytes() const { return bytes_; }
  std::uint64_t hash() const;
  /// Only for the single owner of a blob.
  std::string& edit();

 private:
  std::string bytes_;
  mutable std::uint64_t hash_ = 0;
  mutable bool hashed_ = false;
};

using Names = std::map<std::string, Inode, std::less<>>;

struct Node {
  std::shared_ptr<Blob> bytes;   ///< of a file
  std::shared_ptr<Names> names;  ///< of a folder
  bool folder() const { return names != nullptr; }
};

/// Copies share everything; writing copies the one node that it changes.
class Disk {
 public:
  Disk();

  Inode add_file();
  Inode add_folder();
  /// Makes room for every inode below `count`: files without bytes where `like` has files, folders without names else.
  void grow_like(const Disk& like);
  std::size_t inodes() const { return nodes_.size(); }

  const Node& node(Inode inode) const { return nodes_[inode]; }
  const std::string& bytes(Inode file) const { return nodes_[file].bytes->bytes(); }
  const Names& names(Inode folder) const { return *nodes_[folder].names; }
  std::string& edit_bytes(Inode file);
  Names& edit_names(Inode folder);
  void set_blob(Inode file, std::shared_ptr<Blob> blob) { nodes_[file].bytes = std::move(blob); }
  std::shared_ptr<Blob> blob(Inode file) const { return nodes_[file].bytes; }

  /// The inode at an absolute path, or kNoInode.
  Inode find(const std::string& path) const;
  /// A hash of names and visible bytes below `inode`. Without `notes`, the content of lock files is excluded.
  std::uint64_t hash(Inode inode = kRoot, bool notes = true) const;
  /// Every path below `inode` with its size, one a line. For reports.
  std::string listing(Inode inode = kRoot, const std::string& path = "") const;

 private:
  std::vector<Node> nodes_;
};

}  // namespace titan::crash
