#include "libtrain/job/metrics/metrics_file.h"

#include <algorithm>

#include "ckpt/base/fs.h"
#include "ckpt/base/path.h"
#include "ckpt/base/text.h"
#include "ckpt/format/json_writer.h"
#include "libtrain/job/metrics/json_text.h"
#include "libtrain/job/metrics/metrics_scan.h"
#include "recipe/history/metrics_line.h"

namespace titan::train {
namespace {

using ckpt::File;
using ckpt::Status;

constexpr std::uint64_t kBuffer = 1 << 20;
constexpr auto kMayGo = BackgroundWriter::Keep::kWhileThereIsRoom;  // for frequent lines

/// Calls `take` with the bytes [begin, end) of `file` in order.
template <typename Take>
Status for_each_part(File& file, std::uint64_t begin, std::uint64_t end, Take take) {
  std::vector<std::byte> buffer(std::min(kBuffer, end - begin));
  while (begin < end) {
    const std::span<std::byte> part = std::span(buffer).first(std::min<std::uint64_t>(buffer.size(), end - begin));
    TITAN_RETURN_IF_ERROR(file.pread(begin, part));
    TITAN_RETURN_IF_ERROR(take(std::span<const std::byte>(part)));
    begin += part.size();
  }
  return ckpt::ok_status();
}

/// Appends bytes [begin, end) of `file` to the file `target`, durably.
Status keep_tail(ckpt::Fs& fs, File& file, std::uint64_t begin, std::uint64_t end, const std::string& target) {
  TITAN_ASSIGN_OR_RETURN(const std::unique_ptr<File> out, fs.open_update(target));
  TITAN_ASSIGN_OR_RETURN(std::uint64_t offset, out->size());
  TITAN_RETURN_IF_ERROR(for_each_part(file, begin, end, [&](std::span<const std::byte> part) {
    const Status written = out->pwrite(offset, part);
    offset += part.size();
    return written;
  }));
  TITAN_RETURN_IF_ERROR(out->datasync());
  return out->close();
}

}  // namespace

ckpt::Result<std::unique_ptr<MetricsFile>> MetricsFile::open(ckpt::Fs& fs, const std::string& path, std::uint64_t step,
                                                             std::uint32_t attempt) {
  TITAN_ASSIGN_OR_RETURN(std::unique_ptr<File> opened, fs.open_update(path));
  File& file = *opened;

  MetricsScan scan(step);
  TITAN_ASSIGN_OR_RETURN(const std::uint64_t size, file.size());
  TITAN_RETURN_IF_ERROR(for_each_part(file, 0, size, [&](std::span<const std::byte> part) {
    scan.feed(ckpt::text_of(part));
    return ckpt::ok_status();
  }));
  // The tail is stored elsewhere before it is cut here. A crash in between duplicates it, but never loses it.
  if (scan.cut() < scan.whole_lines()) {
    const std::string kept = path + ".attempt-" + std::to_string(attempt);
    TITAN_RETURN_IF_ERROR(keep_tail(fs, file, scan.cut(), scan.whole_lines(), kept));
  }
  TITAN_RETURN_IF_ERROR(fs.sync_dir(ckpt::parent_path(path)));
  if (scan.cut() < scan.size()) TITAN_RETURN_IF_ERROR(file.truncate(scan.cut()));
  std::unique_ptr<MetricsFile> metrics(new MetricsFile({fs, std::move(opened), path, scan.cut()}, attempt));
  if (!scan.late().empty()) TITAN_RETURN_IF_ERROR(metrics->file_.append(scan.late()));
  TITAN_RETURN_IF_ERROR(metrics->sync());
  return metrics;
}

std::string MetricsFile::line_start(std::uint64_t step) const {
  return std::string(recipe::kMetricsLineStart) + std::to_string(step) + ",\"time\":\"" + utc_now() +
         "\",\"attempt\":" + std::to_string(attempt_);
}

Status MetricsFile::step(const StepMetrics& metrics) {
  std::string line = line_start(metrics.step);
  line += ",\"loss\":" + json_number(metrics.loss) + ",\"max_loss\":" + json_number(metrics.max_loss) +
          ",\"grad_norm\":" + json_number(metrics.grad_norm);
  if (metrics.router_aux_loss) line += ",\"router_aux_loss\":" + json_number(*metrics.router_aux_loss);
  line += ",\"lr\":" + json_number(metrics.lr) + ",\"tokens\":" + std::to_string(metrics.tokens) +
          ",\"samples\":" + std::to_string(metrics.samples);
  line += ",\"tps\":" + json_number(metrics.tps) + ",\"tps_total\":" + json_number(metrics.tps_total) +
          ",\"time_s\":" + json_number(metrics.time_s);
  const StepTimes& times = metrics.times;
  const std::pair<const char*, double> parts[] = {{"data_s", times.data},         {"forward_s", times.forward},
                                                  {"backward_s", times.backward}, {"pipeline_s", times.pipeline},
                                                  {"exchange_s", times.exchange}, {"optimizer_s", times.optimizer},
                                                  {"gather_s", times.gather},     {"save_s", times.save}};
  for (const auto& [name, seconds] : parts) line += ",\"" + std::string(name) + "\":" + json_number(seconds);
  const std::pair<const char*, std::optional<double>> rates[] = {{"tflops", metrics.tflops}, {"mfu", metrics.mfu}};
  for (const auto& [name, value] : rates)
    if (value) line += ",\"" + std::string(name) + "\":" + json_number(*value);
  const std::pair<const char*, std::optional<std::uint64_t>> memory[] = {{"memory_bytes", metrics.memory.resident},
                                                                         {"tensor_bytes", metrics.memory.tensors}};
  for (const auto& [name, value] : memory)
    if (value) line += ",\"" + std::string(name) + "\":" + std::to_string(*value);
  return append(kMayGo, std::move(line));
}

Status MetricsFile::event(std::uint64_t step, std::string_view name, const EventFields& fields) {
  struct Text {
    std::string operator()(const std::string& value) const { return ckpt::json_string(value); }
    std::string operator()(double value) const { return json_number(value); }
    std::string operator()(std::uint64_t value) const { return std::to_string(value); }
    std::string operator()(bool value) const { return value ? "true" : "false"; }
  };
  std::string line = line_start(step) + ",\"event\":" + ckpt::json_string(name);
  for (const auto& [key, value] : fields) line += "," + ckpt::json_string(key) + ":" + std::visit(Text{}, value);
  return append(BackgroundWriter::Keep::kAlways, std::move(line));
}

Status MetricsFile::validation(const ValidationMetrics& metrics) {
  EventFields fields = {{"validation_loss", metrics.loss},
                        {"validation_tokens", metrics.tokens},
                        {"time_s", metrics.time_s},
                        {"tps", metrics.tps}};
  if (metrics.memory.resident) fields.emplace_back("memory_bytes", *metrics.memory.resident);
  return event(metrics.step, "validation", fields);
}

Status MetricsFile::parameter_norms(std::uint64_t step, const std::vector<std::string>& names,
                                    const std::vector<double>& norms) {
  std::string line = line_start(step) + R"(,"event":"parameter_norms","norms":{)";
  for (std::size_t i = 0; i < names.size(); ++i)
    line += (i == 0 ? "" : ",") + ckpt::json_string(names[i]) + ':' + json_number(norms[i]);
  return append(kMayGo, line + '}');
}

Status MetricsFile::append(BackgroundWriter::Keep keep, std::string line) {
  line += "}\n";
  if (background_ == nullptr) return file_.append(line);
  const std::size_t bytes = line.size();
  background_->add(keep, bytes,
                   [file = shared_from_this(), line = std::move(line)] { return file->file_.append(line); });
  return ckpt::ok_status();
}

Status MetricsFile::sync() { return file_.sync(); }
Status MetricsFile::close() { return file_.close(); }

}  // namespace titan::train
