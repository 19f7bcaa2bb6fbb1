// Prints the compute tables of the schedules for p 2..8, v 1..4, m 1..32: what tests/interop/pipeline_oracle.py
// compares. A line "= NAME p v m", then a row per rank.
#include <cstdio>

#include "libtrain/job/schedule/schedule.h"

int main() {
  using namespace titan;
  for (const recipe::ScheduleFacts& facts : recipe::schedules()) {
    for (std::uint32_t p = 2; p <= 8; ++p) {
      for (std::uint32_t v = 1; v <= 4; ++v) {
        for (std::uint32_t m = 1; m <= 32; ++m) {
          const auto table = train::make_schedule(facts.kind, {p, v, m});
          if (!table.ok()) continue;
          std::printf("= %s %u %u %u\n%s", facts.name, p, v, m, train::to_csv(*table).c_str());
        }
      }
    }
  }
}
