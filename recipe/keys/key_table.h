#pragma once
// Every configuration key: name, where its value is stored, limits, one-line documentation, class, and whether it is
// supported (config.h has the defaults). Help, validation, the loader, configs/full.toml, `titan-train config` and the
// resume check all use this table.
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "ckpt/base/result.h"
#include "recipe/keys/interval.h"
#include "recipe/keys/value.h"

namespace titan::recipe {

struct Config;

using ckpt::Result;
using ckpt::Status;

/// What a changed value of a key means for a resume.
enum class KeyClass {
  kCurve,        ///< shapes the loss curve: a difference on resume is drift
  kLayout,       ///< assigns work to ranks: may change freely, the bits stay equal
  kSaving,       ///< when and where state is saved
  kLogging,      ///< what is reported
  kEnvironment,  ///< machine, threads, deadlines: a difference gives at most a warning
  kStart,        ///< which state this start loads; not compared on a resume
};
/// "curve", "layout", ...
const char* class_name(KeyClass cls);

/// A pointer to the key's value in a Config. An optional may be unset. A key that has no effect in Titan has none.
using ValuePointer =
    std::variant<bool*, std::int64_t*, double*, std::string*, std::optional<bool>*, std::optional<std::int64_t>*,
                 std::optional<double>*, std::optional<std::string>*, std::vector<std::string>*, SaveInterval*>;

/// The numbers from `min` to `max`, and in addition the number `also`. With `open`, `min` itself is excluded; with
/// `whole`, only whole numbers are in the range.
struct Range {
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
  std::optional<double> also;
  bool open = false;
  bool whole = false;
  bool contains(double value) const;  ///< false for NaN, and for infinities other than `also`
};

/// The effect, from the next step on, of a changed setting whose change is allowed.
enum class ChangeEffect {
  kSchedule,     ///< the LR policy decides
  kInPlace,      ///< the new value is used; moments and Adam's step are kept
  kGlobalBatch,  ///< the new value is used, at the same sample position
  kNewEpoch,     ///< a new epoch of the data begins
  kNever,        ///< cannot be changed within a run
};

/// What happens when a new run takes weights from a checkpoint and a model key differs from the checkpoint's.
enum class TransferRule {
  kShapes,      ///< the difference shows in the shapes of the tensors: the rules of --init-map decide
  kPermission,  ///< shapes do not show it, but users change it on purpose (longer contexts): --allow permits it
  kNever,       ///< shapes do not show it, and another value would be another model: refused
};

/// Facts that only some keys have. A row of the table sets only those that differ from these defaults.
struct KeyFacts {
  Range range;                             ///< valid numbers
  std::vector<std::string> choices;        ///< valid strings, or items of a list; empty: any
  std::vector<std::string> other_choices;  ///< further valid strings, which only `doc` mentions
  bool any_case = false;                   ///< upper and lower case in choices are equal
  /// Values that are rejected with "not supported yet". "*": every value that is not in `choices`. "true": the value
  /// true of a boolean.
  std::vector<std::string> unsupported;
  bool lists = false;  ///< for a list: an item may itself be a list of words, and is stored as these words with blanks
                       ///< between them
  std::vector<Value> harmless;  ///< for a key without effect: values accepted in addition to false, "", "none" and []
  bool any_harmless = false;    ///< for a key without effect: every value is accepted, because its feature is off
  std::string hint;             ///< added to the error about a value that is not supported
  bool none_is_value = false;   ///< for an optional: "none" is stored, and differs from unset
  /// Whether an unsupported value in a file (not of a flag) may be ignored with a warning: only if in this
  /// configuration it changes neither the loss curve nor what can be resumed. The function may record a fact in the
  /// Config (for example training.corpus). Null: such a value is rejected.
  bool (*ignore_if)(Config&, const Value&) = nullptr;
  std::string instead;  ///< what Titan does instead of the ignored value, for the warning

