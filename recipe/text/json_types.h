#pragma once
// Reads the parts of tokenizer.json: objects with a "type". A key whose value is null counts as missing. Pure.
#include <string>
#include <vector>

#include "ckpt/base/result.h"
#include "ckpt/format/json_value.h"

namespace titan::recipe {

/// The value of "type"; "" if it is missing or no string.
std::string type_of(const ckpt::JsonValue& part);
/// The boolean value of `key`; `when_absent` if it is missing. \error kInvalid: another type
ckpt::Result<bool> flag_of(const ckpt::JsonValue& part, const char* key, bool when_absent);
/// The string value of `key`. \error kInvalid: missing, or another type
ckpt::Result<std::string> text_of(const ckpt::JsonValue& part, const char* key);
/// If `part` is a Sequence: the parts in its list `key`, with nested Sequences in place; else `part` itself. \error
/// kInvalid: no list, or more than 32 parts
ckpt::Result<std::vector<const ckpt::JsonValue*>> parts_of(const ckpt::JsonValue& part, const char* key);
/// Whether replacing `from` by `to` can make a text more than four times as long. No real tokenizer does this, and
/// refusing it bounds the size of texts.
bool grows(const std::string& from, const std::string& to);
/// The error about a part of kind `what` whose type `type` is not supported.
ckpt::Status refused_type(const char* what, const std::string& type);

}  // namespace titan::recipe
