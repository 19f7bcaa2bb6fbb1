#include "recipe/plan/calibration.h"

#include <optional>
#include <tuple>

#include "ckpt/format/json_fields.h"

namespace titan::recipe {
namespace {

using ckpt::JsonField;
using ckpt::Status;

constexpr std::string_view kSchema = "titan.gpu-check/2";

/// The parts of a report that a forecast can use.
struct Measured {
  std::string schema, device;
  bool rehearsal = false;
  std::optional<double> compute_share, link_share;
};

Status read(std::string_view text, const std::string& path, Measured& found) {
  ckpt::JsonReader in(path, text);
  const auto calibration = [&] {
    read_object(in, "calibration", JsonField{"device", found.device, false},
                JsonField{"compute_share", found.compute_share, false},
                JsonField{"link_share", found.link_share, false});
  };
  read_object(in, "report", JsonField{"schema", found.schema}, JsonField{"rehearsal", found.rehearsal},
              JsonField{"calibration", calibration});
  return in.finish();
}

}  // namespace

Status calibrate(DeviceFigures& figures, std::string_view text, const std::string& path) {
  const auto refuse = [&](const std::string& why) {
    return ckpt::invalid("'" + path + "' " + why)
        .with_hint("scripts/gpu-check writes one on a machine with a GPU (docs/gpu.md)");
  };
  Measured found;
  if (const Status status = read(text, path, found); !status.ok())
    return refuse("is no report of scripts/gpu-check: " + status.message);
  if (found.schema != kSchema)
    return refuse("has the schema \"" + found.schema + "\", expected \"" + std::string(kSchema) + "\"");
  if (found.rehearsal) return refuse("is of a rehearsal without a GPU");
  if (!found.compute_share && !found.link_share)
    return refuse("has no calibration: the check of a slice of 8B did not pass");
  if (found.device != figures.name) return refuse("is of the device " + found.device + ", the plan of " + figures.name);
  for (const auto& [share, place, measured] :
       {std::tuple(found.compute_share, &figures.compute_share, &figures.compute_measured),
        std::tuple(found.link_share, &figures.link_share, &figures.link_measured)}) {
    if (!share) continue;
    if (!(*share > 0) || *share > 1) return refuse("has a share that is not above 0 and at most 1");
    *place = *share;
    *measured = true;
  }
  return ckpt::ok_status();
}

}  // namespace titan::recipe
