//===- shims.c - What glibc 2.28 lacks and the wheel's libraries call ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Debian's static libraries (LLVM, libstdc++, libgcc_eh) call functions that
// glibc has since 2.30 to 2.36. Here they are in terms of older ones; hidden,
// so that no other library of the process finds them.
//
//===----------------------------------------------------------------------===//

#define _GNU_SOURCE
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>

// `stat` before 2.33.
int __xstat(int version, const char *path, struct stat *result);
int __fxstat(int version, int file, struct stat *result);
int __lxstat(int version, const char *path, struct stat *result);

#pragma GCC visibility push(hidden)

// 2.32: whether the process has one thread, so that counters need no lock.
// "No" is always right.
char __libc_single_threaded = 0;

// 2.33; before, inline functions over these. 1 is the version of `struct stat`
// that x86-64 has.
int stat(const char *path, struct stat *result) {
  return __xstat(1, path, result);
}
int fstat(int file, struct stat *result) { return __fxstat(1, file, result); }
int lstat(const char *path, struct stat *result) {
  return __lxstat(1, path, result);
}
// On x86-64 `struct stat64` is `struct stat`.
int stat64(const char *path, struct stat64 *result) {
  return __xstat(1, path, (struct stat *)result);
}
int fstat64(int file, struct stat64 *result) {
  return __fxstat(1, file, (struct stat *)result);
}
int lstat64(const char *path, struct stat64 *result) {
  return __lxstat(1, path, (struct stat *)result);
}

// 2.36.
uint32_t arc4random(void) {
  uint32_t number;
  while (getrandom(&number, sizeof(number), 0) != sizeof(number))
    ;
  return number;
}

// 2.30. A clock that is set meanwhile lengthens or shortens this one wait;
// callers look at their condition and at the clock again.
int pthread_cond_clockwait(pthread_cond_t *condition, pthread_mutex_t *mutex,
                           clockid_t clock, const struct timespec *until) {
  struct timespec now, real;
  clock_gettime(clock, &now);
  clock_gettime(CLOCK_REALTIME, &real);
  int64_t nanoseconds = real.tv_nsec + until->tv_nsec - now.tv_nsec;
  real.tv_sec += until->tv_sec - now.tv_sec;
  for (; nanoseconds < 0; nanoseconds += 1000000000)
    --real.tv_sec;
  real.tv_sec += nanoseconds / 1000000000;
  real.tv_nsec = nanoseconds % 1000000000;
  return pthread_cond_timedwait(condition, mutex, &real);
}

// 2.35: the library that an address lies in, for the unwinder.
struct search {
  uintptr_t address;
  struct dl_find_object *result;
};

static int findObject(struct dl_phdr_info *info, size_t size, void *data) {
  struct search *search = data;
  uintptr_t begin = 0, end = 0, frames = 0;
  int isThere = 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr) *header = &info->dlpi_phdr[i];
    uintptr_t at = info->dlpi_addr + header->p_vaddr;
    if (header->p_type == PT_GNU_EH_FRAME)
      frames = at;
    if (header->p_type != PT_LOAD)
      continue;
    if (!end || at < begin)
      begin = at;
    if (at + header->p_memsz > end)
      end = at + header->p_memsz;
    isThere |=
        search->address >= at && search->address - at < header->p_memsz;
  }
  (void)size;
  if (!isThere || !frames)
    return 0;
  search->result->dlfo_flags = 0;
  search->result->dlfo_map_start = (void *)begin;
  search->result->dlfo_map_end = (void *)end;
  search->result->dlfo_link_map = NULL; // The unwinder does not look at it.
  search->result->dlfo_eh_frame = (void *)frames;
  return 1;
}

int _dl_find_object(void *address, struct dl_find_object *result) {
  struct search search = {(uintptr_t)address, result};
  return dl_iterate_phdr(findObject, &search) ? 0 : -1;
}

// Before 2.34 a program's start-up code passed the function that runs its
// constructors; that of this system passes none, and the old one of libc runs
// what it is given. Programs are linked with --wrap=__libc_start_main.
typedef void constructor(int, char **, char **);
extern constructor *__init_array_start[] __attribute__((weak));
extern constructor *__init_array_end[] __attribute__((weak));
void _init(void) __attribute__((weak));

static void initialize(int count, char **arguments, char **environment) {
  if (_init)
    _init();
  for (constructor **each = __init_array_start; each != __init_array_end;
       ++each)
    (*each)(count, arguments, environment);
}

typedef int entry(int, char **, char **);
__attribute__((visibility("default"))) int __real___libc_start_main(entry *, int, char **, constructor *,
                             void (*)(void), void (*)(void), void *)
    __attribute__((weak));
int __wrap___libc_start_main(entry *program, int count, char **arguments,
                             constructor *first, void (*last)(void),
                             void (*atExit)(void), void *stackEnd) {
  return __real___libc_start_main(program, count, arguments,
                                  first ? first : initialize, last, atExit,
                                  stackEnd);
}
