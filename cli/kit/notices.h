#pragma once
// What `--licenses` prints: the notices of everything that a program is linked with. Each program holds its own.

namespace titan::cli {

extern const char* const kNoticesOfTitanCkpt;
extern const char* const kNoticesOfTitanTrain;

}  // namespace titan::cli
