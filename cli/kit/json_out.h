#pragma once
// Writes one JSON document. Only json_out.cpp uses the programs' JSON library.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace titan::cli {

/// Builds a document in memory. Use the calls with a key inside an object, and those without inside an array. Text that
/// is not UTF-8 gets replacement characters; non-finite numbers become the strings "nan", "inf", "-inf".
class JsonOut {
 public:
  JsonOut();
  /// Begins a document with the member "schema"; document() ends it.
  explicit JsonOut(const char* schema);
  ~JsonOut();
  JsonOut(const JsonOut&) = delete;
  JsonOut& operator=(const JsonOut&) = delete;

  void begin_object();
  void begin_object(std::string_view key);
  void end_object();
  void begin_array();
  void begin_array(std::string_view key);
  void end_array();

  void text(std::string_view value);
  void text(std::string_view key, std::string_view value);
  void count(std::uint64_t value);
  void count(std::string_view key, std::uint64_t value);
  void integer(std::string_view key, std::int64_t value);
  void real(double value);
  void real(std::string_view key, double value);
  /// Writes `digits` as a number, or as a string if they are "nan", "inf" or "-inf".
  void number(std::string_view digits);
  void flag(std::string_view key, bool value);
  void null(std::string_view key);
  void count(std::string_view key, const std::optional<std::uint64_t>& value);  ///< null if there is no value
  void real(std::string_view key, const std::optional<double>& value);          ///< null if there is no value
  void text_or_null(std::string_view key, std::string_view value);              ///< null for ""
  /// A path as text. If it is not UTF-8, a second member "<key>_b64" has its exact bytes.
  void path(std::string_view key, std::string_view value);

  /// A member, formatted by the type of its value: text, number, boolean or list of those. An empty optional becomes
  /// null.
  template <typename Value>
  void member(std::string_view key, const Value& value) {
    if constexpr (std::is_same_v<Value, bool>)
      flag(key, value);
    else if constexpr (std::is_unsigned_v<Value>)
      count(key, value);
    else if constexpr (std::is_integral_v<Value>)
      integer(key, value);
    else if constexpr (std::is_floating_point_v<Value>)
      real(key, value);
    else if constexpr (requires { text(key, value); })
      text(key, value);
    else if constexpr (!requires { value.has_value(); })
      list(key, value);
    else if (value)
      member(key, *value);
    else
      null(key);
  }
  /// Takes a key, its value, the next key, its value, and so on.
  template <typename Value, typename... More>
  void members(std::string_view key, const Value& value, const More&... more) {
    member(key, value);
    if constexpr (sizeof...(more) > 0) members(more...);
  }
  /// An object with these members.
  template <typename... Members>
  void object(std::string_view key, const Members&... member) {
    begin_object(key);
    members(member...);
    end_object();
  }

  /// An array of texts or counts.
  template <typename Values>
  void list(std::string_view key, const Values& values) {
    begin_array(key);
    for (const auto& value : values) {
      if constexpr (std::is_unsigned_v<std::decay_t<decltype(value)>>)
        count(value);
      else
        text(value);
    }
    end_array();
  }
  /// An array of objects with one path each, `member`.
  void paths(std::string_view key, const char* member, const std::vector<std::string>& values);

  /// An array with one object per item of `items`; `fill` writes its members.
  template <typename Items, typename Fill>
  void each(std::string_view key, const Items& items, Fill fill) {
    begin_array(key);
    for (const auto& item : items) {
      begin_object();
      fill(item);
      end_object();
    }
    end_array();
  }

  /// Ends the object begun by the constructor, and returns the document.
  std::string document();
  /// The document so far with a newline at its end.
  std::string line() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace titan::cli
