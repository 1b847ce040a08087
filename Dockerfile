# The command-line tool, built from this tree: docker build -t mpopt . && docker run -v "$PWD:/w" -w /w mpopt check model.onnx
FROM debian:bookworm AS build
RUN apt-get update -qq && apt-get install -y -qq --no-install-recommends ca-certificates git make python3 python3-venv
COPY . /mpopt
WORKDIR /mpopt
RUN MPOPT_WITHOUT_TORCH=1 scripts/build --tool release mpopt

FROM debian:bookworm-slim
COPY --from=build /mpopt/build/bin/mpopt /usr/local/bin/mpopt
COPY --from=build /mpopt/build/share /usr/local/share
USER nobody
ENTRYPOINT ["mpopt"]
