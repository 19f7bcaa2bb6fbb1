#include "ckpt/ops/merge.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <set>

#include "ckpt/base/aligned_buffer.h"
#include "ckpt/base/parallel.h"
#include "ckpt/base/path.h"
#include "ckpt/base/quoting.h"
#include "ckpt/format/manifest_builder.h"
#include "ckpt/format/member_names.h"
#include "ckpt/model/tensor_meta.h"
#include "ckpt/ops/convert_dtype.h"
#include "ckpt/ops/derive.h"
#include "ckpt/ops/plain_rope.h"
#include "ckpt/ops/weighted_sum.h"
#include "ckpt/plan/lr_settings.h"
#include "ckpt/plan/same_files.h"
#include "ckpt/read/range_reader.h"
#include "ckpt/read/virtual_model.h"
#include "ckpt/run/run_resolve.h"
#include "ckpt/save/component_writer.h"
#include "ckpt/save/rewrite.h"

namespace titan::ckpt {
namespace {

constexpr std::size_t kMostSources = 1000;  // their manifests are in memory
constexpr unsigned kMostReaders = 6;        // each holds a leaf of sums, of a source and of the result: 4 MiB of fp32
constexpr unsigned kWriters = 2;            // hash and write at the same time

/// An open source. `order` is its index among the arguments.
struct Opened {
  CheckpointReader reader;
  std::size_t order = 0;
  double weight = 0;
  const Manifest& manifest() const { return reader.manifest(); }
};

Status check_source(const CheckpointReader& reader) {
  const std::vector<ParameterRecord>& all = reader.manifest().parameters;
  if (reader.manifest().component(kModel) != nullptr &&
      std::all_of(all.begin(), all.end(), [](const ParameterRecord& one) { return one.model.has_value(); }))
    return ok_status();
  return incompatible(reader.path() + " has no parameters to merge");
}

Result<std::vector<Opened>> open_sources(Fs& fs, const MergeOptions& options) {
  std::vector<Opened> sources;
  std::set<std::string> seen;
  for (const std::string& spec : options.sources) {
    const std::string named = options.resolve ? options.resolve(fs, spec) : spec;
    TITAN_ASSIGN_OR_RETURN(const std::vector<std::string> found, resolve_checkpoints(fs, named));
    for (const std::string& path : found) {
      if (sources.size() == kMostSources)
        return invalid("there are more than " + std::to_string(kMostSources) + " sources");
      TITAN_ASSIGN_OR_RETURN(CheckpointReader reader, options.open(fs, path));
      TITAN_RETURN_IF_ERROR(check_source(reader));
      const std::string identity = reader.foreign() ? lasting_path(fs, path) : reader.manifest().id.hex();
      if (!seen.insert(identity).second)
        return invalid(path + " is there twice among the sources: each counts once")
            .with_hint("--weights says how much each one counts");
      sources.push_back({std::move(reader), sources.size()});
      TITAN_RETURN_IF_ERROR(options.cancel.check());
    }
  }
  if (sources.size() < 2)
    return invalid("there is nothing to merge with " + (sources.empty() ? "" : sources[0].reader.path()))
        .with_hint("name two checkpoints or more: RUN@300..400 is every step of RUN from 300 to 400");
  return sources;
}

// Configuration keys that change what a model with the same tensors computes.
constexpr const char* kFunctionKeys[] = {"model.n_heads",
                                         "model.n_kv_heads",
                                         "model.head_dim",
                                         "model.norm_eps",
                                         "model.rope_theta",
                                         "model.rope_scaling",
                                         "model.qkv_bias",
                                         "model.qk_norm",
                                         "model.tied_embeddings",
                                         "model.sliding_window",
                                         "model.sliding_window_layers",
                                         "model.experts_per_token",
                                         "model.route_norm"};

std::string tensor_text(const ParameterRecord& record) {
  return shape_text(record.meta.shape) + " " + std::string(dtype_name(record.model->dtype));
}

/// Checks that `other` has the model of `base`. \error kIncompatible, which names the first tensor or key that differs
Status check_same_model(const CheckpointReader& base, const CheckpointReader& other) {
  const auto differs = [&](const std::string& what) {
    return incompatible(other.path() + " is another model than " + base.path() + ": " + what);
  };
  const Manifest &a = base.manifest(), &b = other.manifest();
  const ParameterIndex names(b);
  for (const ParameterRecord& mine : a.parameters) {
    const std::optional<std::uint32_t> at = names.find(mine.meta.name);
    if (!at) return differs("it has no tensor " + mine.meta.name);
    const ParameterRecord& theirs = b.parameters[*at];
    if (mine.meta.shape == theirs.meta.shape && mine.model->dtype == theirs.model->dtype) continue;
    Status status = differs(mine.meta.name + " is " + tensor_text(theirs) + ", expected " + tensor_text(mine));
    if (mine.meta.shape != theirs.meta.shape) return status;
    return status.with_hint("`titan-ckpt strip SRC DST --keep model --dtype f32` makes types equal");
  }
  const ParameterIndex known(a);
  for (const ParameterRecord& theirs : b.parameters)
    if (!known.find(theirs.meta.name)) return differs("it has a tensor more, " + theirs.meta.name);
  const Settings ours = with_plain_rope(a.config), others = with_plain_rope(b.config);
  for (const char* key : kFunctionKeys) {
    const std::string mine = setting(ours, key), theirs = setting(others, key);
    if (mine != kNotSet && theirs != kNotSet && mine != theirs)
      return differs(std::string(key) + " is " + theirs + ", expected " + mine);
  }
  return ok_status();
}

/// Sorts the sources in the order of summation and sets their weights. \error kInvalid
Status weigh(const MergeWeights& weights, std::vector<Opened>& sources) {
  if (!weights.given.empty() && weights.given.size() != sources.size())
    return invalid("--weights has " + std::to_string(weights.given.size()) + " weights for " +
                   std::to_string(sources.size()) + " sources");
  for (std::size_t i = 0; i < weights.given.size(); ++i) sources[i].weight = weights.given[i];
  std::sort(sources.begin(), sources.end(), [](const Opened& a, const Opened& b) {
    const auto key = [](const Opened& one) {
      return std::make_tuple(one.manifest().step, one.manifest().id.hex(), one.order);
    };
    return key(a) < key(b);
  });
  std::vector<std::uint64_t> steps;
  for (const Opened& source : sources) steps.push_back(source.manifest().step);
  const auto same = std::adjacent_find(steps.begin(), steps.end());
  const bool ordered = weights.decay.has_value() || weights.ema.has_value();
  if (ordered && same != steps.end())
    return invalid((*same == 0 ? "two sources have no step" : "two sources are at step " + std::to_string(*same)) +
                   ": these weights follow the order of steps")
        .with_hint("--weights mean, or one number for each source, needs no order");
  std::vector<double> all;
  if (weights.decay) {
    all = decay_weights(*weights.decay, steps);
  } else if (weights.ema) {
    all = ema_weights(*weights.ema, steps.size());
  } else if (weights.given.empty()) {
    all = mean_weights(steps.size());
  } else {
    for (const Opened& source : sources) all.push_back(source.weight);
    TITAN_ASSIGN_OR_RETURN(all, normalised(std::move(all)));
  }
  for (std::size_t i = 0; i < all.size(); ++i) sources[i].weight = all[i];
  return ok_status();
}

/// Records the decay that the weights imitate, if the sources are at different steps.
void note_decay(const std::vector<Opened>& sources, MergeReport& report) {
  std::vector<std::uint64_t> steps;
  std::vector<double> weights;
  std::set<std::string> folders;
  for (const Opened& source : sources) {
    steps.push_back(source.manifest().step);
    weights.push_back(source.weight);
    folders.insert(parent_path(report.sources[steps.size() - 1].path));
  }
  if (std::adjacent_find(steps.begin(), steps.end()) != steps.end()) return;
  report.factors = decay_factors(weights);
  report.nearest = nearest_decay(steps, report.factors);
  if (folders.size() > 1)
    report.notes.push_back("the sources are in " + std::to_string(folders.size()) +
                           " folders: the decay holds if they are steps of one run");
  const CheckpointReader& newest = sources.back().reader;
  const Result<LrSchedule> schedule = newest.lr_schedule();
  if (!schedule.ok() || schedule->phases.empty())
    return report.notes.push_back("the rates are not known: " + report.sources.back().path +
                                  " has no learning-rate curve" +
                                  (newest.foreign() || newest.manifest().component(kLrScheduler) != nullptr
                                       ? ""
                                       : " (it keeps the model alone, as `prune --thin` leaves it)") +
                                  "; `titan-ckpt lr show` of a full step of its run shows them");
  report.before = schedule->phases;
  report.after = decayed(report.before, steps, report.factors);
}

/// Provides the leaves of the sum; several are computed at a time.
class Adder {
 public:
  Adder(const std::vector<Opened>& sources, const Manifest& made, const MergeOptions& options, std::uint64_t total)
      : sources_(sources), made_(made), options_(options), total_(total) {
    const unsigned threads = std::min(io_threads(options.threads), kMostReaders);
    std::uint64_t largest = 0;  // bytes of a leaf
    for (const ParameterRecord& record : made.parameters)
      largest = std::max(largest, record.meta.grid(made.leaf_elements).length(0) * dtype_size(record.model->dtype));
    for (unsigned i = 0; i < threads; ++i) scratches_.emplace_back(largest);
    for (const Opened& source : sources) indexes_.emplace_back(source.manifest());
  }

