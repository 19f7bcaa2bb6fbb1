#include "converters/hf/hf_checkpoint.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "ckpt/base/fs.h"
#include "ckpt/base/integers.h"
#include "ckpt/base/path.h"
#include "ckpt/base/printed.h"
#include "ckpt/base/quoting.h"
#include "ckpt/base/text.h"
#include "ckpt/model/tensor_meta.h"
#include "converters/companions.h"
#include "converters/hf/float8.h"
#include "converters/hf/hf_index.h"
#include "converters/hf/hf_plan.h"
#include "converters/hf/safetensors.h"
#include "converters/json_file.h"
#include "converters/other_programs.h"
#include "converters/read_all.h"

namespace titan::convert {

using ckpt::corrupt;
using ckpt::join_path;

namespace {

constexpr std::uint64_t kMaxIndexBytes = std::uint64_t{256} << 20;
constexpr std::size_t kMaxFiles = 4096;

class HfCheckpoint final : public ForeignCheckpoint {
 public:
  using ForeignCheckpoint::ForeignCheckpoint;

  Status open(Fs& fs, const std::vector<std::string>& files);
  Status check_index(const WeightMap& index);
  /// Hides the scales of F8_E4M3 weights, which are presented as float32. \error kIncompatible, kUnsupported
  Status scale_float8();
  std::size_t files() const { return names_.size(); }
  bool has_file(const std::string& name) const { return std::ranges::find(names_, name) != names_.end(); }

  Status read(std::size_t tensor, std::uint64_t first, std::span<std::byte> out) const override;
  Result<ImportPlan> plan(const ImportOptions& options) const override {
    TITAN_ASSIGN_OR_RETURN(ImportPlan plan, plan_hf_import(*fs_, folder_, *this, options));
    plan.notes.insert(plan.notes.begin(), notes_.begin(), notes_.end());
    return plan;
  }
  Result<ckpt::VerifyReport> verify(const Progress& progress) const override;

  std::string folder_;
  std::vector<std::string> notes_;  // added to every plan

