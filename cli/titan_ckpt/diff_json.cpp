#include "cli/titan_ckpt/diff.h"

#include <cmath>

#include "cli/kit/json_out.h"
#include "cli/kit/values.h"

namespace titan::cli {
namespace {

using ckpt::Difference;
using ckpt::DiffReport;
using ckpt::DiffSide;

/// Null where nothing was measured: 0 would say that the values are close.
void measure_json(JsonOut& json, const char* key, const ckpt::TensorDistance& distance,
                  const std::optional<double>& value) {
  json.real(key, distance.measured() ? value : std::nullopt);
}

/// How large the difference is beside the tensors themselves; null where a side is all zeros.
void size_json(JsonOut& json, const ckpt::TensorDistance& t) {
  const auto finite = [&](const char* key, double value) {
    measure_json(json, key, t, std::isfinite(value) ? std::optional(value) : std::nullopt);
  };
  finite("norm", t.norm());
  finite("change", t.change());
  finite("cosine", t.cosine());
}

void list_json(JsonOut& json, const char* key, const std::vector<Difference>& items, bool stats) {
  json.each(key, items, [&](const Difference& d) {
    json.text("kind", d.kind);
    json.text("name", d.name);
    json.text("a", d.a);
    json.text("b", d.b);
    if (d.kind == "tensor") json.text("component", d.component);
    if (d.distance) {
      json.count("elements", d.distance->elements);
      json.count("different", d.distance->different);
      json.count("first_index", d.distance->first_index);
      json.text("first_a", d.distance->first_a);
      json.text("first_b", d.distance->first_b);
      json.count("non_finite", d.distance->non_finite);
      measure_json(json, "max_abs", *d.distance, d.distance->max_abs);
      measure_json(json, "max_rel", *d.distance, d.distance->max_rel);
      json.count("beyond_tolerance", d.distance->beyond);
      if (stats) {
        measure_json(json, "mean_abs", *d.distance, d.distance->mean_abs());
        measure_json(json, "rms", *d.distance, d.distance->rms());
      }
      size_json(json, *d.distance);
    }
  });
}

void side_json(JsonOut& json, const char* key, const DiffSide& s) {
  json.begin_object(key);
  json.path("path", s.path);
  digest_json(json, "id", s.id);
  json.count("step", s.step);
  json.end_object();
}

}  // namespace

std::string diff_json(const DiffReport& report, bool stats) {
  JsonOut json("titan.diff/1");
  json.flag("equal", report.equal());
  json.flag("state_equal", report.state_equal);
  side_json(json, "a", report.a);
  side_json(json, "b", report.b);
  json.count("equal_tensors", report.equal_tensors);
  if (!report.scope.only.empty()) json.text("only", report.scope.only);
  if (report.scope.tolerance) {
    json.real("rtol", report.scope.tolerance->rtol);
    json.real("atol", report.scope.tolerance->atol);
    list_json(json, "within_tolerance", report.within, stats);
  }
  list_json(json, "differences", report.differences, stats);
  json.each("components", report.components, [&](const ckpt::ComponentDistance& c) {
    json.text("name", c.name);
    json.count("tensors", c.tensors);
    json.count("different", c.different);
    size_json(json, c.distance);
  });
  list_json(json, "notes", report.notes, stats);
  if (!report.not_compared.empty()) {
    json.texts("not_compared", report.not_compared);
  }
  return json.document();
}

}  // namespace titan::cli
