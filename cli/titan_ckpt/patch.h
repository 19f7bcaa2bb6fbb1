#pragma once
// `patch` and `apply`: one checkpoint from another, by what differs.
#include <string>

#include "cli/kit/output.h"
#include "cli/kit/verb.h"
#include "converters/patch/apply_patch.h"
#include "converters/patch/make_patch.h"

namespace titan::cli {

Answer run_patch(const Request& request);
Answer run_apply(const Request& request);
std::string patch_text(const convert::PatchReport& report, const TextStyle& style);
std::string patch_json(const convert::PatchReport& report);
std::string apply_text(const convert::ApplyReport& report, const TextStyle& style);
std::string apply_json(const convert::ApplyReport& report);

}  // namespace titan::cli
