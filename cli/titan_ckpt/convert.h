#pragma once
#include <string>

#include "cli/kit/verb.h"
#include "converters/report.h"

namespace titan::cli {

std::string convert_text(const convert::ConversionReport& report, const TextStyle& style);
std::string convert_json(const convert::ConversionReport& report);

}  // namespace titan::cli
