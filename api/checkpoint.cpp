#include "titan/ckpt/checkpoint.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "api/translate.h"
#include "ckpt/base/fs_posix.h"
#include "ckpt/ops/inspect.h"
#include "ckpt/ops/slice.h"
#include "ckpt/read/range_reader.h"
#include "ckpt/read/reader.h"
#include "ckpt/read/verifier.h"
#include "ckpt/run/run_resolve.h"

namespace titan {

struct Checkpoint::Impl {
  ckpt::CheckpointReader reader;
  std::string id;
  std::vector<std::string> notes;
  std::vector<TensorInfo> tensors;
  std::vector<ckpt::TensorRef> refs;                          // one per tensor of `tensors`
  std::unordered_map<std::string_view, std::size_t> by_name;  // its names are those of `tensors`

  Impl(ckpt::CheckpointReader opened, std::vector<std::string> skipped)
      : reader(std::move(opened)), id(reader.manifest().id.hex()), notes(std::move(skipped)) {
    for (ckpt::TensorRow& row : ckpt::tensor_rows(reader.manifest())) {
      refs.push_back(std::move(row.ref));
      tensors.push_back({std::move(row.name), std::move(row.component), translated(row.dtype), std::move(row.shape)});
    }
    for (std::size_t i = 0; i < tensors.size(); ++i) by_name.emplace(tensors[i].name, i);
  }

  // Index of `tensor` in the lists; tensors.size() if there is no such tensor.
  std::size_t place(std::string_view tensor) const {
    const auto found = by_name.find(tensor);
    return found == by_name.end() ? tensors.size() : found->second;
  }

  Status missing(const std::string& tensor) const {
    const std::vector<ckpt::TensorRow> rows = ckpt::tensor_rows(reader.manifest());
    return translated(
        ckpt::not_found("tensor `" + tensor + "` is not in this checkpoint, which has " + std::to_string(rows.size()))
            .with_hint(ckpt::no_match_hint(rows, tensor, reader.path())),
        reader.path());
  }

  // The slice of a tensor with these ranges.
  Result<ckpt::Slice> slice_of(const TensorInfo& tensor, std::span<const Range> ranges) const {
    ckpt::Slice slice = ckpt::whole_slice(tensor.shape);
    const auto wrong = [&](const std::string& what) {
      return translated(ckpt::invalid("tensor `" + tensor.name + "` has " + what), reader.path());
    };
    if (ranges.size() > tensor.shape.size())
      return wrong(std::to_string(tensor.shape.size()) + " dimensions, and the slice " + std::to_string(ranges.size()));
    for (std::size_t d = 0; d < ranges.size(); ++d) {
      if (ranges[d].begin > ranges[d].end || ranges[d].end > tensor.shape[d])
        return wrong(std::to_string(tensor.shape[d]) + " elements in dimension " + std::to_string(d) +
                     ", and the slice asks for [" + std::to_string(ranges[d].begin) + ", " +
                     std::to_string(ranges[d].end) + ")");
      slice.extents[d].begin = ranges[d].begin;
      slice.extents[d].end = ranges[d].end;
    }
    return slice;
  }

  Status read(const std::string& name, std::span<const Range> ranges, std::span<std::byte> out) const {
    const std::size_t at = place(name);
    if (at == tensors.size()) return missing(name);
    const Result<ckpt::Slice> slice = slice_of(tensors[at], ranges);
    if (!slice.ok()) return slice.status();
    ckpt::RangeReader elements(reader, refs[at]);
    const std::uint64_t size = elements.element_size(), count = slice->elements();
    if (out.size() != count * size)
      return translated(ckpt::invalid("the memory for `" + name + "` has " + std::to_string(out.size()) +
                                      " bytes, expected " + std::to_string(count * size)),
                        reader.path());
    const std::uint64_t run = slice->run_length();  // consecutive elements
    for (std::uint64_t i = 0; i < count; i += run) {
      const ckpt::Status got = elements.read(slice->source_index(i), out.subspan(i * size, run * size));
      if (!got.ok()) return translated(got, reader.path());
    }
    return {};
  }
};

Checkpoint::Checkpoint(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

Result<Checkpoint> Checkpoint::open(const std::string& name) noexcept {
  return guarded(name, [&]() -> Result<Checkpoint> {
    std::vector<std::string> skipped;
    const ckpt::Result<std::string> path = ckpt::resolve_checkpoint(ckpt::posix_fs(), name, &skipped);
    if (!path.ok()) return translated(path.status(), name);
    ckpt::Result<ckpt::CheckpointReader> reader = ckpt::CheckpointReader::open(ckpt::posix_fs(), *path);
    if (!reader.ok()) return translated(reader.status(), *path);
    return Checkpoint(std::make_shared<const Impl>(std::move(reader).value(), std::move(skipped)));
  });
}

const std::string& Checkpoint::path() const { return impl_->reader.path(); }
const std::string& Checkpoint::id() const { return impl_->id; }
std::uint64_t Checkpoint::step() const { return impl_->reader.manifest().step; }
const std::vector<TensorInfo>& Checkpoint::tensors() const { return impl_->tensors; }
const std::vector<std::string>& Checkpoint::notes() const { return impl_->notes; }

const TensorInfo* Checkpoint::find(std::string_view tensor) const noexcept {
  const std::size_t at = impl_->place(tensor);
  return at == impl_->tensors.size() ? nullptr : &impl_->tensors[at];
}

Status Checkpoint::read(const std::string& tensor, std::span<std::byte> out) const noexcept {
  return read(tensor, {}, out);
}

Status Checkpoint::read(const std::string& tensor, std::span<const Range> slice,
                        std::span<std::byte> out) const noexcept {
  return guarded(path(), [&] { return impl_->read(tensor, slice, out); });
}

Result<State> Checkpoint::state() const noexcept {
  return guarded(path(), [&]() -> Result<State> {
    const ckpt::Manifest& manifest = impl_->reader.manifest();
    State state;
    state.step = manifest.step;
    state.program = manifest.writer;
    state.settings = {manifest.config.begin(), manifest.config.end()};
    if (manifest.component(ckpt::kTrainState) == nullptr) return state;
    const ckpt::Result<ckpt::TrainState> train = impl_->reader.train_state();
    if (!train.ok()) return translated(train.status(), path());
    state.tokens = train->tokens;
    state.seed = train->seed;
    state.seconds = train->wall_time_s;
    return state;
  });
}

Result<std::string> Checkpoint::json(const std::string& component) const noexcept {
  return guarded(path(), [&]() -> Result<std::string> {
    ckpt::Result<std::string> text = impl_->reader.json_text(component.c_str());
    if (!text.ok()) return translated(text.status(), path());
    return std::move(text).value();
  });
}

Result<Verification> Checkpoint::verify(unsigned threads) const noexcept {
  return guarded(path(), [&]() -> Result<Verification> {
    const ckpt::Result<ckpt::VerifyReport> report = ckpt::verify_checkpoint(ckpt::posix_fs(), path(), {}, {}, threads);
    if (!report.ok()) return translated(report.status(), path());
    Verification found;
    found.bytes = report->bytes;
    found.places = report->damage.size() + report->unreadable.size() + report->not_named;
    for (const std::vector<ckpt::Damage>* places : {&report->damage, &report->unreadable})
      for (const ckpt::Damage& place : *places)
        found.damage.push_back({place.file, place.unit, place.tensor, place.offset, place.bytes, place.detail,
                                places == &report->unreadable});
    return found;
  });
}

}  // namespace titan
