#include "cli/kit/values.h"
#include "cli/titan_ckpt/patch.h"

namespace titan::cli {
namespace {

void side_json(JsonOut& json, const char* key, const convert::PatchSide& side, const std::string& path) {
  json.begin_object(key);
  json.path("path", path);
  json.members("format", side.kind);
  digest_json(json, "id", side.id);
  json.end_object();
}

}  // namespace

std::string patch_json(const convert::PatchReport& report) {
  JsonOut json("titan.patch/1");
  json.path("patch", report.output);
  side_json(json, "base", report.base_side, report.base);
  side_json(json, "target", report.target_side, report.target);
  json.members("target_bytes", report.target_bytes, "patch_bytes", report.patch_bytes, "tensors", report.tensors,
               "equal_tensors", report.equal_tensors, "whole_tensors", report.whole_tensors, "notes", report.notes);
  return json.document();
}

std::string apply_json(const convert::ApplyReport& report) {
  JsonOut json("titan.apply/1");
  json.path("base", report.base);
  json.path("patch", report.patch);
  json.path("destination", report.output);
  json.members("format", report.target.kind);
  digest_json(json, "id", report.target.id);
  json.members("bytes", report.bytes, "patch_bytes", report.patch_bytes, "files", report.files, "notes", report.notes);
  return json.document();
}

}  // namespace titan::cli
