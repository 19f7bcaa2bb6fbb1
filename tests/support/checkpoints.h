#pragma once
// Checkpoints for tests: a model with awkward shapes, tensors whose bytes are a function of name and position, and a
// save that acts as all ranks.
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "ckpt/read/snapshot.h"
#include "ckpt/save/publish.h"
#include "ckpt/save/receipt.h"
#include "ckpt/save/tensor_stream.h"

namespace titan::ckpt {
class Fs;
}

namespace titan::ckpt::testing {

/// Hands out bytes that depend on (tensor name, leaf) only, so that every layout saves the same state.
class PatternSource final : public TensorSource {
 public:
  /// `salt` makes another state.
  explicit PatternSource(const Snapshot& snapshot, std::uint64_t salt = 0) : snapshot_(snapshot), salt_(salt) {}
  Result<std::span<const std::byte>> leaf(const TensorRef& ref, std::uint64_t leaf,
                                          std::span<std::byte> scratch) override;

 private:
  const Snapshot& snapshot_;
  std::uint64_t salt_;
};

/// The bytes that PatternSource gives for `leaves` of `ref`.
std::vector<std::byte> pattern(const Snapshot& snapshot, const TensorRef& ref, LeafRange leaves,
                               std::uint64_t salt = 0);

/// A small model: tensors of several leaves with short last ones, a scalar, one without elements.
std::vector<ParameterMeta> small_model();

/// A snapshot with every field set; stages are dealt out evenly in order.
Snapshot make_snapshot(std::vector<ParameterMeta> parameters, Mesh mesh, std::uint64_t leaf_elements,
                       std::uint64_t step = 40);

/// Writes as every rank in turn, up to the commit, into shared files if the snapshot has them. `as` is called before
/// each rank acts, with whether it writes its leaves; an error from it ends the save.
Result<std::vector<RankReceipt>> write_as_every_rank(
    Fs& fs, const std::string& tmp, const Snapshot& snapshot, TensorSource& source,
    const std::function<Status(std::uint32_t rank, bool writes)>& as = {});

/// Runs a whole save as every rank in turn. On an error the temporary is abandoned.
Result<Published> save(Fs& fs, const std::string& dir, const Snapshot& snapshot, TensorSource& source,
                       const std::string& save_id = "0123456789ab");

/// As save() with a PatternSource.
Result<Published> save(Fs& fs, const std::string& dir, const Snapshot& snapshot, std::uint64_t salt = 0);

}  // namespace titan::ckpt::testing
