#include "libtrain/engine/parallel/hosts.h"

#include "ckpt/base/hash.h"
#include "ckpt/lock/lock_owner.h"

namespace titan::train {

std::vector<std::string> hosts_of_ranks(Control& all) {
  const ckpt::LockOwner self = ckpt::this_process();
  // The host name is included, since containers on one host may have different file systems under one path. A digest
  // keeps the message short, since every rank receives that of every other.
  return all.all_gather(ckpt::digest_of(self.boot_id + "\n" + self.host).hex());
}

}  // namespace titan::train