  // For keys of class "curve": a checkpoint stores them as rows of accepted settings, and a resume compares these.
  ChangeEffect effect = ChangeEffect::kNever;
  TransferRule transfer = TransferRule::kShapes;
  std::string acts_through;   ///< another key, whose row stands for this key, which has no row of its own ("model.*":
                              ///< the rows of the section)
  std::string unset_follows;  ///< another key, from which the row is derived while this key is unset
  std::string allow_as;       ///< the key to give to --allow to permit a changed row; empty: this key
  std::vector<std::string> opens;  ///< further rows that may differ if this key is allowed; those with unset_follows
                                   ///< only while they are unset
  std::string row_note;            ///< the meaning of the row, if its name is not enough
  bool row_if_set = false;         ///< no row while the key is unset, so that checkpoints without it keep their bytes
  bool own_concept = false;        ///< other trainers have no such setting: checkpoints from them have no row of it

  bool of_machine = false;           ///< a path or property of the host, which may differ between the ranks of a run
  std::vector<std::string> aliases;  ///< names of this key in other versions of torchtitan
};

/// One key: a row of the table.
struct Key : KeyFacts {
  std::string name;  ///< "section.key"; "section.*" stands for every key of the section, without effect
  KeyClass cls = KeyClass::kCurve;
  ValuePointer (*value_in)(Config&) =
      nullptr;      ///< null: a known key without effect, accepted only with a harmless value
  std::string doc;  ///< one line; for an optional key it says what unset means
};

// The rows of the table: Titan's keys, and keys of torchtitan that have no effect in Titan.
std::vector<Key> own_keys();         // own_keys.cpp
std::vector<Key> torchtitan_keys();  // torchtitan_keys.cpp

// Functions for KeyFacts::ignore_if: the conditions under which an unsupported value may be ignored.
bool always(Config&, const Value&);
bool without_stages(Config& config, const Value&);

/// Another name of a key (KeyFacts::aliases).
struct Alias {
  std::string name, key;
};

/// Every key. Those with an effect come first, in the order of full.toml.
const std::vector<Key>& key_table();
/// Every alias.
const std::vector<Alias>& key_aliases();

/// Returns the key with exactly this name (or the "section.*" that contains it), else null. Does not resolve aliases.
const Key* find_key(std::string_view name);
/// Returns the canonical name: resolves aliases, leaves other names unchanged.
std::string canonical_name(std::string_view name);
/// Returns the key or flag that has this name in other programs (foreign_key_names.h), else the nearest known name,
/// else "".
std::string suggest_key(std::string_view name);

/// Whether all ranks of a run must have the same value. Paths, threads and timeouts may differ by host.
bool same_on_all_ranks(const std::string& name);

bool is_bool(const Key& key);
bool is_string(const Key& key);
bool is_optional(const Key& key);
/// Returns "integer", "float", "boolean", "string", "list" or "interval"; "any" for a key without effect.
std::string type_name(const Key& key);
/// Describes what the key accepts: "an integer of at least 1, or -1", "one of \"a\", \"b\"".
std::string expectation(const Key& key);

/// Reads the value of a key with an effect; nullopt when it is unset.
std::optional<Value> get_value(const Key& key, const Config& config);
/// Checks `value` and stores it. "none" unsets an optional key, unless "none" is one of its values, and empties a list.
/// `name`: the name as typed, for a "section.*" key.
/// \error kInvalid: wrong type, out of range, not a choice (the message starts with the key); kUnsupported: not
/// implemented
Status set_value(const Key& key, const Value& value, Config& config, std::string_view name = {});
/// As set_value(), but kInvalid messages lack the key's name: "expected ..., found ...".
Status put_value(const Key& key, const Value& value, Config& config, std::string_view name = {});
/// Checks every value of a Config against the table. \error as set_value
Status check_values(const Config& config);

}  // namespace titan::recipe
