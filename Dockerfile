# The server for a team. `docs/serving.md` explains it, and `compose.yaml` starts it.
FROM python:3.13-slim AS build
COPY . /source
RUN python -m venv /opt/server && /opt/server/bin/pip install --no-cache-dir "/source[postgres,objects,encryption]"

FROM python:3.13-slim
COPY --from=build /opt/server /opt/server
# It writes nothing but a cache of its own, so its root may be read-only and its home is /tmp.
ENV PATH=/opt/server/bin:$PATH HOME=/tmp PYTHONDONTWRITEBYTECODE=1
USER 10001:10001
EXPOSE 8765
HEALTHCHECK --interval=5s --timeout=5s --start-period=30s \
    CMD ["python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8765/healthz', timeout=3)"]
ENTRYPOINT ["context-compression"]
CMD ["serve", "--http", "--host", "0.0.0.0"]
