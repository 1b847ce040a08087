"""Programs that are linked as the wheel's are (cmake/glibc): which versions of the system's
libraries they ask for, and that they run here."""

import re
import shutil
import subprocess

import pytest
from tool import ROOT

NEWEST = {"GLIBC": (2, 28), "GLIBCXX": (3, 4, 24), "CXXABI": (1, 3, 11), "GCC": (7, 0, 0)}
#: What the shims stand for, each in use; the exit status tells which failed.
PROGRAM = r"""
#include <chrono>
#include <condition_variable>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <mutex>
#include <random>
#include <stdexcept>
#include <thread>
#include <sys/stat.h>

static int constructed = std::printf("constructed\n");

int main(int count, char **arguments) {
  struct stat found, linked;
  if (stat(arguments[0], &found) || lstat(arguments[0], &linked) || found.st_size != linked.st_size)
    return 1;
  FILE *file = std::fopen(arguments[0], "rb");
  if (!file || fstat(fileno(file), &linked) || found.st_ino != linked.st_ino)
    return 2;
  if (found.st_size != (long)std::filesystem::file_size(arguments[0]))
    return 3;
  std::random_device draw;
  if (draw() == draw() && draw() == draw())
    return 4;
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;
  std::unique_lock<std::mutex> lock(mutex);
  auto begin = std::chrono::steady_clock::now();
  if (changed.wait_for(lock, std::chrono::milliseconds(20), [&] { return done; }) ||
      std::chrono::steady_clock::now() - begin < std::chrono::milliseconds(15))
    return 5;
  std::thread other([&] { std::lock_guard<std::mutex> own(mutex); done = true; changed.notify_all(); });
  if (!changed.wait_for(lock, std::chrono::seconds(60), [&] { return done; }))
    return 6;
  lock.unlock();
  other.join();
  try {
    throw std::runtime_error("thrown");
  } catch (const std::exception &error) {
    std::printf("caught %s %.3f\n", error.what(), std::exp(double(count)));
    return 0;
  }
}
"""


@pytest.fixture(scope="module")
def stubs(tmp_path_factory):
    if not shutil.which("clang++-22") or not shutil.which("ld.lld-22"):
        pytest.skip("no clang and lld")
    folder = tmp_path_factory.mktemp("stubs")
    subprocess.run(["python3", ROOT / "cmake" / "glibc" / "stubs.py", folder], check=True)
    subprocess.run(["clang-22", "-O1", "-fPIC", "-fno-builtin", "-c", ROOT / "cmake" / "glibc" / "shims.c", "-o", folder / "shims.o"], check=True)
    return folder


@pytest.mark.parametrize("library", ["static", "shared"])
def test_a_program_runs_and_asks_for_old_versions(stubs, tmp_path, library):
    (tmp_path / "program.cpp").write_text(PROGRAM)
    program = tmp_path / "program"
    options = ["-static-libstdc++", "-static-libgcc"] if library == "static" else []
    subprocess.run(["clang++-22", "-std=c++20", tmp_path / "program.cpp", stubs / "shims.o", f"-L{stubs}", *options,
                    "-fuse-ld=lld-22", "-Wl,--wrap=__libc_start_main", "-o", program], check=True)
    done = subprocess.run([program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "constructed\ncaught thrown 2.718\n")
    listed = subprocess.run(["readelf", "--version-info", program], capture_output=True, text=True, check=True).stdout
    asked = re.findall(r"Name: (GLIBC|GLIBCXX|CXXABI|GCC)_([0-9.]+)", listed)
    assert asked
    for family, numbers in asked:
        assert tuple(map(int, numbers.split("."))) <= NEWEST[family], (family, numbers)
