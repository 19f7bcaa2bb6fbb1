#include "recipe/history/metrics_line.h"

#include <charconv>
#include <limits>

#include "ckpt/format/json_reader.h"

namespace titan::recipe {
namespace {

using ckpt::JsonReader;

/// Reads a number, or one of the texts that stand for numbers that JSON does not have (NaN, infinity).
std::optional<double> real(JsonReader& in) {
  if (in.peek() == '"') {
    const std::string_view text = in.text();
    if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
    if (text == "inf") return std::numeric_limits<double>::infinity();
    if (text == "-inf") return -std::numeric_limits<double>::infinity();
    return std::nullopt;
  }
  if (in.peek() != '-' && (in.peek() < '0' || in.peek() > '9')) {
    in.skip();
    return std::nullopt;
  }
  const std::string_view digits = in.number();
  double value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

std::string text(JsonReader& in) {
  if (in.peek() == '"') return std::string(in.text());
  in.skip();
  return {};
}

std::optional<double>* place_of(MetricsLine& line, std::string_view key) {
  if (key == "loss") return &line.loss;
  if (key == "grad_norm") return &line.grad_norm;
  if (key == "lr") return &line.lr;
  if (key == "tokens") return &line.tokens;
  if (key == "tps") return &line.tps;
  if (key == "tps_total") return &line.tps_total;
  if (key == "time_s") return &line.time_s;
  if (key == "dp") return &line.dp;
  if (key == "pp") return &line.pp;
  if (key == "validation_loss") return &line.validation_loss;
  if (key == "bytes") return &line.bytes;
  if (key == "seconds") return &line.seconds;
  if (key == "stall_s" || key == "stall_seconds" || key == "stall") return &line.stall_s;
  return nullptr;
}

}  // namespace

std::optional<MetricsLine> read_metrics_line(std::string_view line_text) {
  MetricsLine line;
  bool has_step = false;
  JsonReader in("a metrics line", line_text);
  in.object([&](std::string_view key) {
    if (key == "step") {
      line.step = in.u64();
      has_step = true;
    } else if (key == "attempt") {
      line.attempt = in.u32();
    } else if (key == "event") {
      line.event = text(in);
    } else if (key == "schedule") {
      line.schedule = text(in);
    } else if (key == "id") {
      line.id = text(in);
    } else if (key == "time") {
      line.time = text(in);
    } else if (std::optional<double>* place = place_of(line, key)) {
      *place = real(in);
    } else {
      in.skip();
    }
  });
  if (!in.finish().ok() || !has_step) return std::nullopt;
  return line;
}

}  // namespace titan::recipe
