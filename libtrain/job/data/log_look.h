#pragma once
// Checks whether a text is a program's log. Pure.
#include <string_view>

namespace titan::train {

/// Whether most of the first lines begin with at least two of: a date, a clock time, a level ("INFO"), a process
/// ("sshd[12]"). Lines of a diary or a transcript begin with only one of these.
bool begins_as_log(std::string_view text);

}  // namespace titan::train
