# Both programs on Debian 12, and the LibTorch that they were built with.
#   docker build -t titan .      (--build-arg PIP_INDEX_URL=... of an index with CPU wheels of torch makes the image much smaller)
#   docker run --rm -v "$PWD:/data" titan titan-train run config.toml
FROM debian:bookworm AS build
ARG PIP_INDEX_URL
WORKDIR /src
COPY . .
RUN scripts/bootstrap
RUN cmake --preset release -DTITAN_TESTS=OFF && cmake --build --preset release
RUN scripts/package --out /packages && mkdir /titan && for package in /packages/*.tar.gz; do tar -xzf "$package" -C /titan --strip-components=1; done

FROM debian:bookworm-slim
RUN apt-get update && apt-get install -y --no-install-recommends libstdc++6 && rm -rf /var/lib/apt/lists/*
COPY --from=build /src/.deps/venv/lib/python3.11/site-packages /opt/site-packages
COPY --from=build /titan /usr/local
ENV TITAN_TORCH_DIR=/opt/site-packages/torch
WORKDIR /data
CMD ["titan-train", "--help"]
