#include "converters/report.h"

namespace titan::convert {

const char* fate_name(Fate fate) {
  switch (fate) {
    case Fate::kWritten: return "written";
    case Fate::kTied: return "tied";
    case Fate::kDropped: return "dropped";
    case Fate::kSkipped: return "skipped";
  }
  return "written";
}

}  // namespace titan::convert
