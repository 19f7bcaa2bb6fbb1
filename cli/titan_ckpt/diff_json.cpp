#include "cli/titan_ckpt/diff.h"

#include <cmath>

#include "cli/kit/json_out.h"
#include "cli/kit/values.h"

namespace titan::cli {
namespace {

using ckpt::Difference;
using ckpt::DiffReport;
using ckpt::DiffSide;

/// Writes norm, relative change and cosine of a difference. Null: not measured, or not finite (a side is all zeros).
void size_json(JsonOut& json, const ckpt::TensorDistance& t) {
  const auto finite = [&](double value) {
    return t.measured() && std::isfinite(value) ? std::optional(value) : std::nullopt;
  };
  json.members("norm", finite(t.norm()), "change", finite(t.change()), "cosine", finite(t.cosine()));
}

void list_json(JsonOut& json, const char* key, const std::vector<Difference>& items, bool stats) {
  json.each(key, items, [&](const Difference& d) {
    json.members("kind", d.kind, "name", d.name, "a", d.a, "b", d.b);
    if (d.kind == "tensor") json.text("component", d.component);
    if (d.distance) {
      // Null if nothing was measured: 0 would mean that the values are close.
      const auto measure = [&](double value) { return d.distance->measured() ? std::optional(value) : std::nullopt; };
      json.members("elements", d.distance->elements, "different", d.distance->different);
      json.members("first_index", d.distance->first_index, "first_a", d.distance->first_a);
      json.members("first_b", d.distance->first_b, "non_finite", d.distance->non_finite);
      json.members("max_abs", measure(d.distance->max_abs), "max_rel", measure(d.distance->max_rel));
      json.members("beyond_tolerance", d.distance->beyond);
      if (stats) json.members("mean_abs", measure(d.distance->mean_abs()), "rms", measure(d.distance->rms()));
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
  json.members("equal", report.equal(), "state_equal", report.state_equal && report.not_compared.empty());
  side_json(json, "a", report.a);
  side_json(json, "b", report.b);
  json.count("equal_tensors", report.equal_tensors);
  if (!report.scope.only.empty()) json.text("only", report.scope.only);
  if (report.scope.tolerance) {
    json.members("rtol", report.scope.tolerance->rtol, "atol", report.scope.tolerance->atol);
    list_json(json, "within_tolerance", report.within, stats);
  }
  list_json(json, "differences", report.differences, stats);
  json.each("components", report.components, [&](const ckpt::ComponentDistance& c) {
    json.members("name", c.name, "tensors", c.tensors, "different", c.different);
    size_json(json, c.distance);
  });
  list_json(json, "notes", report.notes, stats);
  if (!report.not_compared.empty()) json.list("not_compared", report.not_compared);
  return json.document();
}

}  // namespace titan::cli
