namespace { [[maybe_unused]] int titan_unused; }
