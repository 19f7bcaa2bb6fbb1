// titan-simulate-schedule HOP F,I,W F,I,W ... < TABLE.csv: how long a step of a pipeline takes where F, I and W of each
// stage take so long (B takes I and W), in the unit of the costs; a tool of `scripts/bench pipeline`.
#include <cstdio>
#include <iostream>
#include <iterator>
#include <string>

#include "ckpt/base/text.h"
#include "libtrain/job/schedule/schedule_csv.h"
#include "libtrain/job/schedule/schedule_simulator.h"

int main(int argc, char** argv) {
  using namespace titan;
  const auto number = [](const std::string& word) { return ckpt::number_of<double>(word).value_or(-1); };
  train::ScheduleCosts costs;
  for (int i = 1; i < argc; ++i) {
    const auto words = ckpt::split(argv[i], ',');
    if (i == 1) costs.hop = number(words[0]);
    if (i == 1 || words.size() != 3) continue;
    costs.forward.push_back(number(words[0]));
    costs.input.push_back(number(words[1]));
    costs.weight.push_back(number(words[2]));
  }
  const std::string text{std::istreambuf_iterator<char>(std::cin), {}};
  const auto csv = train::parse_schedule_csv(text);
  const auto simulation = csv.ok() ? train::simulate(csv->table, costs) : csv.status();
  if (!simulation.ok()) {
    std::fprintf(stderr, "%s\n", simulation.status().to_string().c_str());
    return 2;
  }
  std::printf("%.17g %.17g\n", simulation->makespan, simulation->idle_share);
}
