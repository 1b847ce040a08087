"""mpopt-lsp-server, spoken to as an editor does."""

import json
import os
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SERVER = pathlib.Path(os.environ.get("MPOPT_BUILD", ROOT / "build")) / "bin" / "mpopt-lsp-server"

OVERFLOW = """// A mask of an attention, as a test writes it: \u00e9\U0001d11e
func.func @f(%x: tensor<4096xf16>) -> tensor<4096xf16> {
  %c = mp.constant dense<3.0e+4> : tensor<4096xf16>
  %0 = mp.mul %x, %c : (tensor<4096xf16>, tensor<4096xf16>) -> tensor<4096xf16>
  return %0 : tensor<4096xf16>
}
"""
CLEAN = OVERFLOW.replace("3.0e+4", "3.0")


class Editor:
    def __init__(self, *options):
        self.server = subprocess.Popen([SERVER, *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE)
        self.version = 0
        self.ids = 0
        self.capabilities = self.ask("initialize", {"processId": None, "rootUri": None, "capabilities": {}})
        self.tell("initialized", {})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.kill()
        self.server.wait()
        for stream in (self.server.stdin, self.server.stdout, self.server.stderr):
            if not stream.closed:
                stream.close()

    def write(self, message):
        body = message if isinstance(message, bytes) else json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.server.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.server.stdin.flush()

    def read(self):
        length = 0
        while line := self.server.stdout.readline().strip():
            name, value = line.split(b":")
            if name == b"Content-Length":
                length = int(value)
        assert length, self.server.stderr.read()
        return json.loads(self.server.stdout.read(length))

    def tell(self, method, params):
        self.write({"method": method, "params": params})

    def ask(self, method, params):
        self.ids += 1
        self.write({"id": self.ids, "method": method, "params": params})
        answer = self.read()
        assert answer["id"] == self.ids
        return answer["result"]

    def diagnostics(self):
        message = self.read()
        assert message["method"] == "textDocument/publishDiagnostics"
        assert message["params"]["version"] == self.version
        return message["params"]["diagnostics"]

    def open(self, path, text):
        self.version += 1
        self.tell("textDocument/didOpen", {"textDocument": {
            "uri": path.as_uri(), "languageId": "mlir", "version": self.version, "text": text}})
        return self.diagnostics()

    def change(self, path, text):
        self.version += 1
        self.tell("textDocument/didChange", {
            "textDocument": {"uri": path.as_uri(), "version": self.version}, "contentChanges": [{"text": text}]})
        return self.diagnostics()

    def close(self, path):
        self.tell("textDocument/didClose", {"textDocument": {"uri": path.as_uri()}})
        return self.diagnostics()

    def leave(self):
        self.ask("shutdown", None)
        self.tell("exit", None)
        return self.server.wait(timeout=60)


def place(text, needle):
    """The range of `needle` in the text, as the protocol counts."""
    line = next(number for number, line in enumerate(text.split("\n")) if needle in line)
    start = text.split("\n")[line].index(needle)
    return {"start": {"line": line, "character": start}, "end": {"line": line, "character": start + len(needle)}}


def test_a_finding_comes_and_goes(tmp_path):
    path = tmp_path / "a model.mlir"
    with Editor() as editor:
        found = {item["code"]: item for item in editor.open(path, OVERFLOW)}
        overflow = found["MP201"]
        assert overflow["source"] == "mpopt" and overflow["severity"] == 1
        assert "65504" in overflow["message"]
        assert overflow["range"] == place(OVERFLOW, "mp.mul")
        causes = overflow["relatedInformation"]
        assert all(cause["message"] and cause["location"]["uri"] == path.as_uri() for cause in causes)
        assert place(OVERFLOW, "mp.constant") in [cause["location"]["range"] for cause in causes]
        assert editor.change(path, CLEAN) == []
        assert "MP201" in {item["code"] for item in editor.change(path, OVERFLOW)}
        assert editor.close(path) == []
        assert editor.leave() == 0


def test_severities(tmp_path):
    text = """func.func @f(%x: tensor<4096xf16>, %y: tensor<4096xf32>) -> tensor<4096xf32> {
  %0 = mp.add %x, %y : (tensor<4096xf16>, tensor<4096xf32>) -> tensor<4096xf32>
  return %0 : tensor<4096xf32>
}
"""
    with Editor() as editor:
        found = {item["code"]: item["severity"] for item in editor.open(tmp_path / "m.mlir", text)}
        assert found.get("MP103") == 2, found


def test_options(tmp_path):
    wide = OVERFLOW.replace("f16", "f32")
    with Editor() as editor:
        assert editor.open(tmp_path / "m.mlir", wide) == []
    with Editor("--precision=fp16", "--min-certainty=certain") as editor:
        assert "MP201" not in {item["code"] for item in editor.open(tmp_path / "m.mlir", wide)}
    with Editor("--precision=fp16", "--min-certainty=likely") as editor:
        assert "MP201" in {item["code"] for item in editor.open(tmp_path / "m.mlir", wide)}
    with Editor("--precision=no-such") as editor:
        message, = editor.open(tmp_path / "m.mlir", wide)
        assert message["severity"] == 1 and "no-such" in message["message"]


def test_modules_of_one_file(tmp_path):
    """A line of dashes starts another module, whose lines go on."""
    text = CLEAN + "// -----\n\n// Nothing.\n// -----\n" + OVERFLOW
    with Editor() as editor:
        overflow, = [item for item in editor.open(tmp_path / "m.mlir", text) if item["code"] == "MP201"]
        assert overflow["range"]["start"]["line"] == place(OVERFLOW, "mp.mul")["start"]["line"] + 10


def test_places_in_the_models_program_give_way(tmp_path):
    text = OVERFLOW.replace("-> tensor<4096xf16>\n  return",
                            '-> tensor<4096xf16> loc(fused<#mp.origin<"/Mul", "Mul", "", ["a"]>>["m.py":70:1])\n  return')
    assert "m.py" in text
    with Editor() as editor:
        overflow, = [item for item in editor.open(tmp_path / "m.mlir", text) if item["code"] == "MP201"]
        assert overflow["range"] == place(OVERFLOW, "mp.mul")


def test_errors_of_the_parser_stay(tmp_path):
    with Editor() as editor:
        for text in ["func.func @f(", OVERFLOW.replace("mp.mul %x", "mp.mul %z"), OVERFLOW.replace("mp.mul", "mp.no")]:
            path = tmp_path / f"{len(text)}.mlir"
            errors = editor.open(path, text)
            assert [item["severity"] for item in errors] == [1]
            assert errors[0]["source"] == "mlir"
        # Types are inferred by mpopt alone.
        wrong = OVERFLOW.replace("-> tensor<4096xf16>\n  return", "-> tensor<5xf16>\n  return")
        assert {item["severity"] for item in editor.open(tmp_path / "w.mlir", wrong)} == {1}


def test_what_mlirs_server_knows(tmp_path):
    path = tmp_path / "m.mlir"
    with Editor() as editor:
        assert editor.capabilities["capabilities"]["hoverProvider"]
        editor.open(path, OVERFLOW)
        target, = editor.ask("textDocument/definition", {
            "textDocument": {"uri": path.as_uri()}, "position": place(OVERFLOW, "%c :")["start"]})
        assert target["range"]["start"] == place(OVERFLOW, "%c = ")["start"]
        hover = editor.ask("textDocument/hover", {
            "textDocument": {"uri": path.as_uri()}, "position": place(OVERFLOW, "mp.mul")["start"]})
        assert "mp.mul" in hover["contents"]["value"]


@pytest.mark.parametrize("text", [
    "[" * 200_000,
    "#a = [" + "[" * 5000 + "]" * 5000 + "]",
    "module attributes {a = " + "tensor<" * 100_000,
    "\u0000\u0001\ufffd" * 1000,
    "// -----\n" * 2000,
    "mp.constant dense<\"0x" + "F" * 1_000_000 + "\"> : tensor<4096xf16>",
    '"' * 9999,
    "MLïR",
], ids=["brackets", "attribute", "types", "bytes", "parts", "hex", "quotes", "magic"])
def test_hostile_texts(tmp_path, text):
    with Editor() as editor:
        path = tmp_path / "m.mlir"
        editor.open(path, text)
        assert "MP201" in {item["code"] for item in editor.change(path, OVERFLOW)}
        assert editor.leave() == 0


def test_a_text_that_is_refused_says_so(tmp_path):
    with Editor() as editor:
        error, = editor.open(tmp_path / "m.mlir", "[" * 100_000)
        assert error["severity"] == 1 and "nested" in error["message"]


def test_a_large_text(tmp_path):
    lines = [f"  %{n + 1} = mp.add %{n}, %{n} : (tensor<4096xf16>, tensor<4096xf16>) -> tensor<4096xf16>" for n in range(5000)]
    text = "\n".join(["func.func @f(%x: tensor<4096xf16>) -> tensor<4096xf16> {",
                      "  %0 = mp.relu %x : (tensor<4096xf16>) -> tensor<4096xf16>", *lines,
                      "  return %5000 : tensor<4096xf16>", "}"])
    with Editor() as editor:
        found = editor.open(tmp_path / "m.mlir", text)
        assert "MP201" in {item["code"] for item in found}


def test_messages_that_are_none(tmp_path):
    """They are left out, and the next one is answered."""
    with Editor() as editor:
        for body in [b"{", b"[" * 100_000, b"[]", b"null", b'{"jsonrpc":"2.0","method":7}', b"\xff\xfe"]:
            editor.write(body)
        assert "MP201" in {item["code"] for item in editor.open(tmp_path / "m.mlir", OVERFLOW)}


def test_the_editor_goes_away(tmp_path):
    with Editor() as editor:
        editor.open(tmp_path / "m.mlir", OVERFLOW)
        editor.server.stdin.close()
        editor.server.wait(timeout=60)


def test_help():
    run = subprocess.run([SERVER, "--help"], capture_output=True, text=True, timeout=60)
    assert run.returncode == 0 and "--min-certainty" in run.stdout and "--precision" in run.stdout
