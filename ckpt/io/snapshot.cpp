#include "ckpt/io/snapshot.h"

namespace titan::ckpt {

std::shared_ptr<const Ownership> ownership_of(const Snapshot& snapshot) {
  if (snapshot.ownership) return snapshot.ownership;
  return std::make_shared<const Ownership>(snapshot.parameters, snapshot.leaf_elements, snapshot.mesh);
}

}  // namespace titan::ckpt
