#pragma once
// What the writers of formats that hold a model alone begin with.
#include <optional>
#include <vector>

#include "ckpt/format/manifest.h"
#include "converters/format.h"
#include "converters/report.h"
#include "converters/skip.h"

namespace titan::convert {

/// The rows that say the model of `source`, with what the configuration `given` adds; the plan of a foreign checkpoint
/// has already used that. `untie`: the model is written untied. \error as agreed_rows
Result<Settings> model_rows(const CheckpointReader& source, const std::optional<Settings>& given, bool untie);

/// Whether the weights of a parameter are written: they are there, and `skip` does not take them. `report` gets what is
/// not: its moments always.
bool writes_weights(const ckpt::ParameterRecord& record, SkipRules& skip, std::vector<TensorReport>& report);

}  // namespace titan::convert
