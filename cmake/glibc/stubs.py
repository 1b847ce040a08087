#!/usr/bin/env python3
"""Writes libraries to link against that have the symbols of an older glibc and libstdc++.

    stubs.py FOLDER

A program asks for each function in the version that its linker saw, so one that is linked on a
new system does not start on an older one. glibc keeps every version that a function ever had:
these libraries offer the latest that is not newer than `NEWEST`, and no symbol that is newer.
They hold no code; at run time the system's own libraries take their place. What was only added
since is in shims.c, and of libstdc++ in its static library, which is linked behind them."""

import pathlib
import re
import subprocess
import sys
import tempfile

#: PEP 600's manylinux_2_28 (RHEL 8, Debian 10, Ubuntu 20.04): what its libraries have.
NEWEST = {"GLIBC": (2, 28), "GLIBCXX": (3, 4, 24), "CXXABI": (1, 3, 11), "GCC": (7, 0, 0)}
#: Functions that glibc 2.29 to 2.34 moved into libc.so.6, and where they were.
MOVED = {"libdl.so.2": re.compile(r"dl[a-z]+1?$"),
         "libpthread.so.0": re.compile(r"(__)?(pthread|sem)_\w+$")}
LIBRARIES = ("libc.so.6", "libm.so.6", "libstdc++.so.6", "libgcc_s.so.1")


def find(name: str) -> pathlib.Path:
    listed = subprocess.run(["cc", f"-print-file-name={name}"], stdout=subprocess.PIPE, text=True, check=True).stdout
    return pathlib.Path(listed.strip())


def age(version: str) -> tuple[int, ...] | None:
    """The numbers of a version that is not too new; None otherwise, and for private ones."""
    family, _, numbers = version.partition("_")
    if family not in NEWEST or not re.fullmatch(r"[0-9.]+", numbers):
        return None
    found = tuple(map(int, numbers.split(".")))
    return found if found <= NEWEST[family] else None


def symbols(library: pathlib.Path) -> tuple[dict, set[str]]:
    """Version, kind and size by name, each the latest that is not too new; and the names that
    have a newer version, too."""
    listed = subprocess.run(["readelf", "--dyn-syms", "--wide", library], stdout=subprocess.PIPE, text=True, check=True).stdout
    found: dict[str, tuple] = {}
    newer = set()
    for line in listed.splitlines():
        parts = line.split()
        if len(parts) < 8 or not parts[0].endswith(":") or parts[6] in ("UND", "ABS") or "@" not in parts[7]:
            continue
        name, _, version = parts[7].replace("@@", "@").partition("@")
        numbers = age(version)
        if numbers is None:
            newer.add(name)
        if numbers is not None and (name not in found or numbers > found[name][0]):
            found[name] = numbers, version, parts[3], int(parts[2], 0)
    return found, newer


def link(folder: pathlib.Path, soname: str, found: dict) -> None:
    nodes: dict[str, list[str]] = {}
    lines = []
    for name, (_, version, kind, size) in sorted(found.items()):
        nodes.setdefault(version, []).append(name)
        section, type_ = {"OBJECT": (".bss", "@object"), "TLS": (".tbss, \"awT\", @nobits", "@tls_object")}.get(kind, (".text", "@function"))
        lines += [f".section {section}", f".globl {name}", f".type {name}, {type_}", f".size {name}, {size}", f"{name}:",
                  f".skip {size if kind in ('OBJECT', 'TLS') else 1}"]
    with tempfile.TemporaryDirectory() as work:
        source, versions = pathlib.Path(work) / "symbols.s", pathlib.Path(work) / "versions"
        source.write_text("\n".join(lines) + "\n")
        versions.write_text("".join(f"{node} {{ {' '.join(f'{name};' for name in names)} }};\n" for node, names in sorted(nodes.items())))
        subprocess.run(["cc", "-nostdlib", "-shared", f"-Wl,-soname,{soname}", f"-Wl,--version-script={versions}",
                        "-o", folder / soname, source], check=True)


def main() -> int:
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for soname in LIBRARIES:
        found, newer = symbols(find(soname))
        for former, pattern in MOVED.items() if soname == "libc.so.6" else ():
            there = {name: found.pop(name) for name in sorted(newer & found.keys()) if pattern.match(name)}
            link(folder, former, there)
        link(folder, soname, found)
    # What -lc, -lm, -lstdc++ and -lgcc_s find: scripts of the linker.
    scripts = {"libc": f"libc.so.6 libpthread.so.0 libdl.so.2 {find('libc_nonshared.a')} {find('ld-linux-x86-64.so.2')}",
               "libm": "libm.so.6", "libgcc_s": f"libgcc_s.so.1 {find('libgcc.a')}",
               "libstdc++": f"libstdc++.so.6 {find('libstdc++.a')}"}
    for name, files in scripts.items():
        listed = " ".join(file if "/" in file else str(folder / file) for file in files.split())
        (folder / f"{name}.so").write_text(f"GROUP ( {listed} )\n" if name != "libc" else f"GROUP ( AS_NEEDED ( {listed} ) )\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