 private:
  struct Place {
    std::size_t file;
    std::uint64_t offset;
    bool float8 = false;
    std::uint64_t scales = 0, scales_file = 0;  // of a float8 tensor: offset of its scales, and their file
  };
  Status read_float8(const Place& place, std::uint64_t columns, std::uint64_t first, std::span<std::byte> out) const;
  Fs* fs_ = nullptr;
  std::vector<std::string> names_;  // of files
  std::vector<std::unique_ptr<ckpt::File>> files_;
  std::vector<Place> places_;
  BlockSize blocks_;  // block size of float8 tensors
};

Status HfCheckpoint::open(Fs& fs, const std::vector<std::string>& files) {
  fs_ = &fs;
  std::set<std::string_view> seen;
  for (const std::string& name : files) {
    const std::string path = join_path(folder_, name);
    Result<std::unique_ptr<ckpt::File>> opened = fs.open_read(through_link(fs, path));
    if (!opened.ok() && opened.status().code == ckpt::Code::kNotFound)
      return corrupt(path + " is missing; the index names it");
    TITAN_ASSIGN_OR_RETURN(std::unique_ptr<ckpt::File> file, std::move(opened));
    TITAN_ASSIGN_OR_RETURN(SafetensorsHeader header, read_safetensors_header(*file, path, true));
    for (SafetensorsEntry& entry : header.entries) {
      places_.push_back({files_.size(), header.buffer_offset + entry.begin, entry.float8});
      tensors_.push_back({std::move(entry.name), entry.dtype, std::move(entry.shape)});
    }
    names_.push_back(name);
    files_.push_back(std::move(file));
  }
  for (std::size_t i = 0; i < tensors_.size(); ++i)
    if (!seen.insert(tensors_[i].name).second)
      return corrupt("tensor '" + tensors_[i].name + "' is in " + join_path(folder_, names_[places_[i].file]) +
                     " and in another file");
  return ckpt::ok_status();
}

// The index must agree exactly with the files.
Status HfCheckpoint::check_index(const WeightMap& index) {
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    const std::string& file = names_[places_[i].file];
    const auto entry = index.find(tensors_[i].name);
    if (entry == index.end())
      return corrupt("tensor '" + tensors_[i].name + "' of " + join_path(folder_, file) + " is not in " + kHfIndex);
    if (entry->second != file)
      return corrupt("tensor '" + tensors_[i].name + "' is in " + file + ", but " + join_path(folder_, kHfIndex) +
                     " says " + entry->second);
  }
  if (tensors_.size() == index.size()) return ckpt::ok_status();
  std::set<std::string_view> present;
  for (const ForeignTensor& tensor : tensors_) present.insert(tensor.name);
  for (const auto& [name, file] : index)
    if (!present.contains(name))
      return corrupt("tensor '" + name + "' is not in " + join_path(folder_, file) + ", as " + kHfIndex + " says");
  return ckpt::ok_status();
}

Status HfCheckpoint::scale_float8() {
  const auto is_float8 = [](const Place& place) { return place.float8; };
  if (std::none_of(places_.begin(), places_.end(), is_float8)) return {};
  const std::string config = join_path(folder_, kHfConfig);
  const Result<JsonValue> json = read_json_object(*fs_, config, kMaxHfConfigBytes);
  if (json.status().code == ckpt::Code::kNotFound)
    return ckpt::incompatible(folder_ + " has no " + kHfConfig + ", which says the blocks of the weights in F8_E4M3");
  TITAN_RETURN_IF_ERROR(json.status());
  TITAN_ASSIGN_OR_RETURN(blocks_, read_block_size(config, *json));
  std::map<std::string, std::size_t> by_name;
  for (std::size_t i = 0; i < tensors_.size(); ++i) by_name[tensors_[i].name] = i;
  std::set<std::size_t> hidden;
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    if (!places_[i].float8) continue;
    ForeignTensor& tensor = tensors_[i];
    const auto scales = by_name.find(tensor.name + "_scale_inv");
    if (scales == by_name.end() || tensor.shape.size() != 2)
      return ckpt::incompatible(
          path_ + ": '" + tensor.name + "' is of F8_E4M3, and " +
          (tensor.shape.size() == 2 ? "has no '" + tensor.name + "_scale_inv' next to it" : "no matrix"));
    const ForeignTensor& found = tensors_[scales->second];
    const auto cut = [](std::uint64_t extent, std::uint64_t block) {
      return extent / block + (extent % block != 0 ? 1 : 0);
    };
    const std::vector<std::uint64_t> expected{cut(tensor.shape[0], blocks_.rows),
                                              cut(tensor.shape[1], blocks_.columns)};
    if (found.shape != expected || found.dtype != DType::kF32)
      return ckpt::incompatible(path_ + ": '" + found.name + "' is " + std::string(ckpt::dtype_name(found.dtype)) +
                                " " + ckpt::shape_text(found.shape) + ", expected float32 " +
                                ckpt::shape_text(expected) + " by the weight_block_size of " + kHfConfig);
    places_[i].scales = places_[scales->second].offset;
    places_[i].scales_file = places_[scales->second].file;
    tensor.dtype = DType::kF32;
    hidden.insert(scales->second);
  }
  notes_.push_back(ckpt::counted(hidden.size(), "tensor") +
                   " of F8_E4M3 with scales of blocks: taken as the float32 values that these stand for");
  for (auto at = hidden.rbegin(); at != hidden.rend(); ++at) {
    tensors_.erase(tensors_.begin() + static_cast<std::ptrdiff_t>(*at));
    places_.erase(places_.begin() + static_cast<std::ptrdiff_t>(*at));
  }
  return {};
}

