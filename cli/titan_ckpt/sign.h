#pragma once
// `sign`, and `verify --key`.
#include <string>

#include "ckpt/ops/sign.h"
#include "cli/kit/output.h"
#include "cli/kit/verb.h"

namespace titan::cli {

Answer run_sign(const Request& request);
/// `verify CKPT --key PUB`.
Answer run_check_signature(const Request& request);
bool asks_for_signature(const Command& command);

}  // namespace titan::cli
