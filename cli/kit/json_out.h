#pragma once
// Writes a JSON document. Only json_out.cpp uses the JSON library (RapidJSON).
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace titan::cli {

/// Builds a document in memory. Inside an object use the overloads with a key, inside an array those without. In text,
/// bytes that are not UTF-8 become U+FFFD; non-finite numbers become the strings "nan", "inf", "-inf". It has
/// many functions because each type of value has two, with and without a key.
class JsonOut {
 public:
  JsonOut();
  /// Begins an object with the member "schema": `schema`, for example "titan.plan/1". document() ends the object.
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

  /// Writes a member in the JSON type of `value`: string, number, boolean, or a list as by list(). An empty optional
  /// becomes null.
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
  /// Writes several members: members("a", 1, "b", "text").
  template <typename Value, typename... More>
  void members(std::string_view key, const Value& value, const More&... more) {
    member(key, value);
    if constexpr (sizeof...(more) > 0) members(more...);
  }
  /// Writes the object `key` with several members: object("mesh", "pp", 2, "dp", 4).
  template <typename... Members>
  void object(std::string_view key, const Members&... member) {
    begin_object(key);
    members(member...);
    end_object();
  }

  /// Writes an array of strings or of unsigned numbers.
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
  /// Writes an array of objects, each with one path under the key `member`.
  void paths(std::string_view key, const char* member, const std::vector<std::string>& values);

  /// Writes an array with an object for each item of `items`; `fill(item)` writes the object's members.
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

  /// Ends the outermost object, and returns the document.
  std::string document();
  /// The document so far with a newline at its end.
  std::string line() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace titan::cli
