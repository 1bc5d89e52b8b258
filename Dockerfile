# perfcase in a container: the server with its page, and the whole command line. Everything is built here, in stages:
#   docker build -t perfcase .
#   docker run -v perfcase:/srv/perfcase -p 127.0.0.1:8640:8640 perfcase             the server; its log has the first token
#   docker run --rm -v "$PWD:/captures" -w /captures perfcase perfcase report incident.perfcase
# Recording wants the host itself: the server offers /recorder/perfcase-record, and recorder/container/ is a pod that records a node.
FROM rust:1.95-slim-bookworm AS tools
RUN apt-get update -qq \
    && apt-get install -qq -y --no-install-recommends gcc libc6-dev make python3 python3-venv \
        gcc-x86-64-linux-gnu libc6-dev-amd64-cross gcc-aarch64-linux-gnu libc6-dev-arm64-cross \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY requirements-build.txt .
# Node, maturin and hatchling, by the versions and hashes that the tests use.
RUN python3 -m venv .venv && .venv/bin/pip install --quiet --no-cache-dir --require-hashes -r requirements-build.txt

FROM tools AS page
COPY scripts/page.sh scripts/
COPY api/web api/web
RUN scripts/page.sh

FROM tools AS recorder
# The version.
COPY Cargo.toml LICENSE ./
COPY scripts/recorder.sh scripts/
COPY recorder recorder
RUN make --no-print-directory -s -C recorder && scripts/recorder.sh

FROM tools AS wheels
COPY . .
COPY --from=page /src/api/perfcase_api/page api/perfcase_api/page
# What says that the page is built.
COPY --from=page /src/api/web/node_modules/.built api/web/node_modules/
COPY --from=recorder /src/recorder/build recorder/build
RUN scripts/wheel.sh /wheels

FROM python:3.12-slim
# zstd and libtraceevent are what the recorder's files and `perfcase events` need; libtraceevent (LGPL) is loaded at run time
# and can be replaced by another version.
RUN apt-get update -qq \
    && apt-get install -qq -y --no-install-recommends libtraceevent1 libtraceevent1-plugin zstd \
    && rm -rf /var/lib/apt/lists/*
COPY requirements.txt /tmp/perfcase/
RUN pip install --quiet --no-cache-dir --require-hashes -r /tmp/perfcase/requirements.txt
RUN --mount=type=bind,from=wheels,source=/wheels,target=/wheels \
    pip install --quiet --no-cache-dir --no-deps --no-index --find-links /wheels perfcase perfcase-api \
    && useradd --create-home perfcase \
    && install -d -o perfcase -g perfcase -m 700 /srv/perfcase
USER perfcase
# What the first import would otherwise wait for.
RUN python -c 'from perfcase.case import database; database.template()'
VOLUME /srv/perfcase
EXPOSE 8640
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s \
    CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8640/v1/health', timeout=4).read()"]
# Tokens are asked for: --host 0.0.0.0 is refused with --open.
CMD ["perfcase", "serve", "--store", "/srv/perfcase", "--host", "0.0.0.0"]