// Reads a float8 tensor row by row, and loads the scales of a row of blocks when it reaches it.
Status HfCheckpoint::read_float8(const Place& place, std::uint64_t columns, std::uint64_t first,
                                 std::span<std::byte> out) const {
  std::vector<float> scales(ckpt::ceil_div(columns, blocks_.columns)), values;
  std::vector<std::byte> bytes;
  std::uint64_t loaded = ~std::uint64_t{0};  // the row of blocks whose scales are loaded
  for (std::uint64_t at = first; !out.empty();) {
    const std::uint64_t row = at / columns, column = at % columns;
    const std::uint64_t count = std::min<std::uint64_t>(columns - column, out.size() / sizeof(float));
    if (row / blocks_.rows != loaded) {
      loaded = row / blocks_.rows;
      TITAN_RETURN_IF_ERROR(files_[place.scales_file]->pread(place.scales + loaded * scales.size() * sizeof(float),
                                                             std::as_writable_bytes(std::span(scales))));
    }
    bytes.resize(count);
    values.resize(count);
    TITAN_RETURN_IF_ERROR(files_[place.file]->pread(place.offset + at, bytes));
    scale_row(bytes, column, scales, blocks_.columns, values);
    std::memcpy(out.data(), values.data(), count * sizeof(float));
    out = out.subspan(count * sizeof(float));
    at += count;
  }
  return {};
}

Status HfCheckpoint::read(std::size_t tensor, std::uint64_t first, std::span<std::byte> out) const {
  const Place& place = places_[tensor];
  if (place.float8) return read_float8(place, tensors_[tensor].shape[1], first, out);
  return out.empty() ? ckpt::ok_status()
                     : files_[place.file]->pread(place.offset + first * ckpt::dtype_size(tensors_[tensor].dtype), out);
}

Result<ckpt::VerifyReport> HfCheckpoint::verify(const Progress& progress) const {
  // The structure was checked on opening; this checks that every byte can be read.
  return read_all(*this, kSafetensorsNote, progress);
}

// Whether `name` is a pickle with weights. Other pickles (training_args.bin, data) do not count.
bool is_pickle(const std::string& name, bool beside_config) {
  if (name.starts_with("consolidated") && name.ends_with(".pth")) return true;
  return name.ends_with(".bin") && (name.starts_with("pytorch_model") || (beside_config && name.starts_with("model")));
}

Result<WeightMap> read_index(Fs& fs, const std::string& path) {
  TITAN_ASSIGN_OR_RETURN(const std::string text, read_json_text(fs, path, kMaxIndexBytes));
  Result<WeightMap> map = decode_hf_index(path, text);
  if (map.ok()) return map;
  return or_wrong_file_kind(path, text, map.status());
}

using Opened = Result<std::unique_ptr<HfCheckpoint>>;

Opened open_files(Fs& fs, const std::string& path, const std::string& folder, const std::vector<std::string>& files,
                  const WeightMap* index = nullptr) {
  auto checkpoint = std::make_unique<HfCheckpoint>(path);
  checkpoint->folder_ = folder;
  TITAN_RETURN_IF_ERROR(checkpoint->open(fs, files));
  if (index != nullptr) TITAN_RETURN_IF_ERROR(checkpoint->check_index(*index));
  TITAN_RETURN_IF_ERROR(checkpoint->scale_float8());
  return checkpoint;
}

Opened open_index(Fs& fs, const std::string& path) {
  const std::string index_path = join_path(path, kHfIndex);
  TITAN_ASSIGN_OR_RETURN(const auto index, read_index(fs, index_path));
  std::set<std::string> files;
  for (const auto& [name, file] : index) files.insert(file);
  if (files.empty() || files.size() > kMaxFiles)
    return corrupt(index_path + " names " + std::to_string(files.size()) + " files, expected 1 to " +
                   std::to_string(kMaxFiles));
  return open_files(fs, path, path, {files.begin(), files.end()}, &index);
}

// What differs between `a` and `b`: "" if the first elements of every tensor are equal.
Result<std::string> difference(const HfCheckpoint& a, const HfCheckpoint& b) {
  constexpr std::uint64_t kElements = 4096;
  std::map<std::string_view, std::size_t> places;
  for (std::size_t i = 0; i < b.tensors().size(); ++i) places[b.tensors()[i].name] = i;
  for (std::size_t i = 0; i < a.tensors().size(); ++i) {
    const ForeignTensor& tensor = a.tensors()[i];
    const auto other = places.find(tensor.name);
    if (other == places.end()) return "'" + tensor.name + "' is in the one alone";
    if (b.tensors()[other->second] != tensor) return "'" + tensor.name + "' has another shape or type";
    std::vector<std::byte> one(std::min(ckpt::element_count(tensor.shape), kElements) * ckpt::dtype_size(tensor.dtype));
    std::vector<std::byte> two(one.size());
    TITAN_RETURN_IF_ERROR(a.read(i, 0, one));
    TITAN_RETURN_IF_ERROR(b.read(other->second, 0, two));
    if (one != two) return "'" + tensor.name + "' has other values";
  }
  if (b.tensors().size() != a.tensors().size()) return std::string("the index names more tensors");
  return std::string();
}

