# Serves projects under /projects over HTTP, as a user without rights; data in /data. It starts once there is a token:
# `docker compose run --rm deltos token create NAME`.
FROM python:3.13-slim AS build
WORKDIR /build
COPY pyproject.toml hatch_build.py README.md LICENSE CHANGELOG.md ./
COPY src src
# pip compiles what it installs; that stays, because at run time nothing can be written beside it.
RUN python -m venv /opt/deltos && /opt/deltos/bin/pip install --no-cache-dir ".[postgres]" && /opt/deltos/bin/pip uninstall --yes pip

FROM python:3.13-slim
RUN apt-get update && apt-get install --yes --no-install-recommends git && rm -rf /var/lib/apt/lists/* \
    && useradd --uid 10001 --create-home deltos && mkdir /data /projects && chown deltos:deltos /data && chmod 700 /data
COPY --from=build /opt/deltos /opt/deltos
ENV PATH=/opt/deltos/bin:$PATH DELTOS_HOME=/data PYTHONDONTWRITEBYTECODE=1
USER deltos
VOLUME /data
WORKDIR /projects
EXPOSE 8731
HEALTHCHECK --interval=30s --timeout=5s --start-period=10s \
    CMD ["python", "-c", "import socket; socket.create_connection(('127.0.0.1', 8731), 3).close()"]
ENTRYPOINT ["deltos"]
CMD ["mcp", "--http", "0.0.0.0:8731", "--root", "/projects", "/projects"]
