#include "ckpt/ops/diff.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "ckpt/base/mutex.h"
#include "ckpt/base/parallel.h"
#include "ckpt/base/spares.h"
#include "ckpt/model/tensor_meta.h"
#include "ckpt/ops/leaf_runs.h"
#include "ckpt/read/reader.h"
#include "ckpt/run/run_resolve.h"

namespace titan::ckpt {

namespace {

std::string shape_text(const TensorRow& row) {
  return std::string(dtype_name(row.dtype)) + " " + ckpt::shape_text(row.shape);
}

struct Pair {
  TensorRow a, b;
};

// Bytes that a diff of tensors reads at a time from each side.
constexpr std::uint64_t kRunBytes = std::uint64_t{4} << 20;

std::vector<TensorRow> chosen(const Manifest& manifest, const DiffScope& scope) {
  std::vector<TensorRow> rows = tensor_rows(manifest);
  return scope.only.empty() ? rows : matching_rows(rows, scope.only);
}

/// Pairs the tensors of both sides by name and returns the pairs in the order of `a`; tensors of one side only go to
/// `out`. A component that one side lacks is one difference, not one per tensor, unless only tensors are compared.
std::vector<Pair> match(const Manifest& a, const Manifest& b, const DiffScope& scope, std::vector<Difference>& out) {
  std::unordered_map<std::string, TensorRow> others;
  std::vector<std::string> order;
  for (TensorRow& row : chosen(b, scope)) {
    order.push_back(row.name);
    others.emplace(row.name, std::move(row));
  }
  const auto told = [&](const Manifest& lacking, const std::string& component) {
    return scope.only.empty() && !lacking.component(component);
  };
  std::vector<Pair> pairs;
  for (TensorRow& row : chosen(a, scope)) {
    const auto other = others.find(row.name);
    if (other != others.end()) {
      pairs.push_back({std::move(row), std::move(other->second)});
      others.erase(other);
    } else if (!told(b, row.component)) {
      out.push_back({"tensor", row.name, shape_text(row), "absent", {}, row.component});
    }
  }
  std::sort(order.begin(), order.end());
  for (const std::string& name : order) {
    const auto row = others.find(name);
    if (row != others.end() && !told(a, row->second.component))
      out.push_back({"tensor", name, "absent", shape_text(row->second), {}, row->second.component});
  }
  return pairs;
}

/// Reads both sides of every pair, in runs of leaves; returns the distances in the order of the pairs.
class PairReader {
 public:
  PairReader(const CheckpointReader& a, const CheckpointReader& b, const std::vector<Pair>& pairs,
             const DiffOptions& options)
      : a_(a), b_(b), pairs_(pairs), options_(options) {
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      append_runs(runs_, i, {element_count(pairs[i].a.shape), a.manifest().leaf_elements}, dtype_size(pairs[i].a.dtype),
                  kRunBytes);
      total_ += pairs[i].a.bytes + pairs[i].b.bytes;
    }
  }

  Result<std::vector<TensorDistance>> run() {
    std::vector<TensorDistance> found(runs_.size());
    const Tolerance tolerance = options_.scope.tolerance.value_or(Tolerance{});
    TITAN_RETURN_IF_ERROR(parallel_for(runs_.size(), io_threads(options_.threads), [&](std::size_t i) -> Status {
      TITAN_RETURN_IF_ERROR(options_.cancel.check());
      const Pair& pair = pairs_[runs_[i].tensor];
      DistanceBuffers buffers = spares_.take();
      TITAN_ASSIGN_OR_RETURN(found[i],
                             leaf_distance(a_, pair.a.ref, runs_[i].leaves, b_, pair.b.ref, tolerance, buffers));
      spares_.give(std::move(buffers));
      count(found[i].elements * (dtype_size(pair.a.dtype) + dtype_size(pair.b.dtype)));
      return ok_status();
    }));
    // Merged in order, so that the last bits of sums do not depend on the number of threads.
    std::vector<TensorDistance> distances(pairs_.size());
    for (std::size_t i = 0; i < runs_.size(); ++i) merge_distance(distances[runs_[i].tensor], found[i]);
    return distances;
  }

 private:
  void count(std::uint64_t bytes) {
    const MutexLock lock(mutex_);
    done_ += bytes;
    if (options_.progress) options_.progress(done_, total_);
  }

