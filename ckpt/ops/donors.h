#pragma once
// Checkpoints from which lost parts of another one are taken. A digest says what is equal, so any step, copy or export
// may be one.
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "ckpt/read/reader.h"

namespace titan::ckpt {

/// Where a tensor's leaf lies among its elements, and what it is.
struct WantedLeaf {
  TensorRef ref;            ///< in the manifest of the checkpoint that lost it
  std::uint64_t first = 0;  ///< element
  Digest digest;            ///< of its raw bytes
};

class Donors {
 public:
  /// How much one of them gave.
  struct Given {
    std::string path;
    std::uint64_t leaves = 0, files = 0;
  };

  /// Opens what `specs` name (resolve_checkpoints), each once. `lost`: the manifest of the damaged checkpoint, which
  /// outlives this. \error of opening one
  static Result<Donors> open(Fs& fs, const Manifest& lost, const std::vector<std::string>& specs,
                             const CheckpointOpener& opener,
                             const std::function<std::string(Fs& fs, const std::string& spec)>& resolve);

  std::size_t count() const { return all_.size(); }
  const std::vector<Given>& given() const { return given_; }
  /// Reads the leaf from the first donor whose bytes have the digest. False: none has. \error kFailed
  Result<bool> leaf(const WantedLeaf& wanted, std::span<std::byte> out);
  /// Reads elements from `first` on of the same tensor in donor `index`, whatever they are. False: it has no such
  /// tensor, or cannot give it. \error kFailed
  Result<bool> elements(std::size_t index, const TensorRef& ref, std::uint64_t first, std::span<std::byte> out);
  /// The bytes of a JSON or derived member, from the first donor that has them. None: no donor has. \error kFailed
  Result<std::optional<std::vector<std::byte>>> member(const FileEntry& file);

 private:
  struct One {
    CheckpointReader reader;
    ParameterIndex names;  ///< of its manifest, which stays where it is when this moves
  };
  Donors(Fs& fs, const Manifest& lost) : fs_(&fs), lost_(&lost) {}
  Result<std::vector<std::byte>> read_member_of(const CheckpointReader& reader, const FileEntry& file) const;

  Fs* fs_;
  const Manifest* lost_;
  std::vector<One> all_;
  std::vector<Given> given_;
};

}  // namespace titan::ckpt
