# For Docker Spaces and for machines of one's own: docs/docker.md says how, for each device.

# A Debian or Ubuntu image with Python 3.10 or newer; for Trainium, AWS's own with torch_neuronx in it.
ARG BASE=python:3.12-slim
FROM ${BASE}

# torch.compile calls a compiler: g++ for the CPU, gcc (which comes with it) for GPUs.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends g++ \
    && rm -rf /var/lib/apt/lists/*

# Spaces run as user 1000, which some images have already. Owned by it: the folders that are written, to be mounted.
RUN (getent passwd 1000 || useradd --uid 1000 --no-create-home user) \
    && mkdir -p /home/user/.cache/accel-ui /home/user/app/outputs \
    && chown -R 1000 /home/user
ENV HOME=/home/user
WORKDIR /home/user/app

# What a device needs besides, such as torch_tpu==0.2.0.
ARG EXTRA=""
COPY requirements.txt ./
# hadolint ignore=DL3013,SC2086
RUN pip install --no-cache-dir -r requirements.txt ${EXTRA}

COPY app.py ./
COPY accel_ui ./accel_ui

# ACCEL_UI_WARMUP: the start step compiles every preset, behind the page, on the machine that will serve.
ENV GRADIO_SERVER_NAME=0.0.0.0 \
    GRADIO_SERVER_PORT=7860 \
    ACCEL_UI_WARMUP=all \
    PYTHONUNBUFFERED=1
EXPOSE 7860
USER 1000
HEALTHCHECK --interval=30s --timeout=10s --start-period=120s \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:7860/healthz', timeout=8)"]
CMD ["python", "app.py"]
