#pragma once
// The exception for a lost peer. A dead or silent peer ends the job with exit code 3; the surviving ranks do not
// continue without it.
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "ckpt/base/status.h"

namespace titan::train {

/// A peer died or stayed silent past the deadline; the message names the peer if it is known.
struct CommError : std::runtime_error {
  explicit CommError(const std::string& message, std::vector<int> ranks = {})
      : CommError(ckpt::failed(message), std::move(ranks)) {}
  explicit CommError(ckpt::Status s, std::vector<int> ranks = {})
      : std::runtime_error(s.message), status(std::move(s)), lost(std::move(ranks)) {}
  ckpt::Status status;
  std::vector<int> lost;  ///< the ranks that are gone, silent or about to leave, if known
};

}  // namespace titan::train
