"""scripts/new-rule, new-op, new-format, new-domain and generate-docs, in a copy of the tree.

Building what they write takes too long here: TableGen accepts the records, the pieces
are where the build looks for them, and, with the flags of a build that is there, the
compiler accepts them.
"""

from __future__ import annotations

import json
import re
import runpy
import shlex
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from tool import BUILD, ROOT

LLVM = Path("/usr/lib/llvm-22")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for folder in ("scripts", "cmake", "include", "passes", "lib", "docs", "python", "test/python/ranges", "test/unit/Numerics"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for file in ("CMakeLists.txt", "test/unit/CMakeLists.txt"):
        shutil.copy(ROOT / file, tmp_path / file)
    return tmp_path


def run(tree: Path, script: str, *arguments: str, status: int = 0) -> str:
    done = subprocess.run([tree / "scripts" / script, *arguments], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.mark.parametrize("script", ["build", "check-python", "demo", "format", "release", "setup", "test", "tidy", "wheel"])
def test_help_does_nothing_else(script: str, tmp_path: Path) -> None:
    """A copy of the script alone, so that what it would do fails."""
    (tmp_path / "scripts").mkdir()
    for name in (script, "usage.sh"):
        shutil.copy(ROOT / "scripts" / name, tmp_path / "scripts" / name)
    first = (ROOT / "scripts" / script).read_text().splitlines()[1].removeprefix("# ")
    assert run(tmp_path, script, "--help").startswith(f"{first}\n")
    assert sorted(path.name for path in tmp_path.rglob("*")) == sorted([script, "scripts", "usage.sh"])


def tablegen(tree: Path, *arguments: str) -> str:
    return subprocess.run([LLVM / "bin/mlir-tblgen", f"-I{LLVM / 'include'}", f"-I{tree / 'include'}", f"-I{tree}",
                           *arguments], cwd=tree, check=True, capture_output=True, text=True).stdout


def read_records(tree: Path) -> list[str]:
    return [path.read_text() for path in sorted((tree / "passes/rules").rglob("*.td"))]


def test_docs_are_fresh():
    assert run(ROOT, "generate-docs", "--check") == ""


def test_stale_docs_are_found(tree: Path):
    (tree / "docs/rules.md").write_text("old")
    (tree / "docs/rules/MP000.md").write_text("a rule that is no more")
    (tree / "docs/confirm.md").write_text("<!-- generated: tests -->\nold\n<!-- end -->\n")
    (tree / "docs/probes.md").write_text("<!-- measured: probe-statistics.off_us -->old<!-- --> us\n")
    said = run(tree, "generate-docs", "--check", status=1)
    stale = re.findall(r"(\S+) is stale", said)
    assert sorted(stale) == ["docs/confirm.md", "docs/probes.md", "docs/rules.md", "docs/rules/MP000.md"]
    run(tree, "generate-docs")
    run(tree, "generate-docs", "--check")
    assert re.search(r"-->[\d.]+<!-- --> us", (tree / "docs/probes.md").read_text())


@pytest.mark.parametrize("text, reason", [
    ("<!-- measured: start-up.never -->1<!-- -->", "no figure 'start-up.never' in docs/measured.json"),
    ("<!-- generated: measured never -->\n<!-- end -->", "no table 'never' in docs/measured.json"),
    ("<!-- generated: never -->\n<!-- end -->", "nobody makes the block 'never'")])
def test_what_nobody_makes_is_refused(tree: Path, text: str, reason: str):
    (tree / "docs/new.md").write_text(text)
    assert reason in run(tree, "generate-docs", "--check", status=1)


def test_every_figure_is_in_a_page():
    pages = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs").rglob("*.md"))
    for group, measured in json.loads((ROOT / "docs/measured.json").read_text(encoding="utf-8")).items():
        assert measured["command"]
        for name in measured.get("figures", {}):
            assert f"<!-- measured: {group}.{name} -->" in pages
        if "table" in measured:
            assert f"<!-- generated: measured {group} -->" in pages


def test_reference_of_ops_and_passes(tmp_path: Path):
    run(ROOT, "generate-docs", "--reference", str(tmp_path))
    assert {path.name for path in (tmp_path / "ops").iterdir()} == {
        "index.md", *(re.sub(r"(?<!^)(?=[A-Z])", "-", family).lower() + ".md"
                       for family in [*FAMILIES, "Gradient"])}
    assert "## `mp.conv`" in (tmp_path / "ops/linear.md").read_text()
    gradients = (tmp_path / "ops/gradient.md").read_text()
    assert "## `mp.attention_grad`" in gradients and "## `mp.attention`" not in gradients
    passes = (tmp_path / "passes.md").read_text()
    assert "## `-mp-emit-findings`" in passes and "rule-overflow" not in passes


def test_new_rule(tree: Path):
    files = run(tree, "new-rule", "MP999", "quite-new-rule", "dtype", "--severity", "note").split()
    assert files == ["passes/rules/Rules/Dtype.td", "passes/rules/dtype/QuiteNewRule.cpp",
                     "test/Rules/dtype/quite-new-rule.mlir", "passes/rules/CMakeLists.txt"]
    generated = tablegen(tree, "-gen-pass-decls", "-name", "Rules", "passes/rules/Rules.td")
    source = (tree / files[1]).read_text()
    macro = re.search(r"#define (GEN_PASS_DEF_\w+)", source).group(1)
    assert f"#ifdef {macro}" in generated
    assert "impl::QuiteNewRuleBase<QuiteNewRule>" in source and "class QuiteNewRuleBase" in generated
    assert "  dtype/QuiteNewRule.cpp\n" in (tree / files[3]).read_text()
    assert "--rule-quite-new-rule" in (tree / files[2]).read_text()
    # Its place is after the lower ids.
    ids = re.findall(r'Rule<"(MP\d{3})"', (tree / files[0]).read_text())
    assert ids == sorted(ids)


def test_unwritten_texts_are_refused(tree: Path):
    run(tree, "new-rule", "MP999", "quite-new-rule", "dtype")
    assert "texts still to be written in Rules.td: MP999" in run(tree, "generate-docs", "--check", status=1)


@pytest.mark.parametrize("arguments, reason", [
    (["MP103", "another-name", "dtype"], "'MP103' is in Dtype.td already"),
    (["MP999", "silent-upcast", "dtype"], "'silent-upcast' is in Dtype.td already"),
    (["MPX", "a-rule", "dtype"], "'MPX' is not MPnnn"),
    (["MP999", "Bad_Name", "dtype"], "'Bad_Name' is not kebab-case"),
    (["MP999", "a-rule", "nowhere"], "no family 'nowhere': dtype, precision, quantization, range, training"),
    (["MP999"], "name (kebab-case, the bad pattern) is missing"),
])
def test_new_rule_refuses(tree: Path, arguments: list[str], reason: str):
    before = read_records(tree)
    assert run(tree, "new-rule", *arguments, status=1) == f"new-rule: {reason}\n"
    assert read_records(tree) == before


FAMILIES = re.search(r"set\(MPOPT_OP_FAMILIES\s+(.*?)\)", (ROOT / "lib/Dialect/Families.cmake").read_text(),
                     flags=re.S).group(1).split()


def is_formatted(*files: Path) -> bool:
    return not subprocess.run(["clang-format-22", "--dry-run", "--Werror", *files],
                              capture_output=True).returncode


def test_recipes_run_as_written(tree: Path):
    """The commands of CONTRIBUTING.md, but for one that somebody is following."""
    recipes = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    commands = [shlex.split(command) for command in
                re.findall(r"^ *scripts/(new-.*)$", recipes.replace("\\\n", ""), flags=re.M)]
    assert [command for command, *_ in commands] == ["new-rule", "new-op", "new-op", "new-format", "new-domain"]
    records = "".join(path.read_text() for path in [*(tree / "passes/rules/Rules").glob("*.td"),
                                                    *(tree / "include/mpopt/Dialect/Ops").glob("*.td")])
    for command, *arguments in commands:
        if f'"{arguments[0]}"' in records:
            continue
        files = run(tree, command, *arguments).split()
        assert is_formatted(*(tree / file for file in files if file.endswith(".cpp")))


@pytest.mark.parametrize("rule, family, file", [
    ("MP100", "dtype", "Dtype"), ("MP206", "range", "Range"), ("MP298", "range", "Range"),
    ("MP398", "precision", "Precision")])
def test_new_rule_is_in_its_family_by_id(tree: Path, rule: str, family: str, file: str):
    path = tree / f"passes/rules/Rules/{file}.td"
    if rule == "MP206":  # Between two.
        path.write_text(path.read_text().replace('"MP206", "division-by-zero"', '"MP297", "division-by-zero"'))
    run(tree, "new-rule", rule, "quite-new-rule", family)
    text = path.read_text(encoding="utf-8")
    ids = re.findall(r'(\w+)Rule<"(MP\d{3})", "([a-z-]+)"', text)
    assert (file, rule, "quite-new-rule") in ids
    numbers = [number for _, number, _ in ids if number != "MP297"]
    assert numbers == sorted(numbers)
    assert re.search(r"^}\n\n#endif", text, flags=re.M)
    # The build's list has the order of the records.
    sources = re.findall(rf"^  {family}/(\w+)\.cpp$", (tree / "passes/rules/CMakeLists.txt").read_text(), flags=re.M)
    assert sources == re.findall(r"^def (\w+) : \w+Rule<", text, flags=re.M)
    source = tree / f"passes/rules/{family}/QuiteNewRule.cpp"
    assert ("RangeAnalysis" in source.read_text()) == (family != "dtype")
    assert is_formatted(source)
    test = (tree / f"test/Rules/{family}/quite-new-rule.mlir").read_text()
    assert all(f"@clean_{dtype}(" in test for dtype in ("f16", "bf16", "f32"))
    assert "class QuiteNewRuleBase" in tablegen(tree, "-gen-pass-decls", "-name", "Rules", "passes/rules/Rules.td")


def end_of(text: str, function: str) -> str:
    """The last line of the function."""
    start = text.index(f"{function}(")
    return text[start:text.index("\n}", start)].splitlines()[-1].strip()


def compiles(tree: Path, *files: str) -> bool:
    """Checked with the flags of a file beside it, against records that are made anew. True
    without a build."""
    database = BUILD / "compile_commands.json"
    if not database.exists():
        return True
    commands = {Path(entry["file"]): shlex.split(entry["command"])
                for entry in json.loads(database.read_text(encoding="utf-8"))}
    for name in files:
        known = ROOT / name
        if known not in commands:
            known = next(path for path in sorted(commands) if path.parent.parent == known.parent.parent)
        given = commands[known]
        compiler = next(word for word in given if "clang" in Path(word).name)
        # Without precompiled headers, which were made of other records.
        flags = [word for word in given if word.startswith(("-I", "-D", "-std=", "-fno-exceptions", "-fno-rtti"))]
        flags += [f"-isystem{folder}" for word, folder in zip(given, given[1:]) if word == "-isystem"]
        flags = [flag if str(BUILD) in flag else flag.replace(str(ROOT), str(tree)) for flag in flags]
        done = subprocess.run([compiler, f"-I{tree / 'made'}", *flags, "-w", "-fsyntax-only", tree / name],
                              capture_output=True, text=True)
        assert not done.returncode, done.stderr
    return True


def make_records(tree: Path, family: str) -> None:
    """What the build makes of a family's records, in `made`."""
    made = tree / "made/mpopt/Dialect/Ops"
    made.mkdir(parents=True)
    for action, end in (("-gen-op-decls", "h.inc"), ("-gen-op-defs", "cpp.inc")):
        record = f"include/mpopt/Dialect/Ops/{family}Ops.td"
        (made / f"{family}Ops.{end}").write_text(tablegen(tree, action, record))


OP_FILES = ["include/mpopt/Dialect/Ops/{0}Ops.td", "lib/Dialect/Ops/{0}Ops.cpp", "lib/Import/Onnx/Lowering/{0}.cpp",
            "lib/Import/Aten/Lowering/{1}.cpp", "lib/Ranges/Ops/{0}/{0}.cpp",
            "test/python/ranges/soundness_cases/{2}.py", "test/Dialect/{2}/quite-new.mlir",
            "test/Ranges/{2}/quite-new.mlir", "test/Import/Onnx/quite-new.onnxtext"]


@pytest.mark.parametrize("family", FAMILIES)
def test_new_op(tree: Path, family: str):
    files = run(tree, "new-op", "quite_new", family, "--operands", "input,other", "--onnx", "com.microsoft::QuiteNew",
                "--torch", "quite_new(self, other)").split()
    aten = {"Quantization": "Quantized"}.get(family, family)
    expected = [file.format(family, aten, family.lower()) for file in OP_FILES]
    record, inference, onnx, aten_file, ranges, cases, *_ = expected
    # Files that the family does not have yet, and where they are named.
    named = {}
    if not (ROOT / ranges).exists():
        named |= {"lib/Ranges/CMakeLists.txt": f"  Ops/{family}/{family}.cpp\n",
                  "lib/Ranges/Ops/Families.inc": f"MPOPT_TRANSFER_FAMILY({family})\n"}
    if not (ROOT / aten_file).exists():
        named |= {"lib/Import/Aten/CMakeLists.txt": f"  Lowering/{aten}.cpp\n",
                  "lib/Import/Aten/Interpreter/Registry.cpp": f"  register{aten}(*this);\n",
                  "include/mpopt/Import/Aten/Lowering.h": f"void register{aten}(LoweringRegistry &registry);\n"}
    assert set(files) == {*expected, *named}
    for file, line in named.items():
        assert (tree / file).read_text().count(line) == 1
    text = {file: (tree / file).read_text(encoding="utf-8") for file in files}
    assert 'let torch = ["quite_new"];\n  let onnx = ["QuiteNew"];' in text[record]
    assert "QuiteNewOp::inferResultTypes" in text[inference]
    for file, function, helper, last in (
            (onnx, f"register{family}Lowerings", "lowerQuiteNew",
             'registry.add("com.microsoft", "QuiteNew", lowerQuiteNew);'),
            (aten_file, f"register{aten}", "lowerQuiteNew", 'registry.add("quite_new", lowerQuiteNew);'),
            (ranges, f"attach{family}Transfers", "transferQuiteNew",
             "attachTransfer<transferQuiteNew, mp::QuiteNewOp>(context);")):
        assert end_of(text[file], function) == last
        assert text[file].index(f" {helper}(") < text[file].index(f"{function}(")
        assert text[file].count("{") == text[file].count("}")
    assert 'context.tensor("self"), other = context.tensor("other")' in text[aten_file]
    assert "class QuiteNewOp" in tablegen(tree, "-gen-op-decls", record)
    sources = [file for file in files if file.endswith(".cpp")]
    assert is_formatted(*(tree / file for file in sources))
    if family in ("Recurrent", "Signal"):  # Those with new files: a file takes seconds.
        make_records(tree, family)
        assert compiles(tree, *(file for file in sources if "Registry" not in file))
    cases = runpy.run_path(str(tree / cases))["CASES"].ir
    assert list(cases)[-1] == "quite_new"
    blanks = run(tree, "generate-docs", "--check", status=1)
    assert re.fullmatch(rf"generate-docs: still to be written: {record}:\d+, {record}:\d+, "
                        rf"{expected[5]}:\d+\n", blanks)


def test_new_op_of_one_framework(tree: Path):
    """No lowering, and no test of one, is written for the other."""
    files = run(tree, "new-op", "quite_new", "Signal").split()
    assert not [file for file in files if "Import" in file]
    files = run(tree, "new-op", "newer", "Linear", "--torch", "newer(input)").split()
    assert [file for file in files if "Import" in file] == ["lib/Import/Aten/Lowering/Linear.cpp"]


FUNCTION = ["--function", "std::cbrt(x)", "--derivative", "1", "--numpy", "np.cbrt"]


def test_new_function(tree: Path):
    files = run(tree, "new-op", "quite_new", "Algebraic", *FUNCTION, "--onnx", "com.microsoft::QuiteNew",
                "--torch", "quite_new").split()
    assert files == ["include/mpopt/Dialect/Ops/UnaryOps.td", "lib/Numerics/Functions/Algebraic.cpp",
                     "test/python/ranges/soundness_cases/elementwise.py", "test/Dialect/elementwise/quite-new.mlir",
                     "test/Import/Onnx/quite-new.onnxtext"]
    assert "class QuiteNewOp" in tablegen(tree, "-gen-op-decls", "include/mpopt/Dialect/Ops/ElementwiseOps.td")
    # Importers read the names from the record.
    assert '["quite_new"], [], ["com.microsoft::QuiteNew"]>;' in (tree / files[0]).read_text()
    rows = re.findall(r'\.name = "(\w+)"', (tree / files[1]).read_text())
    assert rows[-1] == "QuiteNew"
    make_records(tree, "Elementwise")
    importers = ["lib/Import/Onnx/Lowering/Elementwise.cpp", "lib/Import/Aten/Lowering/Elementwise.cpp"]
    assert compiles(tree, files[1], *importers)
    assert "quite_new" in runpy.run_path(str(tree / files[2]))["CASES"].ir


@pytest.mark.parametrize("arguments, reason", [
    (["cast", "Core"], "mp.cast is there already"),
    (["abs", "Elementwise"], "mp.abs is there already"),
    (["quite_new", "Nosuch"], "there is no family 'Nosuch'"),
    (["QuiteNew", "Core"], "'QuiteNew' is not snake_case"),
    (["quite_new", "Linear", "--onnx", "Gemm"], '"Gemm" has a lowering in Linear.cpp already'),
    (["quite_new", "Linear", "--onnx", "Add"], '"Add" has a lowering in Elementwise.cpp already'),
    (["quite_new", "Linear", "--onnx", "Abs"], "Abs is mp.abs already"),
    (["quite_new", "Linear", "--torch", "special_expit"], "special_expit is mp.sigmoid already"),
    (["quite_new", "Linear", "--torch", "mv(self)"], '"mv" has a lowering in Linear.cpp already'),
    (["quite_new", "Linear", "--torch", "quite_new(self, other)"],
     "'quite_new(self, other)' is not NAME(INPUT, ...) of 1 operands"),
    (["quite_new", "Linear", "--operands", "x,x"], "'x,x' are no names of operands"),
    (["quite_new", "Algebraic", "--function", "x"], "a function needs --function, --derivative and --numpy"),
    (["quite_new", "Nosuch", *FUNCTION], "there is no lib/Numerics/Functions/Nosuch.cpp"),
])
def test_new_op_refuses(tree: Path, arguments: list[str], reason: str):
    assert run(tree, "new-op", *arguments, status=1) == f"new-op: {reason}\n"


def test_new_format(tree: Path):
    files = run(tree, "new-format", "f8E3M4", "--onnx", "FLOAT8E3M4", "--torch", "99").split()
    table, test, onnx, aten = files
    assert len(files) <= 6
    assert re.search(r'make\("f8E3M4", APFloat::Float8E3M4\(\)\)};', (tree / table).read_text())
    assert '{"f8E3M4", named("f8E3M4")},\n' in (tree / test).read_text()
    assert "{TensorProto::FLOAT8E3M4, plain<Float8E3M4Type>}" in (tree / onnx).read_text()
    assert "case 99:\n    return Float8E3M4Type::get(context);\n  default:" in (tree / aten).read_text()
    assert is_formatted(*(tree / file for file in files))
    assert compiles(tree, table, aten)


def test_new_domain(tree: Path):
    files = run(tree, "new-domain", "QuiteNew").split()
    header, source, library, test, tests = files
    assert "  QuantizationErrors.cpp\n  QuiteNew.cpp\n" in (tree / library).read_text()
    assert "  Propagate/QuiteNewTest.cpp\n" in (tree / tests).read_text()
    assert is_formatted(*(tree / file for file in (header, source, test)))
    assert compiles(tree, source)
    assert f"{header}:1" in run(tree, "generate-docs", "--check", status=1)


@pytest.mark.parametrize("name, reason", [
    ("quite_new", "'quite_new' is not the name of a class"), ("NonFinite", "NonFinite is there already")])
def test_new_domain_refuses(tree: Path, name: str, reason: str):
    assert run(tree, "new-domain", name, status=1) == f"new-domain: {reason}\n"


def test_new_format_needs_no_framework(tree: Path):
    assert len(run(tree, "new-format", "f8E3M4").split()) == 2


@pytest.mark.parametrize("arguments, reason", [
    (["f8E5M2"], "f8E5M2 is there already"),
    (["e3m4"], "'e3m4' is not fBITSEeMm"),
    (["f8E3M4", "--onnx", "FLOAT8E5M2"], "ONNX's FLOAT8E5M2 is there already"),
    (["f8E3M4", "--torch", "23"], "PyTorch's 23 is there already"),
])
def test_new_format_refuses(tree: Path, arguments: list[str], reason: str):
    assert run(tree, "new-format", *arguments, status=1) == f"new-format: {reason}\n"


def test_picture_has_the_layers_that_are_checked(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(ROOT / "scripts")  # the script imports a module from there
    layers = runpy.run_path(str(ROOT / "scripts/check-structure"), run_name="structure")["LAYERS"]
    picture = ElementTree.parse(ROOT / "docs/layers.svg")
    height = {}
    for box, text in zip(picture.iter("{http://www.w3.org/2000/svg}rect"),
                         picture.iter("{http://www.w3.org/2000/svg}text")):
        height[text.text] = -float(box.get("y"))
    assert set(height) == set(layers)
    for layer, below in layers.items():
        assert all(height[other] < height[layer] for other in below - {layer}), layer


SITE = runpy.run_path(str(ROOT / "scripts/build-site"), run_name="site")


@pytest.mark.parametrize("page, staged", [
    ("Text:\n- a\n  more\n- b\n", "Text:\n\n- a\n    more\n- b\n"),
    ("1. a\n\n   ```cpp\n   f();\n     g();\n   ```\n\n   more\n2. b\n",
     "1. a\n\n    ```cpp\n    f();\n      g();\n    ```\n\n    more\n\n2. b\n"),
    ("- a\n  - b\n    c\n- d\n", "- a\n    - b\n        c\n- d\n"),
    ("```\n- not a list\n  - of code\n```\n", "```\n- not a list\n  - of code\n```\n"),
    ("- a\n\n      code\n", "- a\n\n        code\n"),
])
def test_lists_of_the_site_are_indented_by_four(page: str, staged: str):
    assert SITE["with_wide_lists"](page) == staged


def test_every_page_is_in_the_menu_of_the_site():
    menu = re.findall(r": ([\w/-]+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)
    pages = {path.name for path in (ROOT / "docs").glob("*.md")} - {"rules.md"}
    assert pages <= set(menu), pages - set(menu)


def test_links_follow_pages_into_the_site():
    pages = SITE["list_pages"]()
    moved = SITE["with_moved_links"]
    assert moved("[a](docs/rules.md#b) [c](CHANGELOG.md) [d](https://e)", "README.md", pages) == \
        "[a](rules/index.md#b) [c](changelog.md) [d](https://e)"
    assert moved("[a](../rules.md) [b](MP101.md) [c](#d)", "docs/rules/MP201.md", pages) == \
        "[a](index.md) [b](MP101.md) [c](#d)"
