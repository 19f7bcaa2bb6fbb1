#include "cli/kit/json_out.h"
#include "cli/kit/values.h"
#include "cli/titan_ckpt/repair.h"

namespace titan::cli {

std::string repair_json(const ckpt::RepairReport& report) {
  JsonOut json("titan.repair/1");
  json.path("source", report.src);
  json.path("destination", report.dst);
  json.members("written", report.written, "step", report.step);
  digest_json(json, "id", report.id);
  json.members("places", report.places, "files", report.files, "by_parity", report.by_parity);
  json.each("from", report.given, [&](const ckpt::Donors::Given& given) {
    json.path("path", given.path);
    json.members("leaves", given.leaves, "files", given.files);
  });
  json.each("lost", report.lost, [&](const ckpt::Damage& place) {
    json.path("file", place.file);
    json.members("unit", place.unit, "tensor", place.tensor, "leaf", place.leaf, "bytes", place.bytes, "detail",
                 place.detail);
  });
  json.members("not_named", report.not_named, "warnings", report.warnings);
  return json.document();
}

}  // namespace titan::cli
