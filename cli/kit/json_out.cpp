#include "cli/kit/json_out.h"

#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <cstdlib>
#include <new>

#include "ckpt/base/utf8.h"
#include "cli/kit/text.h"
#include "cli/kit/units.h"

namespace titan::cli {
namespace {

// RapidJSON's own allocator returns null when memory runs out, and its buffer would write to that null pointer.
struct ThrowingAllocator {
  static const bool kNeedFree = true;
  void* Malloc(std::size_t size) { return Realloc(nullptr, 0, size); }
  void* Realloc(void* old, std::size_t, std::size_t size) {
    if (size == 0) {
      std::free(old);
      return nullptr;
    }
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

  void string(std::string_view value) {
    const std::string clean = replace_bad_utf8(value);
    writer.String(clean.data(), static_cast<rapidjson::SizeType>(clean.size()));
  }
  rapidjson::Writer<Buffer>& after(std::string_view key) {
    string(key);
    return writer;
  }
};

JsonOut::JsonOut() : impl_(std::make_unique<Impl>()) {}
JsonOut::JsonOut(const char* schema) : JsonOut() {
  begin_object();
  text("schema", schema);
}
JsonOut::~JsonOut() = default;

void JsonOut::begin_object() { impl_->writer.StartObject(); }
void JsonOut::begin_object(std::string_view key) { impl_->after(key).StartObject(); }
void JsonOut::end_object() { impl_->writer.EndObject(); }
void JsonOut::begin_array() { impl_->writer.StartArray(); }
void JsonOut::begin_array(std::string_view key) { impl_->after(key).StartArray(); }
void JsonOut::end_array() { impl_->writer.EndArray(); }

void JsonOut::text(std::string_view value) { impl_->string(value); }
void JsonOut::text(std::string_view key, std::string_view value) {
  impl_->string(key);
  impl_->string(value);
}
void JsonOut::count(std::uint64_t value) { impl_->writer.Uint64(value); }
void JsonOut::count(std::string_view key, std::uint64_t value) { impl_->after(key).Uint64(value); }
void JsonOut::integer(std::string_view key, std::int64_t value) { impl_->after(key).Int64(value); }
void JsonOut::real(double value) { number(format_real(value)); }
void JsonOut::real(std::string_view key, double value) {
  impl_->string(key);
  real(value);
}
void JsonOut::number(std::string_view digits) {
  if (digits == "nan" || digits.ends_with("inf")) return text(digits);
  impl_->writer.RawValue(digits.data(), digits.size(), rapidjson::kNumberType);
}
void JsonOut::flag(std::string_view key, bool value) { impl_->after(key).Bool(value); }
void JsonOut::null(std::string_view key) { impl_->after(key).Null(); }

void JsonOut::count(std::string_view key, const std::optional<std::uint64_t>& value) {
  if (!value) return null(key);
  count(key, *value);
}
void JsonOut::real(std::string_view key, const std::optional<double>& value) {
  if (!value) return null(key);
  real(key, *value);
}
void JsonOut::text_or_null(std::string_view key, std::string_view value) {
  if (value.empty()) return null(key);
  text(key, value);
}

void JsonOut::path(std::string_view key, std::string_view value) {
  text(key, value);
  if (!ckpt::is_utf8(value)) text(std::string(key) + "_b64", base64(value));
}

void JsonOut::paths(std::string_view key, const char* member, const std::vector<std::string>& values) {
  begin_array(key);
  for (const std::string& value : values) {
    begin_object();
    path(member, value);
    end_object();
  }
  end_array();
}

std::string JsonOut::document() {
  end_object();
  return line();
}

std::string JsonOut::line() const { return std::string(impl_->buffer.GetString(), impl_->buffer.GetSize()) + "\n"; }

}  // namespace titan::cli
