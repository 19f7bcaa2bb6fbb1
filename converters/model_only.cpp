#include "converters/model_only.h"

#include <algorithm>

#include "converters/cast.h"
#include "converters/model_agreement.h"
#include "converters/ordered_reader.h"
#include "recipe/model/family.h"
#include "recipe/model/manifest_dims.h"

namespace titan::convert {
namespace {

// The rows that describe the model of `source`, with those that the configuration `given` adds. The plan of a foreign
// checkpoint has already used `given`.
Result<Settings> rows_of(const CheckpointReader& source, const std::optional<Settings>& given, bool untie) {
  const Settings& own = source.manifest().config;
  if (!given || source.foreign()) return own;
  return agreed_rows(source.path(), own, *given, {.untie = untie});
}

// Whether the weights of a parameter are written: they exist, and `skip` does not skip them.
bool writes_weights(const ckpt::ParameterRecord& record, SkipRules& skip, std::vector<TensorReport>& report) {
  const std::string& name = record.meta.name;
  for (const ckpt::SlotTensor& slot : record.slots) {
    const std::string slot_name = name + "." + slot.name;
    const Fate fate = skip.takes({slot_name, "optimizer.state." + slot_name}) ? Fate::kSkipped : Fate::kDropped;
    report.push_back(uncast(slot_name, fate, slot.tensor.dtype, record.meta.shape));
  }
  if (!record.model) return false;
  if (!skip.takes(name)) return true;
  report.push_back(uncast(name, Fate::kSkipped, record.model->dtype, record.meta.shape));
  return false;
}

}  // namespace

Status ModelWriter::plan_model(bool untie) {
  if (manifest_.component(ckpt::kModel) == nullptr) return ckpt::incompatible(source_.path() + " has no model");
  TITAN_ASSIGN_OR_RETURN(const Settings rows, rows_of(source_, options_.config, untie));
  TITAN_ASSIGN_OR_RETURN(model_, recipe::dims_from_rows(source_.path(), rows));
  TITAN_RETURN_IF_ERROR(check_model());
  TITAN_RETURN_IF_ERROR(check_parameters(source_, model_, skip_));
  for (std::uint32_t i = 0; i < manifest_.parameters.size(); ++i)
    if (writes_weights(manifest_.parameters[i], skip_, report_)) TITAN_RETURN_IF_ERROR(add(i));
  TITAN_RETURN_IF_ERROR(skip_.check_used(source_.path()));
  if (std::ranges::find(report_, Fate::kWritten, &TensorReport::fate) == report_.end())
    return ckpt::incompatible(source_.path() + ": no tensor is left to write");
  return {};
}

Status ModelWriter::check_dtype() const {
  if (!options_.dtype || is_castable(*options_.dtype)) return {};
  return ckpt::unsupported("elements cannot be cast to " + std::string(ckpt::dtype_name(*options_.dtype)) +
                           ", expected float32, bfloat16 or float16");
}

Status ModelWriter::no_place(const std::string& name) const {
  return ckpt::incompatible(source_.path() + ": tensor '" + name + "' has no place in this format")
      .with_hint("leave it out with --skip GLOB");
}

void ModelWriter::report_tied_head() {
  TensorReport line = report_.back();
  line.from = recipe::kHeadName;
  line.fate = Fate::kTied;
  report_.push_back(line);
}

Status ModelWriter::write_elements(WriteBehind& behind, std::uint64_t offset, const ckpt::TensorRef& ref,
                                   std::uint64_t head_dim, std::uint64_t multiple, const Make& make,
                                   const Progress& progress) {
  TITAN_ASSIGN_OR_RETURN(OrderedReader reader, OrderedReader::open(source_, ref, head_dim));
  const std::uint64_t stride = std::max(reader.stride() / multiple, std::uint64_t{1}) * multiple;
  for (std::uint64_t at = 0; at < reader.elements(); at += stride) {
    const std::uint64_t count = std::min(stride, reader.elements() - at);
    TITAN_ASSIGN_OR_RETURN(Block data, behind.take(count * reader.element_size()));
    TITAN_RETURN_IF_ERROR(reader.read(at, data));
    TITAN_ASSIGN_OR_RETURN(data, make(at, std::move(data)));
    const std::uint64_t place = offset;
    offset += data.size();
    done_ += data.size();
    behind.put(place, std::move(data));
    if (progress) TITAN_RETURN_IF_ERROR(progress(done_, bytes_));
  }
  return {};
}

ModelWriter::Block ModelWriter::cast_block(DType from, DType to, const std::string& name, std::uint64_t at,
                                           Block elements) {
  if (from == to) return elements;
  spare_.resize(elements.size() / ckpt::dtype_size(from) * ckpt::dtype_size(to));
  rounding_.add(cast(from, elements, to, spare_), name, at);
  elements.swap(spare_);
  return elements;
}

}  // namespace titan::convert