  Result<std::span<const std::byte>> leaf(std::size_t tensor, std::uint64_t first, Rewrite& rewrite) {
    const LeafGrid grid = made_.parameters[tensor].meta.grid(made_.leaf_elements);
    const std::uint64_t leaf = first / grid.leaf_elements;
    if (tensor != tensor_ || leaf < begin_ || leaf >= end_) {
      TITAN_RETURN_IF_ERROR(rewrite.beat(options_.cancel));
      tensor_ = tensor;
      begin_ = leaf;
      end_ = std::min<std::uint64_t>(grid.count(), leaf + scratches_.size());
      TITAN_RETURN_IF_ERROR(parallel_for(end_ - begin_, static_cast<unsigned>(scratches_.size()),
                                         [&](std::size_t i) { return add(grid, begin_ + i, scratches_[i]); }));
      if (options_.progress) options_.progress(done_, total_);
    }
    return std::span<const std::byte>(scratches_[leaf - begin_].out);
  }

 private:
  struct Scratch {
    explicit Scratch(std::uint64_t largest) : memory(largest) {}
    std::vector<double> sums;
    AlignedBuffer memory;  // holds a source's leaf, aligned for reading
    std::vector<std::byte> out;
  };

  Status add(const LeafGrid& grid, std::uint64_t leaf, Scratch& scratch) {
    const ParameterRecord& record = made_.parameters[tensor_];
    const DType dtype = record.model->dtype;
    const std::uint64_t bytes = grid.length(leaf) * dtype_size(dtype);
    scratch.sums.resize(is_float(dtype) ? grid.length(leaf) : 0);
    const std::span<std::byte> in = scratch.memory.first(bytes);
    scratch.out.resize(bytes);
    for (std::size_t i = 0; i < sources_.size(); ++i) {
      const bool keep = !is_float(dtype) && i == 0;
      TITAN_RETURN_IF_ERROR(read(i, record.meta.name, grid.begin(leaf), keep ? std::span(scratch.out) : in));
      if (is_float(dtype)) {
        add_weighted(dtype, in, sources_[i].weight, i == 0, scratch.sums);
      } else if (!keep && !std::equal(in.begin(), in.end(), scratch.out.begin())) {
        return incompatible(record.meta.name + " holds whole numbers, which have no average, and differs between " +
                            sources_[0].reader.path() + " and " + sources_[i].reader.path());
      }
      done_ += bytes;
    }
    if (is_float(dtype)) round_sums(scratch.sums, dtype, scratch.out);
    return ok_status();
  }

