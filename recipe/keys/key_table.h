#pragma once
// Every configuration key (its default: config.h): name, where its value lives, limits, one-line doc, class, and
// whether this version can do it. Help, validation, the strict reader, full.toml, `titan-train config` and the resume
// check all come from this table.
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "ckpt/base/result.h"
#include "recipe/keys/config.h"
#include "recipe/keys/value.h"

namespace titan::recipe {

using ckpt::Result;
using ckpt::Status;

/// What a changed value means for a run that resumes.
enum class KeyClass {
  kCurve,        ///< shapes the loss curve: a difference on resume is drift
  kLayout,       ///< who computes what: free to change, same bits
  kSaving,       ///< when and where state is kept
  kLogging,      ///< what is reported
  kEnvironment,  ///< machine, threads, deadlines: at most a warning
  kStart,        ///< how this start finds its state; never drifts
};
const char* class_name(KeyClass cls);

/// Where a key's value lives in a Config; an optional may be unset.
using Slot =
    std::variant<bool*, std::int64_t*, double*, std::string*, std::optional<bool>*, std::optional<std::int64_t>*,
                 std::optional<double>*, std::optional<std::string>*, std::vector<std::string>*, SaveInterval*>;

/// Numbers from `min` to `max` (not `min` itself when `open`; only whole ones when `whole`), and `also`.
struct Range {
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
  std::optional<double> also;
  bool open = false;
  bool whole = false;
  bool contains(double value) const;  ///< false for NaN, and for infinities other than `also`
};

/// What an allowed change of a setting does from the next step on.
enum class ChangeEffect {
  kSchedule,     ///< the LR policy decides
  kInPlace,      ///< the config's value; moments and Adam's step are kept
  kGlobalBatch,  ///< the config's value at the same sample position
  kNewEpoch,     ///< a new epoch of the data begins
  kNever,        ///< cannot change within a run
};

/// What happens where a new run takes weights and a key of its model differs from the checkpoint's.
enum class TransferRule {
  kShapes,      ///< the tensors show it: the rules of --init-map decide
  kPermission,  ///< the tensors do not show it, and people change it on purpose (longer contexts): --allow permits it
  kNever,       ///< the tensors do not show it, and another value is another model
};

/// Facts that only some keys have. A row of the table names only those that differ from these defaults.
struct KeyFacts {
  Range range;                             ///< of numbers
  std::vector<std::string> choices;        ///< of strings, or of a list's items; empty: any
  std::vector<std::string> other_choices;  ///< taken as well, and named in `doc` alone
  bool any_case = false;                   ///< upper and lower case of a choice do not matter
  /// Values that answer "not supported yet"; "*": every value that is not a choice; "true" of a boolean.
  std::vector<std::string> later;
  bool lists = false;  ///< of a list: an item may be a list of words itself, and is kept as these with blanks between
  std::vector<Value> harmless;  ///< without slot: accepted besides false, "", "none" and []
  bool any_harmless = false;    ///< without slot: every value is accepted, since what it tunes is off
  std::string hint;             ///< added where a value is not supported
  bool none_is_value = false;   ///< of an optional: "none" is kept, and differs from unset
  /// Whether a value in another program's file that is not supported may be passed over with a warning. It may where,
  /// in this configuration, it changes neither the curve nor what can be resumed. The function can note a fact in the
  /// Config, as training.corpus. Null: such a value is refused.
  bool (*pass_over)(Config&, const Value&) = nullptr;
  std::string instead;  ///< what is done instead of a value that is passed over, for the warning

  // Of keys of class "curve": a checkpoint stores them as rows of accepted settings, which a resume compares.
  ChangeEffect effect = ChangeEffect::kNever;
  TransferRule transfer = TransferRule::kShapes;
  std::string acts_through;        ///< has no row of its own: it acts through this one ("model.*": through these)
  std::string unset_follows;       ///< while it is unset, its row is derived from this key
  std::string allow_as;            ///< the key that a person allows so that its row may differ; empty: itself
  std::vector<std::string> opens;  ///< rows that allowing it opens, too; those with unset_follows only while unset
  std::string row_note;            ///< what its row says, where the name alone does not
  bool row_if_set = false;         ///< has no row while it is unset: checkpoints from before it keep their bytes
  bool own_concept = false;        ///< other trainers do not have it in this form: imports say nothing of it

  bool of_machine = false;           ///< a place on disk, which may differ between the ranks of a run
  std::vector<std::string> aliases;  ///< names that torchtitan gave or gives to it
};

/// One key. Rows are written as {.facts}, name, class, slot, doc.
struct Key : KeyFacts {
  std::string name;  ///< "section.key"; "section.*" stands for everything below (no slot)
  KeyClass cls = KeyClass::kCurve;
  Slot (*slot)(Config&) = nullptr;  ///< null: known, has no effect here, accepted only with a harmless value
  std::string doc;                  ///< one line; says what unset means where it can be unset
};

/// Another name of a key, with the same meaning (KeyFacts::aliases).
struct Alias {
  std::string name, key;
};

/// Every key; those with a slot first, in the order of full.toml.
const std::vector<Key>& key_table();
const std::vector<Alias>& key_aliases();

/// Returns the key of that exact name (or the "section.*" above it), else null. Aliases are not followed.
const Key* find_key(std::string_view name);
/// Returns the canonical name: aliases resolved, other names unchanged.
std::string canonical_name(std::string_view name);
/// Returns the key or flag that other programs call so (habits.h), else the known name nearest to a mistyped one, else
/// "".
std::string suggest_key(std::string_view name);

/// Whether all ranks of a run must have the same value. Each machine may have its own places on disk, threads and
/// deadlines.
bool same_on_all_ranks(const std::string& name);

bool is_bool(const Key& key);
bool is_string(const Key& key);
bool is_optional(const Key& key);
/// Returns "integer", "float", "boolean", "string", "list", "interval"; "any" without slot.
std::string type_name(const Key& key);
/// Returns "an integer of at least 1, or -1", "one of \"a\", \"b\"": what the key accepts.
std::string expectation(const Key& key);

/// Reads the key's value; nothing when it is unset. The key has a slot.
std::optional<Value> get_value(const Key& key, const Config& config);
/// Checks `value` and stores it; "none" unsets an optional key, unless it is one of its values. `name`: how a key below
/// a "section.*" was called.
/// \error kInvalid: wrong type, out of range, no such choice; kUnsupported: not built yet. Messages start with the key.
Status set_value(const Key& key, const Value& value, Config& config, std::string_view name = {});
/// The same without the key's name in kInvalid messages: "expected ..., found ...".
Status put_value(const Key& key, const Value& value, Config& config, std::string_view name = {});
/// Checks every value of a Config against the table. \error as set_value.
Status check_values(const Config& config);

}  // namespace titan::recipe
