#include "ckpt/base/random_id.h"

#include <cstdint>
#include <random>
#include <span>

#include "ckpt/base/hash.h"

namespace titan::ckpt {

std::string random_id() {
  std::random_device device;
  const std::uint32_t words[] = {device(), device()};
  return digest_of(std::as_bytes(std::span(words))).hex().substr(0, 12);
}

}  // namespace titan::ckpt
