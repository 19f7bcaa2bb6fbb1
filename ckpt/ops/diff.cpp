#include "ckpt/ops/diff.h"

#include <algorithm>
#include <map>

#include "ckpt/io/reader.h"
#include "ckpt/io/run_folder.h"

namespace titan::ckpt {

namespace {

std::string shape_text(const TensorRow& row) {
  std::string text = std::string(dtype_name(row.dtype)) + " [";
  for (std::size_t i = 0; i < row.shape.size(); ++i) text += (i > 0 ? ", " : "") + std::to_string(row.shape[i]);
  return text + "]";
}

struct Pair {
  TensorRow a, b;
};

/// The tensors of both sides by name: those only on one side go to `out`, the others are returned in the order of `a`.
/// A component that one side lacks altogether is one difference already, not one per tensor.
std::vector<Pair> match(const Manifest& a, const Manifest& b, std::vector<Difference>& out) {
  std::map<std::string, TensorRow> others;
  for (TensorRow& row : tensor_rows(b)) others.emplace(row.name, std::move(row));
  std::vector<Pair> pairs;
  for (TensorRow& row : tensor_rows(a)) {
    const auto other = others.find(row.name);
    if (other != others.end()) {
      pairs.push_back({std::move(row), std::move(other->second)});
      others.erase(other);
    } else if (b.component(row.component) != nullptr) {
      out.push_back({"tensor", row.name, shape_text(row), "absent", {}});
    }
  }
  for (const auto& [name, row] : others)
    if (a.component(row.component) != nullptr) out.push_back({"tensor", name, "absent", shape_text(row), {}});
  return pairs;
}

Status diff_tensors(const CheckpointReader& a, const CheckpointReader& b, const DiffOptions& options, DiffReport& report) {
  std::vector<Pair> pairs = match(a.manifest(), b.manifest(), report.differences);
  const bool digests_compare = a.manifest().leaf_elements == b.manifest().leaf_elements;
  std::vector<Pair> to_read;
  std::uint64_t total = 0, done = 0;
  for (Pair& pair : pairs) {
    if (pair.a.shape != pair.b.shape || pair.a.dtype != pair.b.dtype) {
      report.differences.push_back({"tensor", pair.a.name, shape_text(pair.a), shape_text(pair.b), {}});
    } else if (digests_compare && pair.a.digest == pair.b.digest) {
      ++report.equal_tensors;
    } else {
      total += pair.a.bytes + pair.b.bytes;
      to_read.push_back(std::move(pair));
    }
  }
  for (const Pair& pair : to_read) {
    const auto progress = [&](std::uint64_t bytes) {
      if (options.progress) options.progress(done + bytes, total);
    };
    TITAN_ASSIGN_OR_RETURN(TensorDistance distance, tensor_distance(a, pair.a.ref, b, pair.b.ref, progress, options.cancel));
    done += pair.a.bytes + pair.b.bytes;
    if (distance.different == 0) {
      ++report.equal_tensors;
    } else {
      report.differences.push_back({"tensor", pair.a.name, pair.a.digest.hex(), pair.b.digest.hex(), std::move(distance)});
    }
  }
  return ok_status();
}

}  // namespace

Result<DiffReport> diff_checkpoints(Fs& fs, const DiffOptions& options) {
  TITAN_ASSIGN_OR_RETURN(const InspectReport a, inspect_checkpoint(fs, options.a));
  TITAN_ASSIGN_OR_RETURN(const InspectReport b, inspect_checkpoint(fs, options.b));
  DiffReport report;
  report.a = {a.path, a.manifest.id, a.manifest.step};
  report.b = {b.path, b.manifest.id, b.manifest.step};
  report.state_equal = report.a.id == report.b.id;
  report.notes_count = options.notes_count;
  report.notes = diff_notes(a, b);
  if (report.state_equal) {
    report.equal_tensors = tensor_rows(a.manifest).size();
    return report;
  }
  report.differences = state_differences(a, b);
  TITAN_ASSIGN_OR_RETURN(const CheckpointReader reader_a, CheckpointReader::open(fs, a.path));
  TITAN_ASSIGN_OR_RETURN(const CheckpointReader reader_b, CheckpointReader::open(fs, b.path));
  TITAN_RETURN_IF_ERROR(diff_tensors(reader_a, reader_b, options, report));
  return report;
}

}  // namespace titan::ckpt
