#include "tests/crash/disk.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "ckpt/base/hash.h"

namespace titan::crash {
namespace {

std::uint64_t mix(std::uint64_t x) {  // splitmix64
  x += 0x9E3779B97F4A7C15;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

std::uint64_t hash_text(std::string_view text) {
  std::uint64_t key = 0xcbf29ce484222325;
  for (const char c : text) key = (key ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return mix(key);
}

bool is_note(std::string_view name) { return name == "run.lock" || name == "lock"; }

}  // namespace

std::uint64_t Blob::hash() const {
  if (!hashed_) {
    std::memcpy(&hash_, ckpt::digest_of(std::string_view(bytes_)).bytes.data(), sizeof hash_);
    hashed_ = true;
  }
  return hash_;
}

std::string& Blob::edit() {
  hashed_ = false;
  return bytes_;
}

Disk::Disk() { add_folder(); }

Inode Disk::add_file() {
  static const auto empty = std::make_shared<Blob>("");
  nodes_.push_back({empty, nullptr});
  return static_cast<Inode>(nodes_.size() - 1);
}

Inode Disk::add_folder() {
  static const auto none = std::make_shared<Names>();
  nodes_.push_back({nullptr, none});
  return static_cast<Inode>(nodes_.size() - 1);
}

void Disk::grow_like(const Disk& like) {
  for (auto inode = static_cast<Inode>(nodes_.size()); inode < like.inodes(); ++inode) {
    if (like.node(inode).folder())
      add_folder();
    else
      add_file();
  }
}

std::string& Disk::edit_bytes(Inode file) {
  std::shared_ptr<Blob>& blob = nodes_[file].bytes;
  if (blob.use_count() != 1) blob = std::make_shared<Blob>(blob->bytes());
  return blob->edit();
}

Names& Disk::edit_names(Inode folder) {
  std::shared_ptr<Names>& names = nodes_[folder].names;
  if (names.use_count() != 1) names = std::make_shared<Names>(*names);
  return *names;
}

Inode Disk::find(const std::string& path) const {
  Inode at = kRoot;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    const std::string_view part = std::string_view(path).substr(begin, end - begin);
    begin = end + 1;
    if (part.empty() || part == ".") continue;
    if (!nodes_[at].folder()) return kNoInode;
    const auto found = nodes_[at].names->find(part);
    if (found == nodes_[at].names->end()) return kNoInode;
    at = found->second;
  }
  return at;
}

std::uint64_t Disk::hash(Inode inode, bool notes) const {
  const Node& node = nodes_[inode];
  if (!node.folder()) return node.bytes->hash();
  std::uint64_t sum = 0x70617468;
  for (const auto& [name, child] : *node.names) {
    const bool skip = !notes && is_note(name) && !nodes_[child].folder();
    sum = mix(sum ^ hash_text(name)) + (skip ? 1 : mix(hash(child, notes) + (nodes_[child].folder() ? 7 : 3)));
  }
  return mix(sum);
}

std::string Disk::listing(Inode inode, const std::string& path) const {
  const Node& node = nodes_[inode];
  if (!node.folder()) return path + "  " + std::to_string(node.bytes->bytes().size()) + " bytes\n";
  std::string text = path.empty() ? "" : path + "/\n";
  for (const auto& [name, child] : *node.names) text += listing(child, path + "/" + name);
  return text;
}

}  // namespace titan::crash
