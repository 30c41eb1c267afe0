# `sage serve` in a container. The image keeps nothing: everything that changes is in the volume at /data.
# Written and checked by tests/serve/test_container_files.py; it was never built on the machine that it was written on.
FROM python:3.11-slim AS build
WORKDIR /src
COPY . .
RUN pip install --no-cache-dir --prefix=/install ".[postgres]"

FROM python:3.11-slim
RUN useradd --uid 10001 --create-home --home-dir /home/sage sage && mkdir /data && chown sage:sage /data
COPY --from=build /install /usr/local
ENV SAGE_HOME=/data/.sage PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
USER sage
WORKDIR /data
VOLUME ["/data"]
EXPOSE 7245
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:7245/healthz', timeout=4)"]
ENTRYPOINT ["sage", "serve"]
CMD ["--host", "0.0.0.0", "--port", "7245", "--allowed-host", "localhost:7245"]
