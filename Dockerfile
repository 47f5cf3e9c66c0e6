# docker build -t tisim . && docker run --rm -v "$PWD:/work" tisim replay --platform p.xml trace.tit
FROM debian:12-slim AS development
RUN apt-get update && apt-get install -y --no-install-recommends \
      ca-certificates clang g++ gfortran git iproute2 libopenmpi-dev libsimgrid-dev make nodejs npm \
      openmpi-bin python3-dev python3-venv valgrind \
    && rm -rf /var/lib/apt/lists/*

FROM development AS build
COPY . /tisim
RUN python3 -m venv /opt/tisim && /opt/tisim/bin/pip install --no-cache-dir "/tisim[all]"

FROM debian:12-slim
RUN apt-get update && apt-get install -y --no-install-recommends gcc libopenmpi-dev openmpi-bin python3 \
    && rm -rf /var/lib/apt/lists/*
COPY --from=build /opt/tisim /opt/tisim
ENV PATH=/opt/tisim/bin:$PATH
WORKDIR /work
ENTRYPOINT ["tisim"]
