#pragma once
// Common code of writers for formats that hold only a model.
#include <optional>
#include <vector>

#include "ckpt/format/manifest.h"
#include "converters/format.h"
#include "converters/report.h"
#include "converters/skip.h"

namespace titan::convert {

/// The rows that describe the model of `source`, with those that the configuration `given` adds. The plan of a foreign
/// checkpoint has already used `given`. `untie`: the model is written untied. \error as agreed_rows
Result<Settings> model_rows(const CheckpointReader& source, const std::optional<Settings>& given, bool untie);

/// Whether the weights of a parameter are written: they exist, and `skip` does not skip them. Adds what is not written
/// to `report`; moments never are.
bool writes_weights(const ckpt::ParameterRecord& record, SkipRules& skip, std::vector<TensorReport>& report);

}  // namespace titan::convert
