#pragma once
// `plan --device`: forecasts a run on GPUs from device specifications.
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
  train::FittingSearch fitting;  ///< if the run does not fit
};

/// The flags of `plan` for the figures of a GPU.
std::vector<Flag> device_flags();

/// The figures from the flags; nothing without --device. \error kInvalid
ckpt::Result<std::optional<recipe::DeviceFigures>> device_of(const Command& command);

ckpt::Result<DeviceReport> make_device_report(const recipe::Config& config, const recipe::RunPlan& plan,
                                              const recipe::DeviceFigures& device);

std::string device_text(const DeviceReport& report, const recipe::RunPlan& plan, const Palette& palette);
void device_json(JsonOut& json, const DeviceReport& report, const recipe::RunPlan& plan);

}  // namespace titan::cli
