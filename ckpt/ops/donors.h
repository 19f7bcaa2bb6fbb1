#pragma once
// Donors: checkpoints from which the lost parts of a damaged one are taken. Bytes are accepted by their digest, so any
// step, copy or export may be a donor.
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ckpt/read/reader.h"

namespace titan::ckpt {

/// Whether `status` says that bytes are damaged or missing, or that the store cannot return them. A donor whose read
/// fails in this way is skipped; any other failure ends the call.
bool is_lost(const Status& status);

/// A lost leaf: its tensor, its position and its digest.
struct WantedLeaf {
  TensorRef ref;            ///< index and slot in the manifest of the damaged checkpoint
  std::uint64_t first = 0;  ///< index of its first element in the tensor
  Digest digest;            ///< digest of its raw bytes
};

/// The open donors of one repair.
class Donors {
 public:
  /// How much was taken from one donor.
  struct Contribution {
    std::string path;
    std::uint64_t leaves = 0, files = 0;
  };

  /// Opens the checkpoints that `specs` name (resolve_checkpoints()), each once, with `opener`. `resolve` turns the
  /// name of a checkpoint of another format into its path. \error kInvalid (more than 100), the errors of
  /// resolve_checkpoints() and of `opener`
  static Result<Donors> open(Fs& fs, const std::vector<std::string>& specs, const CheckpointOpener& opener,
                             const std::function<std::string(Fs& fs, const std::string& spec)>& resolve);

  /// Sets the manifest of the damaged checkpoint, which must outlive this object. Call it before the functions below.
  void look_for(const Manifest& lost) { lost_ = &lost; }
  std::size_t count() const { return all_.size(); }
  const std::vector<Contribution>& given() const { return given_; }
  /// Reads the leaf from the first donor that has bytes with its digest. Returns false if no donor has. \error kFailed
  Result<bool> leaf(const WantedLeaf& wanted, std::span<std::byte> out);
  /// Reads elements of a tensor from donor `index`, beginning with element `first`, without checking them. `ref` names
  /// the tensor in the damaged checkpoint. Returns false if the donor has no tensor of this name, type and shape, or
  /// cannot read it. \error kFailed
  Result<bool> elements(std::size_t index, const TensorRef& ref, std::uint64_t first, std::span<std::byte> out);
  /// The bytes of a JSON or derived member, from the first donor that has a file with its digest; nullopt if no donor
  /// has. \error kFailed
  Result<std::optional<std::vector<std::byte>>> member(const FileEntry& file);

 private:
  struct One {
    CheckpointReader reader;
    ParameterIndex names;  ///< of the reader's manifest, whose address stays when this object is moved
  };
  explicit Donors(Fs& fs) : fs_(&fs) {}
  Result<std::vector<std::byte>> read_member_of(const CheckpointReader& reader, const FileEntry& file) const;

  Fs* fs_;
  const Manifest* lost_ = nullptr;
  std::vector<One> all_;
  std::vector<Contribution> given_;
};

}  // namespace titan::ckpt