  const CheckpointReader& a_;
  const CheckpointReader& b_;
  const std::vector<Pair>& pairs_;
  const DiffOptions& options_;
  std::vector<TensorRun> runs_;
  Spares<DistanceBuffers> spares_;
  Mutex mutex_;
  std::uint64_t done_ TITAN_GUARDED_BY(mutex_) = 0;
  std::uint64_t total_ = 0;
};

Status diff_tensors(const CheckpointReader& a, const CheckpointReader& b, const DiffOptions& options,
                    DiffReport& report) {
  std::vector<Pair> pairs = match(a.manifest(), b.manifest(), options.scope, report.differences);
  const bool digests_compare = !report.foreign && a.manifest().leaf_elements == b.manifest().leaf_elements;
  std::vector<Pair> to_read;
  std::vector<std::string> of_components;
  for (Pair& pair : pairs) {
    of_components.push_back(pair.a.component);
    const bool same_dtype = pair.a.dtype == pair.b.dtype;
    // With a tolerance, values are compared, so the dtypes may differ.
    const bool readable = same_dtype || (options.scope.tolerance && comparable_by_value(pair.a.dtype, pair.b.dtype));
    if (pair.a.shape != pair.b.shape || !readable) {
      report.differences.push_back(
          {"tensor", pair.a.name, shape_text(pair.a), shape_text(pair.b), {}, pair.a.component});
    } else if (digests_compare && same_dtype && pair.a.digest == pair.b.digest) {
      ++report.equal_tensors;
    } else {
      to_read.push_back(std::move(pair));
    }
  }
  TITAN_ASSIGN_OR_RETURN(std::vector<TensorDistance> distances, PairReader(a, b, to_read, options).run());
  for (std::size_t i = 0; i < to_read.size(); ++i) {
    if (distances[i].different == 0) {
      ++report.equal_tensors;
      continue;
    }
    const bool within = options.scope.tolerance && distances[i].beyond == 0;
    (within ? report.within : report.differences)
        .push_back({"tensor", to_read[i].a.name, to_read[i].a.digest.hex(), to_read[i].b.digest.hex(),
                    std::move(distances[i]), to_read[i].a.component});
  }
  std::vector<Difference> measured = report.differences;
  measured.insert(measured.end(), report.within.begin(), report.within.end());
  report.components = component_distances(of_components, measured);
  return ok_status();
}

/// Compares the state without tensors. With a scope, different leaf sizes are a note.
void diff_state(const InspectReport& a, const InspectReport& b, DiffReport& report) {
  std::size_t noted = 0;
  for (Difference& difference : state_differences(a, b)) {
    const bool layout = difference.kind == "leaf_elements";
    if (report.foreign) {
      if (!layout)
        report.notes.insert(report.notes.begin() + static_cast<std::ptrdiff_t>(noted++), std::move(difference));
    } else if (layout && (report.scope.tolerance || !report.scope.only.empty())) {
      difference.kind = "layout";
      report.notes.insert(report.notes.begin(), std::move(difference));
    } else if (report.scope.only.empty()) {
      report.differences.push_back(std::move(difference));
    }
  }
}

/// Inspects one side; an error names that side.
Result<InspectReport> inspect_side(Fs& fs, const std::string& spec, const CheckpointOpener& open) {
  const Result<std::string> folder = resolve_checkpoint(fs, spec);
  return about(inspect_checkpoint(fs, spec, open), folder.ok() ? *folder : spec);
}

}  // namespace

std::vector<ComponentDistance> component_distances(const std::vector<std::string>& pairs,
                                                   const std::vector<Difference>& measured) {
  std::vector<ComponentDistance> found;
  const auto entry = [&](const std::string& name) -> ComponentDistance* {
    const auto at = std::ranges::find(found, name, &ComponentDistance::name);
    return at == found.end() ? nullptr : &*at;
  };
  for (const std::string& name : pairs) {
    if (entry(name) == nullptr) found.push_back({name, 0, 0, {}});
    ++entry(name)->tensors;
  }
  for (const Difference& difference : measured) {
    ComponentDistance* component = entry(difference.component);
    if (component == nullptr || difference.a == "absent" || difference.b == "absent") continue;
    ++component->different;
    if (difference.distance) merge_distance(component->distance, *difference.distance);
  }
  return found;
}

Result<DiffReport> diff_checkpoints(Fs& fs, const DiffOptions& options) {
  TITAN_ASSIGN_OR_RETURN(const InspectReport a, inspect_side(fs, options.a, options.open));
  TITAN_ASSIGN_OR_RETURN(const InspectReport b, inspect_side(fs, options.b, options.open));
  DiffReport report;
  report.a = {a.path, a.manifest.id, a.manifest.step};
  report.b = {b.path, b.manifest.id, b.manifest.step};
  report.foreign = a.foreign || b.foreign;
  report.state_equal = !report.foreign && report.a.id == report.b.id;
  report.notes_count = options.notes_count;
  report.scope = options.scope;
  report.notes = diff_notes(a, b);
  report.not_compared = not_compared(a, b);
  if (!options.scope.only.empty() && chosen(a.manifest, options.scope).empty() &&
      chosen(b.manifest, options.scope).empty())
    return not_found("no tensor of either side matches `" + options.scope.only + "`")
        .with_hint(no_match_hint(tensor_rows(a.manifest), options.scope.only, options.a));
  if (report.state_equal) {
    report.equal_tensors =
        options.scope.only.empty() ? tensor_count(a.manifest) : chosen(a.manifest, options.scope).size();
    return report;
  }
  diff_state(a, b, report);
  TITAN_ASSIGN_OR_RETURN(const CheckpointReader reader_a, about(options.open(fs, a.path), a.path));
  TITAN_ASSIGN_OR_RETURN(const CheckpointReader reader_b, about(options.open(fs, b.path), b.path));
  TITAN_RETURN_IF_ERROR(diff_tensors(reader_a, reader_b, options, report));
  if (report.foreign && options.scope == DiffScope{}) report.state_equal = report.differences.empty();
  return report;
}

}  // namespace titan::ckpt
