"""The server of live pages: the loopback address, one token, reading alone.

It has two paths and no files: what it shows comes from the sources that it was started with,
whatever a request asks for. Requests need the token; their host must be the loopback address,
so that a page of elsewhere whose name was made to lead there has none."""

import hmac
import secrets

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route

from mpopt import _page
from mpopt._command import Error
from mpopt.view.sources import Sources

HOST = "127.0.0.1"
_HOSTS = {HOST, "localhost", "[::1]"}
_HEADERS = {"Cache-Control": "no-store", "Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff",
            "X-Frame-Options": "DENY", "Cross-Origin-Resource-Policy": "same-origin"}


def make_token() -> str:
    return secrets.token_urlsafe(24)


def _host(request: Request) -> str:
    host = request.headers.get("host", "")
    return host.rsplit(":", 1)[0] if not host.endswith("]") else host


def make_app(sources: Sources, token: str) -> Starlette:
    """The ASGI application: `/` is the page, `/data` its document, 204 where the version that the
    page has is the newest."""

    def refusal(request: Request) -> Response | None:
        if _host(request) not in _HOSTS:
            return PlainTextResponse("not this host", 421, _HEADERS)
        given = request.query_params.get("token", "")
        if not hmac.compare_digest(given.encode(errors="replace"), token.encode()):
            return PlainTextResponse("the address needs its token", 403, _HEADERS)
        return None

    async def page(request: Request) -> Response:
        return refusal(request) or HTMLResponse(_page.live(token), headers=_HEADERS)

    async def data(request: Request) -> Response:
        if refused := refusal(request):
            return refused
        version = request.query_params.get("version", "")

        def read() -> str | None:
            if version and sources.version() == version:
                return None
            return _page.to_json(sources.document())

        try:
            text = await run_in_threadpool(read)
        except (Error, OSError) as error:
            return PlainTextResponse(str(error), 503, _HEADERS)
        if text is None:
            return Response(status_code=204, headers=_HEADERS)
        return Response(text, media_type="application/json", headers=_HEADERS)

    return Starlette(routes=[Route("/", page, methods=["GET"]), Route("/data", data, methods=["GET"])])


def serve(sources: Sources, port: int, tell) -> None:
    """Serves until it is interrupted. `tell` gets the address once it answers; port 0: a free one."""
    import socket

    import uvicorn

    token = make_token()
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((HOST, port))
        except OSError as error:
            raise Error(f"port {port} of {HOST}: {error.strerror}") from error
        listener.listen()
        tell(f"http://{HOST}:{listener.getsockname()[1]}/?token={token}")
        config = uvicorn.Config(make_app(sources, token), log_level="warning", access_log=False, lifespan="off",
                                server_header=False, timeout_graceful_shutdown=1)
        uvicorn.Server(config).run(sockets=[listener])
