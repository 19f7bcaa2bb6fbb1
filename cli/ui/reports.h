#pragma once
// Reports as text for people and as one JSON document for scripts, per verb. Pure: a report in, text out.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ckpt/model/shape_text.h"
#include "ckpt/ops/cat.h"
#include "ckpt/ops/diff.h"
#include "ckpt/ops/inspect.h"
#include "ckpt/ops/list.h"
#include "ckpt/ops/prune.h"
#include "ckpt/ops/reshard.h"
#include "ckpt/ops/stats.h"
#include "ckpt/ops/verify.h"
#include "cli/ui/json_out.h"
#include "cli/ui/terminal.h"
#include "converters/report.h"

namespace titan::ui {

/// How text reports are drawn.
struct TextStyle {
  Palette palette;
  bool exact_bytes = false;  ///< sizes as plain numbers
  std::int64_t now = 0;      ///< seconds since the epoch, for ages
};

std::string list_text(const ckpt::ListReport& report, const TextStyle& style);
std::string list_json(const ckpt::ListReport& report);

/// What of an InspectReport is shown beyond the summary.
struct InspectView {
  std::optional<std::string> tensors;                   ///< glob: list the tensors that match
  bool config = false;                                  ///< the resolved configuration
  std::optional<std::vector<ckpt::TensorStats>> stats;  ///< of the listed tensors, in their order
};
std::string inspect_text(const ckpt::InspectReport& report, const InspectView& view, const TextStyle& style);
std::string inspect_json(const ckpt::InspectReport& report, const InspectView& view);

std::string verify_text(const ckpt::VerifySummary& summary, const TextStyle& style);
std::string verify_json(const ckpt::VerifySummary& summary);

/// With `stats` means of the differences, too.
std::string diff_text(const ckpt::DiffReport& report, bool stats, const TextStyle& style);
std::string diff_json(const ckpt::DiffReport& report, bool stats);

std::string cat_text(const ckpt::CatReport& report, const TextStyle& style);
std::string cat_json(const ckpt::CatReport& report);

std::string convert_text(const convert::ConversionReport& report, const TextStyle& style);
std::string convert_json(const convert::ConversionReport& report);
std::string reshard_text(const ckpt::ReshardReport& report, const TextStyle& style);
std::string reshard_json(const ckpt::ReshardReport& report);

std::string prune_text(const ckpt::PruneReport& report, const TextStyle& style);
std::string prune_json(const ckpt::PruneReport& report);

/// Its hex digits; "-" for the zeros of a checkpoint of another format, which has none.
std::string digest_text(const ckpt::Digest& digest);
/// The same as JSON: hex digits or null.
void digest_json(JsonOut& json, std::string_view key, const ckpt::Digest& digest);
using ckpt::shape_text;
/// "12 elements changed; largest absolute error 0.5 in NAME at element 7".
std::string rounding_text(const ckpt::RoundingError& error, const std::string& tensor);
/// "changed", "overflowed", "largest_error", "tensor", "element" of the present object.
void rounding_json(JsonOut& json, const ckpt::RoundingError& error, const std::string& tensor);
/// "4x2": DP degree x PP degree.
std::string mesh_text(const ckpt::Mesh& mesh);
/// {"pp":..,"dp":..,"tp":..} under `key`.
void mesh_json(JsonOut& json, std::string_view key, const ckpt::Mesh& mesh);
/// [..] under `key`.
void shape_json(JsonOut& json, std::string_view key, const std::vector<std::uint64_t>& shape);
/// "phases": [{"first","kind","start","end","origin","length"}, ..].
void lr_phases_json(JsonOut& json, const std::vector<ckpt::LrPhase>& phases);
/// The settings that phases came from, under `key`.
void lr_settings_json(JsonOut& json, std::string_view key, const ckpt::LrSettings& settings);

}  // namespace titan::ui