// Opens a folder that has both model.safetensors and an index. Programs differ in which of the two they load, so both
// must be the same model.
Opened open_one_of_two(Fs& fs, const std::string& path) {
  const std::string single = join_path(path, kHfWeights), index = join_path(path, kHfIndex);
  Opened one = open_files(fs, path, path, {kHfWeights}), many = open_index(fs, path);
  const auto unreadable = [](const Opened& opened) {
    const ckpt::Code code = opened.status().code;
    return code == ckpt::Code::kCorrupt || code == ckpt::Code::kUnsupported || code == ckpt::Code::kIncompatible;
  };
  if (!one.ok() && (!unreadable(one) || !many.ok())) return one;
  if (one.ok() && !many.ok()) {
    if (!unreadable(many)) return many;
    (*one)->notes_.push_back(single + " is read, and " + kHfIndex + " next to it is ignored: " + many.status().message);
    return one;
  }
  std::string unlike = one.ok() ? "" : one.status().message;
  if (one.ok()) {
    TITAN_ASSIGN_OR_RETURN(unlike, difference(**one, **many));
    if (unlike.empty()) {
      (*one)->notes_.push_back(single + " is read; " + kHfIndex + " next to it names the same tensors in other files");
      return one;
    }
  }
  Status refused = ckpt::incompatible(path + " holds two models: " + kHfWeights + ", and the " +
                                      std::to_string((*many)->files()) + " files of " + kHfIndex);
  refused.causes.push_back(unlike);
  return refused.with_hint("move the one away that is not meant: mv " + ckpt::shell_word(single) + " " +
                           ckpt::shell_word(single + ".old") + ", or mv " + ckpt::shell_word(index) + " " +
                           ckpt::shell_word(index + ".old"));
}

// Notes weight files that are ignored, so that users know it: accelerate's second model (model_1.safetensors), an
// adapter, Mistral's own file.
Status note_others(Fs& fs, const std::string& path, HfCheckpoint& checkpoint) {
  TITAN_ASSIGN_OR_RETURN(const std::vector<ckpt::DirEntry> entries, fs.list(path));
  std::vector<std::string> others;
  for (const ckpt::DirEntry& entry : entries)
    if (entry.name.ends_with(kSafetensorsSuffix) && !checkpoint.has_file(entry.name)) others.push_back(entry.name);
  if (others.empty()) return {};
  std::ranges::sort(others);
  checkpoint.notes_.push_back("not read: " + listed(others) + " next to " +
                              (checkpoint.files() == 1 ? kHfWeights : "the files of " + std::string(kHfIndex)) +
                              "; a file is read when it is given itself, as in " + join_path(path, others.front()));
  return {};
}

}  // namespace

bool is_vocabulary(const std::string& name) {
  constexpr const char* kNames[] = {"tokenizer.json", "tokenizer_config.json",   "vocab.json",  "vocab.txt",
                                    "tekken.json",    "sentencepiece.bpe.model", "spiece.model"};
  return name.starts_with("tokenizer.model") ||
         std::ranges::find(kNames, name, [](const char* text) { return std::string(text); }) != std::end(kNames);
}

bool is_companion(const std::string& name) {
  constexpr const char* kNames[] = {
      kHfConfig,           "generation_config.json", "special_tokens_map.json", "merges.txt",
      "added_tokens.json", "chat_template.jinja",    "chat_template.json",
  };
  return is_vocabulary(name) ||
         std::ranges::find(kNames, name, [](const char* text) { return std::string(text); }) != std::end(kNames);
}

bool is_further_companion(const std::string& name) { return name != kHfConfig && is_companion(name); }

