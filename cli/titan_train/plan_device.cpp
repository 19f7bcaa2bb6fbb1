#include "cli/titan_train/plan_device.h"

#include "ckpt/base/files.h"
#include "ckpt/base/fs_posix.h"
#include "cli/kit/flag_values.h"
#include "cli/kit/units.h"
#include "recipe/plan/calibration.h"

namespace titan::cli {
namespace {

using ckpt::Result;
using ckpt::Status;

constexpr double kMost = 1e9;
constexpr std::uint64_t kLongestReport = 16 << 20;

/// A flag that replaces one of a GPU's specifications; its value is above 0 and at most `most`.
struct Figure {
  const char* flag;
  double recipe::DeviceFigures::*member;
  double most;
};

constexpr Figure kFigures[] = {
    {"nvlink", &recipe::DeviceFigures::nvlink_gb_s, kMost},
    {"nic", &recipe::DeviceFigures::nic_gb_s, kMost},
    {"memory-speed", &recipe::DeviceFigures::memory_gb_s, kMost},
    {"compute-share", &recipe::DeviceFigures::compute_share, 1},
    {"link-share", &recipe::DeviceFigures::link_share, 1},
};

Status replace(const Command& command, const char* flag, double most, double& figure) {
  return read_flag(command, flag, most == 1 ? "a share above 0, at most 1" : "a number above 0",
                   number_that<double>([=](double number) { return number > 0 && number <= most; }), figure);
}

Status check_alone(const Command& command) {
  for (const Flag& flag : device_flags()) {
    if (command.has(flag.name))
      return ckpt::invalid("`--" + flag.name + "` goes with --device")
          .with_hint("name the GPU: --device " + recipe::known_devices());
  }
  return ckpt::ok_status();
}

}  // namespace

std::vector<Flag> device_flags() {
  return {
      {"device", "NAME", "calculate for GPUs of this kind, from built-in figures: " + recipe::known_devices()},
      {"device-memory", "SIZE", "with --device: memory of a GPU"},
      {"memory-speed", "GB/s", "with --device: bandwidth of that memory"},
      {"tflops", "N", "with --device: dense peak in the type that the run computes in"},
      {"nvlink", "GB/s", "with --device: bandwidth of a GPU to others of its node, in one direction"},
      {"nic", "GB/s", "with --device: network bandwidth of a GPU to other nodes, in one direction"},
      {"gpus-per-node", "N", "with --device: GPUs per node (default: 8)"},
      {"calibration", "FILE",
       "with --device: report of scripts/gpu-check, with the shares that it measured on such a GPU"},
      {"compute-share", "SHARE", "with --device: reached share of the peak (default: 0.42)"},
      {"link-share", "SHARE", "with --device: reached share of link and memory bandwidth (default: 0.8)"},
  };
}

Result<std::optional<recipe::DeviceFigures>> device_of(const Command& command) {
  const auto name = command.value("device");
  if (!name) {
    TITAN_RETURN_IF_ERROR(check_alone(command));
    return std::optional<recipe::DeviceFigures>();
  }
  TITAN_ASSIGN_OR_RETURN(recipe::DeviceFigures figures, recipe::device_figures(*name));
  if (const auto path = command.value("calibration")) {
    TITAN_ASSIGN_OR_RETURN(const auto bytes, ckpt::read_file(ckpt::posix_fs(), *path, kLongestReport));
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    TITAN_RETURN_IF_ERROR(recipe::calibrate(figures, text, *path));
  }
  for (const Figure& figure : kFigures)
    TITAN_RETURN_IF_ERROR(replace(command, figure.flag, figure.most, figures.*figure.member));
  TITAN_RETURN_IF_ERROR(replace(command, "tflops", kMost, figures.bf16_tflops));
  if (command.has("tflops")) figures.fp32_tflops = figures.bf16_tflops;
  if (const auto text = command.value("device-memory")) {
    const auto bytes = parse_bytes(*text);
    if (!bytes || *bytes <= figures.reserve_bytes)
      return wrong_value("device-memory", *text, "a size above " + format_bytes(figures.reserve_bytes));
    figures.memory_bytes = *bytes;
  }
  TITAN_RETURN_IF_ERROR(
      read_flag(command, "gpus-per-node", "a whole number from 1 on", number_from(1u), figures.per_node));
  return std::optional(figures);
}

Result<DeviceReport> make_device_report(const recipe::Config& config, const recipe::RunPlan& plan,
                                        const recipe::DeviceFigures& device) {
  DeviceReport report;
  TITAN_ASSIGN_OR_RETURN(report.forecast, train::forecast_device(plan, device));
  if (!report.forecast.fits()) report.fitting = train::settings_that_fit(config, plan, device);
  return report;
}

}  // namespace titan::cli
