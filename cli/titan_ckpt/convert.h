#pragma once
// Prints the report of `titan-ckpt convert`.
#include <string>

#include "cli/kit/verb.h"
#include "converters/report.h"

namespace titan::cli {

std::string convert_text(const convert::ConversionReport& report, const TextStyle& style);

}  // namespace titan::cli
