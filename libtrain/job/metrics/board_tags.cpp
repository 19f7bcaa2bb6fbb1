#include "libtrain/job/metrics/board_tags.h"

// \source torchtitan v0.2.2, components/metrics.py and components/validate.py
namespace titan::train {
namespace {

constexpr double kGib = 1024.0 * 1024 * 1024;

void add_memory(std::vector<BoardScalar>& out, const std::string& prefix, const PeakMemory& memory) {
  if (memory.tensors) out.push_back({prefix + "memory/max_active(GiB)", static_cast<double>(*memory.tensors) / kGib});
  if (memory.resident)
    out.push_back({prefix + "memory/max_reserved(GiB)", static_cast<double>(*memory.resident) / kGib});
}

}  // namespace

std::vector<BoardScalar> board_scalars(const StepMetrics& metrics) {
  const StepTimes& times = metrics.times;
  std::vector<BoardScalar> out = {{"loss_metrics/global_avg_loss", metrics.loss},
                                  {"loss_metrics/global_max_loss", metrics.max_loss},
                                  {"grad_norm", metrics.grad_norm},
                                  {"lr", metrics.lr},
                                  {"n_tokens_seen", static_cast<double>(metrics.tokens)},
                                  {"throughput(tps)", metrics.tps}};
  if (metrics.router_aux_loss) out.push_back({"loss_metrics/router_aux_loss", *metrics.router_aux_loss});
  if (metrics.tflops) out.push_back({"tflops", *metrics.tflops});
  if (metrics.mfu) out.push_back({"mfu(%)", *metrics.mfu});
  out.push_back({"time_metrics/end_to_end(s)", metrics.time_s});
  out.push_back({"time_metrics/data_loading(s)", times.data});
  if (metrics.time_s > 0) out.push_back({"time_metrics/data_loading(%)", 100 * times.data / metrics.time_s});
  out.insert(out.end(), {{"time_metrics/forward(s)", times.forward},
                         {"time_metrics/backward(s)", times.backward},
                         {"time_metrics/pipeline(s)", times.pipeline},
                         {"time_metrics/exchange(s)", times.exchange},
                         {"time_metrics/optimizer(s)", times.optimizer},
                         {"time_metrics/gather(s)", times.gather},
                         {"time_metrics/save(s)", times.save}});
  add_memory(out, "", metrics.memory);
  return out;
}

std::vector<BoardScalar> board_scalars(const ValidationMetrics& metrics) {
  std::vector<BoardScalar> out = {{"validation_metrics/loss", metrics.loss},
                                  {"validation_metrics/throughput(tps)", metrics.tps}};
  add_memory(out, "validation_metrics/", metrics.memory);
  return out;
}

std::vector<BoardScalar> board_scalars(const SaveMetrics& metrics) {
  return {{"checkpoint/bytes", static_cast<double>(metrics.bytes)},
          {"checkpoint/seconds", metrics.seconds},
          {"checkpoint/snapshot_s", metrics.snapshot_s},
          {"checkpoint/stall_s", metrics.stall_s},
          {"checkpoint/write_s", metrics.write_s},
          {"checkpoint/publish_s", metrics.publish_s},
          {"checkpoint/durable_s", metrics.durable_s}};
}

}  // namespace titan::train