Result<bool> probe_hf(Fs& fs, const std::string& path) {
  if (path.ends_with(kSafetensorsSuffix)) {
    TITAN_ASSIGN_OR_RETURN(const bool alone, is_file(fs, path));
    if (alone) return true;
  }
  for (const char* name : {kHfWeights, kHfIndex}) {
    TITAN_ASSIGN_OR_RETURN(const bool there, file_there(fs, join_path(path, name)));
    if (there) return true;
  }
  return false;
}

Status near_miss_hf(Fs& fs, const std::string& path) {
  TITAN_ASSIGN_OR_RETURN(const std::vector<ckpt::DirEntry> entries, entries_of(fs, path));
  TITAN_ASSIGN_OR_RETURN(const bool known, probe_hf(fs, path));
  if (known) return ckpt::ok_status();
  const bool config = std::ranges::find(entries, std::string(kHfConfig), &ckpt::DirEntry::name) != entries.end();
  std::vector<std::string> safe, pickled, adapters;
  for (const ckpt::DirEntry& entry : entries) {
    const std::string& name = entry.name;
    if (name == "adapter_model.safetensors" || name == "adapter_model.bin")
      adapters.push_back(name);
    else if (name.ends_with(kSafetensorsSuffix) && (config || name.starts_with("model-") || name.starts_with("shard-")))
      safe.push_back(name);
    else if (is_pickle(name, config))
      pickled.push_back(name);
  }
  for (std::vector<std::string>* names : {&safe, &pickled, &adapters}) std::ranges::sort(*names);
  if (safe.empty() && pickled.empty() && !adapters.empty()) {
    return ckpt::not_found(path + " has " + listed(adapters) + ": an adapter (PEFT), not a whole model")
        .with_hint("merge it into its model first: merge_and_unload() of PEFT, then save_pretrained(FOLDER)");
  }
  const std::string start =
      path + " has " + listed(safe.empty() ? pickled : safe) + ", but neither " + kHfWeights + " nor " + kHfIndex;
  if (safe.size() == 1) return ckpt::not_found(start).with_hint("give the file itself: " + join_path(path, safe[0]));
  if (!safe.empty())
    return ckpt::not_found(start + ", which says what is in which file")
        .with_hint("save_pretrained of transformers writes the index next to the files");
  if (!pickled.empty() && pickled[0].starts_with("consolidated"))
    return ckpt::not_found(start + ": Meta's own files, pickles of PyTorch, are not read")
        .with_hint(
            "transformers/models/llama/convert_llama_weights_to_hf.py of transformers makes a Hugging Face "
            "folder of it");
  if (!pickled.empty())
    return ckpt::not_found(start + ": weights in pickles are not read")
        .with_hint("save the model as safetensors: save_pretrained(FOLDER) of a recent transformers");
  return ckpt::ok_status();
}

Result<std::unique_ptr<ForeignCheckpoint>> open_hf(Fs& fs, const std::string& path) {
  TITAN_ASSIGN_OR_RETURN(const bool alone, is_file(fs, path));
  TITAN_ASSIGN_OR_RETURN(const bool single, file_there(fs, join_path(path, kHfWeights)));
  TITAN_ASSIGN_OR_RETURN(const bool indexed, file_there(fs, join_path(path, kHfIndex)));
  const bool file = path.ends_with(kSafetensorsSuffix) && alone;
  if (!file && !single && !indexed) {
    TITAN_RETURN_IF_ERROR(near_miss_hf(fs, path));
    return ckpt::not_found(path + " has neither " + kHfWeights + " nor " + kHfIndex)
        .with_hint("other weight files (pytorch_model.bin) are not read: save the model with safetensors");
  }
  Opened opened = file                ? open_files(fs, path, ckpt::parent_path(path), {ckpt::base_name(path)})
                  : single && indexed ? open_one_of_two(fs, path)
                  : single            ? open_files(fs, path, path, {kHfWeights})
                                      : open_index(fs, path);
  if (!opened.ok()) return opened.status();
  if (single != indexed && !file) TITAN_RETURN_IF_ERROR(note_others(fs, path, **opened));
  return std::unique_ptr<ForeignCheckpoint>(std::move(*opened));
}

}  // namespace titan::convert
