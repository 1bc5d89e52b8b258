# perfcase in a container: import, SQL, report. Build the wheel first, then the image:
#   make wheel && docker build -t perfcase .
#   docker run --rm -v "$PWD:/captures" perfcase report incident.perfcase
# Recording wants the host itself: copy recorder/ there instead.
FROM python:3.12-slim

# zstd and libtraceevent are what the recorder's files and `perfcase events` need; libtraceevent (LGPL) is loaded at run time
# and can be replaced by another version.
RUN apt-get update -qq \
    && apt-get install -qq -y --no-install-recommends libtraceevent1 libtraceevent1-plugin zstd \
    && rm -rf /var/lib/apt/lists/*

COPY requirements.txt build/wheel/ /tmp/perfcase/
RUN pip install --quiet --no-cache-dir --require-hashes -r /tmp/perfcase/requirements.txt \
    && pip install --quiet --no-cache-dir --no-deps --no-index --find-links /tmp/perfcase perfcase \
    && rm -rf /tmp/perfcase

RUN useradd --create-home perfcase
USER perfcase
WORKDIR /captures
ENTRYPOINT ["perfcase"]
CMD ["--help"]
