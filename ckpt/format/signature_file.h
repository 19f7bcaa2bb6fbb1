#pragma once
// `signature.json`: a signature over the files of a checkpoint. It is not a member. \source FORMAT.md, "Signatures"
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ckpt/base/blake2b.h"
#include "ckpt/base/ed25519.h"

namespace titan::ckpt {

inline constexpr const char* kSignatureFile = "signature.json";
inline constexpr std::uint64_t kMostSignatureBytes = std::uint64_t{64} << 20;
inline constexpr std::uint64_t kSignedLeaf = std::uint64_t{1} << 20;  ///< bytes of a leaf of a signed file: the
                                                                      ///< unit of FileTree, not a leaf of a tensor

/// A file that a signature covers.
struct SignedFile {
  std::string path;
  std::uint64_t bytes = 0;
  Blake2bDigest digest;  ///< computed by FileTree
  bool operator==(const SignedFile&) const = default;
};

struct SignatureFile {
  PublicKey key{};
  Signature signature{};
  std::vector<SignedFile> files;  ///< in order of path
  bool operator==(const SignatureFile&) const = default;
};

/// The digest of a leaf of a file: BLAKE2b-256 of a zero byte followed by the leaf.
Blake2bDigest signed_leaf(std::span<const std::byte> leaf);
/// Computes the digest of a file of `bytes` bytes from the digests of its leaves, added in order.
class FileTree {
 public:
  explicit FileTree(std::uint64_t bytes);
  void leaf(const Blake2bDigest& digest) { hasher_.update(std::as_bytes(std::span(digest.bytes))); }
  Blake2bDigest digest() { return hasher_.digest(); }

 private:
  Blake2b hasher_;
};

/// The text that is signed.
std::string signed_text(const std::vector<SignedFile>& files);
std::string encode_signature(const SignatureFile& signature);
/// Reads `text`; `what` names it in messages. \error kCorrupt, kIncompatible (another version)
Result<SignatureFile> decode_signature(const std::string& what, std::string_view text);

}  // namespace titan::ckpt
