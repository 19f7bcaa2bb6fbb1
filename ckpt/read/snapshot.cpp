#include "ckpt/read/snapshot.h"

namespace titan::ckpt {

std::shared_ptr<const Ownership> ownership_of(const Snapshot& snapshot) {
  if (snapshot.ownership) return snapshot.ownership;
  return std::make_shared<const Ownership>(snapshot.parameters, snapshot.leaf_elements, snapshot.mesh);
}

std::uint32_t maker_of(const Snapshot& snapshot, std::uint32_t rank) {
  return snapshot.makers.empty() || snapshot.codec != Codec::kRaw ? rank : snapshot.makers[rank];
}

bool shares_files(const Snapshot& snapshot) {
  for (std::uint32_t rank = 0; rank < snapshot.makers.size(); ++rank)
    if (maker_of(snapshot, rank) != rank) return true;
  return false;
}

}  // namespace titan::ckpt
