#include "cli/ui/json_out.h"

#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <cstdlib>
#include <new>

#include "cli/ui/text.h"
#include "cli/ui/units.h"

namespace titan::ui {
namespace {

// RapidJSON's own allocator returns null when memory runs out, and its buffer writes there.
struct ThrowingAllocator {
  static const bool kNeedFree = true;
  void* Malloc(std::size_t size) { return Realloc(nullptr, 0, size); }
  void* Realloc(void* old, std::size_t, std::size_t size) {
    if (size == 0) return Free(old), nullptr;
    void* memory = std::realloc(old, size);
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
  }
  static void Free(void* memory) { std::free(memory); }
};

using Buffer = rapidjson::GenericStringBuffer<rapidjson::UTF8<>, ThrowingAllocator>;

}  // namespace

struct JsonOut::Impl {
  Buffer buffer;
  rapidjson::Writer<Buffer> writer{buffer};

  void key(std::string_view name) { string(name); }
  void string(std::string_view value) {
    const std::string clean = replace_bad_utf8(value);
    writer.String(clean.data(), static_cast<rapidjson::SizeType>(clean.size()));
  }
};

JsonOut::JsonOut() : impl_(std::make_unique<Impl>()) {}
JsonOut::~JsonOut() = default;

void JsonOut::begin_object() { impl_->writer.StartObject(); }
void JsonOut::begin_object(std::string_view key) { impl_->key(key), begin_object(); }
void JsonOut::end_object() { impl_->writer.EndObject(); }
void JsonOut::begin_array() { impl_->writer.StartArray(); }
void JsonOut::begin_array(std::string_view key) { impl_->key(key), begin_array(); }
void JsonOut::end_array() { impl_->writer.EndArray(); }

void JsonOut::text(std::string_view value) { impl_->string(value); }
void JsonOut::text(std::string_view key, std::string_view value) { impl_->key(key), text(value); }
void JsonOut::count(std::uint64_t value) { impl_->writer.Uint64(value); }
void JsonOut::count(std::string_view key, std::uint64_t value) { impl_->key(key), count(value); }
void JsonOut::integer(std::string_view key, std::int64_t value) { impl_->key(key), impl_->writer.Int64(value); }
void JsonOut::real(double value) { number(format_real(value)); }
void JsonOut::real(std::string_view key, double value) { impl_->key(key), real(value); }
void JsonOut::number(std::string_view digits) {
  if (digits == "nan" || digits.ends_with("inf")) return text(digits);
  impl_->writer.RawValue(digits.data(), digits.size(), rapidjson::kNumberType);
}
void JsonOut::flag(std::string_view key, bool value) { impl_->key(key), impl_->writer.Bool(value); }
void JsonOut::null(std::string_view key) { impl_->key(key), impl_->writer.Null(); }

void JsonOut::path(std::string_view key, std::string_view value) {
  text(key, value);
  if (!is_utf8(value)) text(std::string(key) + "_b64", base64(value));
}

std::string JsonOut::line() const { return std::string(impl_->buffer.GetString(), impl_->buffer.GetSize()) + "\n"; }

}  // namespace titan::ui
