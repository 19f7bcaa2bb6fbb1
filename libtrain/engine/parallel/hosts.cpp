#include "libtrain/engine/parallel/hosts.h"

#include "ckpt/base/hash.h"
#include "ckpt/lock/lock_owner.h"

namespace titan::train {

std::vector<std::string> hosts_of_ranks(Control& all) {
  const ckpt::LockOwner self = ckpt::this_process();
  // Includes the host name: containers on one kernel may have different stores under one path. A digest, since every
  // rank gets that of every other.
  return all.all_gather(ckpt::digest_of(self.boot_id + "\n" + self.host).hex());
}

}  // namespace titan::train
