#pragma once
// `plan --device`: forecasts memory and speed of a run on GPUs from their specifications, without a GPU.
#include <optional>
#include <string>

#include "cli/kit/command_line.h"
#include "cli/kit/json_out.h"
#include "cli/kit/terminal.h"
#include "libtrain/job/forecast/device_forecast.h"
#include "libtrain/job/forecast/fit_device.h"

namespace titan::cli {

struct DeviceReport {
  train::DeviceForecast forecast;
  train::FittingSearch fitting;  ///< settings that would fit, if the run does not fit the GPUs' memory
};

/// The flags of `plan` that describe a GPU: --device, and those that replace one of its specifications.
std::vector<Flag> device_flags();

/// The GPU that the flags describe; nullopt without --device. \error kInvalid: an unknown GPU or a wrong number
ckpt::Result<std::optional<recipe::DeviceFigures>> device_of(const Command& command);

/// The forecast for `device`. \error as train::forecast_device
ckpt::Result<DeviceReport> make_device_report(const recipe::Config& config, const recipe::RunPlan& plan,
                                              const recipe::DeviceFigures& device);

std::string device_text(const DeviceReport& report, const recipe::RunPlan& plan, const Palette& palette);
void device_json(JsonOut& json, const DeviceReport& report, const recipe::RunPlan& plan);

}  // namespace titan::cli