  Status read(std::size_t source, const std::string& tensor, std::uint64_t first, std::span<std::byte> out) {
    const CheckpointReader& reader = sources_[source].reader;
    RangeReader elements(reader, {*indexes_[source].find(tensor), ""});
    Status status = elements.read(first, out);
    if (status.code == Code::kCorrupt)
      status = status.wrapped("nothing was written to " + options_.dst + ": a source is damaged")
                   .with_hint("`titan-ckpt verify " + shell_word(reader.path()) + "` names every damaged place");
    return status;
  }

  const std::vector<Opened>& sources_;
  const Manifest& made_;
  const MergeOptions& options_;
  std::vector<ParameterIndex> indexes_;
  std::vector<Scratch> scratches_;
  std::size_t tensor_ = ~std::size_t{0};
  std::uint64_t begin_ = 0, end_ = 0;  // the leaves of tensor_ that are in scratches_
  std::atomic<std::uint64_t> done_ = 0;
  std::uint64_t total_;
};

/// The manifest of the sum without its files: model, configuration and step are those of the newest source.
Manifest frame(const Manifest& newest, const MergeOptions& options, const MergeReport& report) {
  Manifest made;
  made.step = newest.step;
  made.config = newest.config;
  made.writer = options.writer;
  made.created = options.created;
  for (const ParameterRecord& record : newest.parameters) {
    ParameterRecord& mine = made.parameters.emplace_back();
    mine.meta = {record.meta.name, record.meta.shape};
    mine.model = StoredTensor{record.model->dtype, mine.meta.grid(made.leaf_elements).chunk_extent()};
  }
  made.derived_from = DerivedFrom{newest.id, newest.step, report.sources.back().path};
  for (const MergeSource& source : report.sources)
    made.derived_from->merged.push_back({source.id, source.step, source.path, source.weight});
  return made;
}

// The digest of the tokenizer that came with a source; nullopt if it has none.
Result<std::optional<Digest>> tokenizer_of(Fs& fs, const CheckpointReader& reader) {
  for (const char* name : {"hf/tokenizer.json", "hf/tokenizer.model"})
    for (const ModelFilePlace& place : reader.model_files()) {
      if (place.member != name) continue;
      if (place.digest) return place.digest;
      TITAN_ASSIGN_OR_RETURN(const std::vector<std::byte> bytes, read_model_file(fs, place, kMaxModelFilesBytes));
      return std::optional(digest_of(bytes));
    }
  return std::optional<Digest>();
}

// Notes which sources have another tokenizer than the newest source, whose model files DST gets: with another tokenizer
// the same token ids may stand for other texts.
Status note_tokenizers(Fs& fs, const std::vector<Opened>& sources, MergeReport& report) {
  TITAN_ASSIGN_OR_RETURN(const std::optional<Digest> taken, tokenizer_of(fs, sources.back().reader));
  std::vector<std::string> others;
  for (const Opened& source : sources) {
    TITAN_ASSIGN_OR_RETURN(const std::optional<Digest> own, tokenizer_of(fs, source.reader));
    if (own && own != taken) others.push_back(source.reader.path());
  }
  if (others.empty()) return ok_status();
  report.notes.push_back(first_few(others) + (others.size() == 1 ? " has" : " have") + " another tokenizer than " +
                         sources.back().reader.path() +
                         (taken ? ", whose files are taken: do the same ids stand for the same texts?"
                                : ", which has none: none is taken"));
  return ok_status();
}

Status write_sum(Fs& fs, const MergeOptions& options, const std::vector<Opened>& sources, MergeReport& report) {
  const CheckpointReader& newest = sources.back().reader;
  TITAN_ASSIGN_OR_RETURN(const std::unique_ptr<Rewrite> rewrite,
                         Rewrite::begin(fs, newest.path(), options.dst, options.force));
  std::vector<std::string> paths;
  for (const Opened& source : sources) paths.push_back(source.reader.path());
  rewrite->made_also_of(std::move(paths));
  TITAN_RETURN_IF_ERROR(rewrite->need_space(report.bytes + report.bytes / 100 + (std::uint64_t{1} << 20)));
  Manifest made = frame(newest.manifest(), options, report);
  std::vector<TensorRef> refs;
  for (std::uint32_t i = 0; i < made.parameters.size(); ++i) refs.push_back({i, ""});
  Adder adder(sources, made, options, report.bytes * sources.size());
  TITAN_RETURN_IF_ERROR(rewrite->make_folder_of(shard_path(kModel, 0)));
  const auto leaf = [&](std::size_t tensor, std::uint64_t first, std::span<std::byte>) {
    return adder.leaf(tensor, first, *rewrite);
  };
  TITAN_RETURN_IF_ERROR(write_component(fs, rewrite->folder(), kModel, refs, leaf, made, kWriters));
  ManifestBuilder builder(made);
  TITAN_ASSIGN_OR_RETURN(FileEntry derived, write_virtual_model(fs, rewrite->folder(), made));
  builder.add_file(std::move(derived));
  TITAN_ASSIGN_OR_RETURN(const std::vector<ModelFile> came, read_model_files(fs, newest.model_files(), report.notes));
  TITAN_ASSIGN_OR_RETURN(const std::vector<FileEntry> files, write_model_files(fs, rewrite->folder(), came));
  for (const FileEntry& file : files) {
    builder.add_file(file);
    report.carried.push_back(file.path);
  }
  builder.seal({});
  TITAN_RETURN_IF_ERROR(options.cancel.check());
  TITAN_RETURN_IF_ERROR(rewrite->publish(made));
  report.id = made.id;
  report.warnings = rewrite->warnings();
  return ok_status();
}

}  // namespace

Result<MergeReport> merge_checkpoints(Fs& fs, const MergeOptions& options) {
  TITAN_ASSIGN_OR_RETURN(std::vector<Opened> sources, open_sources(fs, options));
  for (std::size_t i = 1; i < sources.size(); ++i)
    TITAN_RETURN_IF_ERROR(check_same_model(sources[0].reader, sources[i].reader));
  TITAN_RETURN_IF_ERROR(weigh(options.weights, sources));
  MergeReport report;
  report.dst = options.dst;
  report.dry_run = options.dry_run;
  for (const Opened& source : sources)
    report.sources.push_back(
        {lasting_path(fs, source.reader.path()), source.manifest().step, source.manifest().id, source.weight});
  const Manifest& newest = sources.back().manifest();
  report.step = newest.step;
  report.tensors = newest.parameters.size();
  for (const ParameterRecord& record : newest.parameters)
    report.bytes += element_count(record.meta.shape) * dtype_size(record.model->dtype);
  note_decay(sources, report);
  TITAN_RETURN_IF_ERROR(note_tokenizers(fs, sources, report));
  // If DST is named as a step, the name must be that of the newest source's step.
  const bool names_step = parse_step_name(base_name(options.dst)).has_value();
  for (const Opened& source : sources)
    if (!names_step || source.manifest().step == newest.step)
      TITAN_RETURN_IF_ERROR(check_rewrite(fs, source.reader.path(), options.dst, options.force));
  TITAN_RETURN_IF_ERROR(check_step_name(options.dst, report.step));
  if (!options.dry_run) TITAN_RETURN_IF_ERROR(write_sum(fs, options, sources, report));
  return report;
}

}  // namespace titan::ckpt
