#include "ckpt/base/random_id.h"

#include <unistd.h>

#include <cerrno>
#include <span>
#include <system_error>

#include "ckpt/base/hash.h"

namespace titan::ckpt {

std::uint64_t random_number() {
  std::uint64_t number = 0;
  if (::getentropy(&number, sizeof number) != 0) throw std::system_error(errno, std::generic_category(), "getentropy");
  return number;
}

std::string random_id() {
  const std::uint64_t number = random_number();
  return digest_of(std::as_bytes(std::span(&number, 1))).hex().substr(0, 12);
}

}  // namespace titan::ckpt
