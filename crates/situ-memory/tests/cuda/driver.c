// A CUDA driver that emulates two devices in host memory. With it the `cuda` domain is tested on machines
// without a GPU.
//
// To find mistakes, it is stricter than the real driver:
//   * A call without a context is an error.
//   * Host memory of an asynchronous copy must be pinned.
//   * A word that a stream waits for must still be registered when the wait begins.
//   * Nothing may be freed, unmapped or unregistered while a stream waits for a word. The real driver may
//   wait
//     for the device then, and the device for the word for ever.
//
// FAKE_CUDA_NO_WORDS=1 emulates a device without stream memory operations, FAKE_CUDA_NO_DESCRIPTORS=1 one
// without exportable blocks. With FAKE_CUDA_STRICT=1, nothing may be allocated or registered either while a
// stream waits.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
  OK = 0,
  INVALID_VALUE = 1,
  OUT_OF_MEMORY = 2,
  NOT_INITIALIZED = 3,
  INVALID_DEVICE = 101,
  INVALID_CONTEXT = 201,
  ALREADY_MAPPED = 208,
  INVALID_HANDLE = 400,
  NOT_READY = 600,
  ALREADY_REGISTERED = 712,
  NOT_REGISTERED = 713,
  NOT_SUPPORTED = 801
};
enum { DEVICES = 2, GRANULARITY = 2 << 20, MOST = 4096 };
static const size_t DEVICE_BYTES = 1ul << 32;

typedef int Result;
typedef unsigned long long Pointer;

#define DIE(...) (fprintf(stderr, "fake CUDA: " __VA_ARGS__), fputc('\n', stderr), abort())

static pthread_mutex_t table = PTHREAD_MUTEX_INITIALIZER;
static int started;

// Contexts: one per device, and a stack of them per thread.
static int contexts[DEVICES];
static __thread int stack[64];
static __thread int depth;
#define NEED_CONTEXT \
  if (depth == 0) return INVALID_CONTEXT

// Ranges: host memory that is registered or pinned, and memory of devices.
enum Kind { FREE, REGISTERED, PINNED, RESERVED, DEVICE, OPENED };
struct Range {
  enum Kind kind;
  uintptr_t at;
  size_t len;
  int device, words, file;
};
static struct Range ranges[MOST];

// Counters for tests: how often host memory was registered and unregistered (not that of words, which devices
// map), and how many copies went directly from or to registered memory.
static int registered, unregistered, straight;
void fakeCudaCounts(int counts[3]) {
  pthread_mutex_lock(&table);
  counts[0] = registered;
  counts[1] = unregistered;
  counts[2] = straight;
  pthread_mutex_unlock(&table);
}

// Resources for tests: memory of devices, and registered ranges with words.
void fakeCudaLive(int live[2]) {
  live[0] = live[1] = 0;
  pthread_mutex_lock(&table);
  for (int i = 0; i < MOST; i++) {
    live[0] += ranges[i].kind == DEVICE || ranges[i].kind == OPENED;
    live[1] += ranges[i].kind == REGISTERED && ranges[i].words;
  }
  pthread_mutex_unlock(&table);
}

static struct Range* find(uintptr_t at, size_t len) {
  for (int i = 0; i < MOST; i++) {
    struct Range* r = &ranges[i];
    if (r->kind != FREE && at >= r->at && at + len <= r->at + r->len) return r;
  }
  return NULL;
}

static struct Range* add(enum Kind kind, uintptr_t at, size_t len, int device) {
  for (int i = 0; i < MOST; i++) {
    if (ranges[i].kind != FREE) continue;
    ranges[i] = (struct Range){kind, at, len, device, 0, -1};
    return &ranges[i];
  }
  DIE("too many ranges");
}

// Blocks: files in memory, so that they outlive their makers. A handle is a descriptor plus one. The name
// ends with the device's number, or with x for a block at an unknown type of location.
static const char NAME[] = "/memfd:fake-cuda-block-";
struct Location {
  int type, id;
};
struct Properties {
  int type, handle_types;
  struct Location location;
  void* win32;
  unsigned char flags[8];
};
struct Access {
  struct Location location;
  int flags;
};

static int block_device(int file) {
  char path[64], link[128] = {0};
  snprintf(path, sizeof path, "/proc/self/fd/%d", file);
  if (readlink(path, link, sizeof link - 1) < 0 || strncmp(link, NAME, sizeof NAME - 1) != 0) return -1;
  return link[sizeof NAME - 1] - '0';
}

static int make_block(size_t size, int device) {
  char name[64];
  snprintf(name, sizeof name, "%s%d", NAME + strlen("/memfd:"), device);
  int file = size <= DEVICE_BYTES ? memfd_create(name, MFD_CLOEXEC) : -1;
  if (file >= 0 && ftruncate(file, size) != 0) {
    close(file);
    file = -1;
  }
  return file;
}

// Streams: a queue and a thread each.
enum What { COPY, WAIT, WRITE, CALL };
struct Work {
  enum What what;
  Pointer to, from;
  size_t len;
  uint64_t value;
  void (*call)(void*);
  void* data;
  struct Work* next;
};
struct Stream {
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t came;
  struct Work *first, **last, *now;
  int closed, device;
  struct Stream* next;
};
static struct Stream* streams;
static pthread_mutex_t streams_lock = PTHREAD_MUTEX_INITIALIZER;

static int reached(const struct Work* wait) {
  // As in CUDA: cyclic, by the signed difference.
  return (int64_t)(*(volatile uint64_t*)wait->from - wait->value) >= 0;
}

static int is_pending(const struct Work* work) { return work && work->what == WAIT && !reached(work); }

// Whether a stream was told to wait for a word that is not reached yet.
static int somebody_waits(void) {
  int pending = 0;
  pthread_mutex_lock(&streams_lock);
  for (struct Stream* stream = streams; stream; stream = stream->next) {
    pthread_mutex_lock(&stream->lock);
    pending |= is_pending(stream->now);
    for (struct Work* work = stream->first; work; work = work->next) pending |= is_pending(work);
    pthread_mutex_unlock(&stream->lock);
  }
  pthread_mutex_unlock(&streams_lock);
  return pending;
}

#define ENDS_SOMETHING \
  if (somebody_waits()) DIE("%s while a stream waits for a word", __func__)
#define MAKES_SOMETHING \
  if (getenv("FAKE_CUDA_STRICT") && somebody_waits()) DIE("%s while a stream waits for a word", __func__)

static void nap(void) { nanosleep(&(struct timespec){0, 20000}, NULL); }

static void check_word(Pointer word) {
  pthread_mutex_lock(&table);
  struct Range* range = find(word, 8);
  if (!range || range->kind != REGISTERED) DIE("a stream came to a word that is not registered any more");
  pthread_mutex_unlock(&table);
}

static void* work_off(void* argument) {
  struct Stream* stream = argument;
  struct Work* work = NULL;
  for (;;) {
    pthread_mutex_lock(&stream->lock);
    stream->now = NULL;
    free(work);
    while (!stream->first && !stream->closed) pthread_cond_wait(&stream->came, &stream->lock);
    work = stream->first;
    if (!work) {
      pthread_mutex_unlock(&stream->lock);
      break;
    }
    stream->now = work;
    stream->first = work->next;
    if (!stream->first) stream->last = &stream->first;
    pthread_mutex_unlock(&stream->lock);
    switch (work->what) {
      case COPY:
        memcpy((void*)work->to, (void*)work->from, work->len);
        break;
      case CALL:
        work->call(work->data);
        break;
      case WRITE:
        check_word(work->to);
        atomic_store_explicit((_Atomic uint64_t*)work->to, work->value, memory_order_release);
        break;
      case WAIT:
        for (check_word(work->from); !reached(work); nap()) check_word(work->from);
        atomic_thread_fence(memory_order_acquire);
        break;
    }
  }
  pthread_mutex_lock(&streams_lock);
  struct Stream** link = &streams;
  while (*link != stream) link = &(*link)->next;
  *link = stream->next;
  pthread_mutex_unlock(&streams_lock);
  pthread_mutex_destroy(&stream->lock);
  free(stream);
  return NULL;
}

static struct Stream* make_stream(int device) {
  struct Stream* stream = calloc(1, sizeof *stream);
  stream->last = &stream->first;
  stream->device = device;
  pthread_mutex_init(&stream->lock, NULL);
  pthread_cond_init(&stream->came, NULL);
  pthread_mutex_lock(&streams_lock);
  stream->next = streams;
  streams = stream;
  pthread_mutex_unlock(&streams_lock);
  pthread_create(&stream->thread, NULL, work_off, stream);
  pthread_detach(stream->thread);
  return stream;
}

// The stream of a handle. 0 and 1 are the legacy default stream of the context's device, and 2 is that of the
// thread. They are one here.
static struct Stream* of_handle(struct Stream* handle) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  static struct Stream* defaults[DEVICES];
  if ((uintptr_t)handle > 2) return handle;
  pthread_mutex_lock(&lock);
  struct Stream** found = &defaults[stack[depth - 1]];
  if (!*found) *found = make_stream(stack[depth - 1]);
  pthread_mutex_unlock(&lock);
  return *found;
}

static Result enqueue(struct Stream* handle, struct Work work) {
  struct Stream* stream = of_handle(handle);
  struct Work* copy = malloc(sizeof work);
  *copy = work;
  pthread_mutex_lock(&stream->lock);
  *stream->last = copy;
  stream->last = &copy->next;
  pthread_cond_signal(&stream->came);
  pthread_mutex_unlock(&stream->lock);
  return OK;
}

Result cuInit(unsigned flags) {
  started = flags == 0;
  return started ? OK : INVALID_VALUE;
}
Result cuDriverGetVersion(int* version) {
  *version = 13010;
  return OK;
}
Result cuDeviceGetCount(int* count) {
  *count = DEVICES;
  return started ? OK : NOT_INITIALIZED;
}
Result cuDeviceGet(int* device, int ordinal) {
  if (ordinal < 0 || ordinal >= DEVICES) return INVALID_DEVICE;
  *device = ordinal;
  return started ? OK : NOT_INITIALIZED;
}
Result cuDeviceGetName(char* name, int len, int device) {
  snprintf(name, len, "a device of ours, number %d", device);
  return OK;
}
Result cuDeviceGetAttribute(int* value, int attribute, int device) {
  (void)device;
  switch (attribute) {
    case 122:
      *value = getenv("FAKE_CUDA_NO_WORDS") == NULL;
      return OK;
    case 103:
      *value = getenv("FAKE_CUDA_NO_DESCRIPTORS") == NULL;
      return OK;
    case 113:
      *value = getenv("FAKE_CUDA_READ_ONLY") != NULL;
      return OK;
    case 41:
    case 99:
    case 102:
      *value = 1;
      return OK;
    default:
      *value = 0;
      return attribute > 150 ? INVALID_VALUE : OK;
  }
}
Result cuDeviceCanAccessPeer(int* can, int device, int peer) {
  *can = device != peer;
  return OK;
}
Result cuDevicePrimaryCtxRetain(void** context, int device) {
  *context = &contexts[device];
  contexts[device]++;
  return OK;
}
Result cuDevicePrimaryCtxRelease_v2(int device) { return contexts[device]-- > 0 ? OK : INVALID_CONTEXT; }
Result cuCtxPushCurrent_v2(void* context) {
  int device = (int*)context - contexts;
  if (device < 0 || device >= DEVICES || !contexts[device] || depth == 64) return INVALID_CONTEXT;
  stack[depth++] = device;
  return OK;
}
Result cuCtxPopCurrent_v2(void** context) {
  NEED_CONTEXT;
  *context = &contexts[stack[--depth]];
  return OK;
}
Result cuGetErrorName(Result error, const char** text) {
  *text = error == INVALID_VALUE ? "INVALID_VALUE" : "AN_ERROR";
  return OK;
}
Result cuGetErrorString(Result error, const char** text) {
  (void)error;
  *text = "the fake driver refuses";
  return OK;
}

Result cuMemGetAllocationGranularity(size_t* granularity, const struct Properties* p, int option) {
  if (p->type != 1 || p->location.type != 1 || option != 0) return INVALID_VALUE;
  *granularity = GRANULARITY;
  return OK;
}
Result cuMemCreate(Pointer* handle, size_t size, const struct Properties* p, unsigned long long flags) {
  NEED_CONTEXT;
  if (size == 0 || size % GRANULARITY || p->type != 1 || p->handle_types != 1 || flags) return INVALID_VALUE;
  int file = make_block(size, p->location.id);
  if (file < 0) return OUT_OF_MEMORY;
  *handle = file + 1;
  return OK;
}
Result cuMemRelease(Pointer handle) { return close((int)handle - 1) == 0 ? OK : INVALID_VALUE; }
Result cuMemAddressReserve(Pointer* at, size_t size, size_t alignment, Pointer hint,
                           unsigned long long flags) {
  NEED_CONTEXT;
  if (size % GRANULARITY || alignment || hint || flags) return INVALID_VALUE;
  void* address = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (address == MAP_FAILED) return OUT_OF_MEMORY;
  pthread_mutex_lock(&table);
  add(RESERVED, (uintptr_t)address, size, -1);
  pthread_mutex_unlock(&table);
  *at = (uintptr_t)address;
  return OK;
}
Result cuMemMap(Pointer at, size_t size, size_t offset, Pointer handle, unsigned long long flags) {
  NEED_CONTEXT;
  struct stat status;
  int file = (int)handle - 1, device = block_device(file);
  if (device < 0 || fstat(file, &status) || offset || flags || size > (size_t)status.st_size)
    return INVALID_VALUE;
  pthread_mutex_lock(&table);
  struct Range* range = find(at, size);
  Result result =
      range && range->kind == RESERVED && range->at == at && range->len == size ? OK : INVALID_VALUE;
  if (result == OK) {
    mmap((void*)at, size, PROT_NONE, MAP_SHARED | MAP_FIXED, file, 0);
    range->kind = DEVICE;
    range->device = device;
  }
  pthread_mutex_unlock(&table);
  return result;
}
Result cuMemSetAccess(Pointer at, size_t size, const struct Access* access, size_t count) {
  NEED_CONTEXT;
  if (count == 0 || access[0].location.type != 1 || (access[0].flags != 1 && access[0].flags != 3))
    return INVALID_VALUE;
  return mprotect((void*)at, size, access[0].flags == 3 ? PROT_READ | PROT_WRITE : PROT_READ) == 0
             ? OK
             : INVALID_VALUE;
}
Result cuMemUnmap(Pointer at, size_t size) {
  NEED_CONTEXT;
  ENDS_SOMETHING;
  pthread_mutex_lock(&table);
  struct Range* range = find(at, size);
  if (!range || range->kind != DEVICE || range->at != at) DIE("unmapping what is not mapped");
  range->kind = RESERVED;
  mmap((void*)at, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  pthread_mutex_unlock(&table);
  return OK;
}
Result cuMemAddressFree(Pointer at, size_t size) {
  pthread_mutex_lock(&table);
  struct Range* range = find(at, size);
  if (!range || range->kind != RESERVED || range->at != at || range->len != size)
    DIE("freeing what is not reserved");
  range->kind = FREE;
  munmap((void*)at, size);
  pthread_mutex_unlock(&table);
  return OK;
}
Result cuMemGetAllocationPropertiesFromHandle(struct Properties* p, Pointer handle) {
  int device = block_device((int)handle - 1);
  *p = (struct Properties){1, 1, {device == 'x' - '0' ? 6 : 1, device == 'x' - '0' ? 0 : device}, NULL, {0}};
  return device < 0 ? INVALID_VALUE : OK;
}
Result cuMemExportToShareableHandle(void* target, Pointer handle, int kind, unsigned long long flags) {
  if (kind != 1 || flags || block_device((int)handle - 1) < 0) return INVALID_VALUE;
  return (*(int*)target = dup((int)handle - 1)) < 0 ? INVALID_HANDLE : OK;
}
Result cuMemImportFromShareableHandle(Pointer* handle, void* descriptor, int kind) {
  NEED_CONTEXT;
  int file = (int)(intptr_t)descriptor;
  if (kind != 1 || block_device(file) < 0) return INVALID_VALUE;
  *handle = fcntl(file, F_DUPFD_CLOEXEC, 0) + 1;
  return OK;
}

Result cuMemAlloc_v2(Pointer* at, size_t size) {
  NEED_CONTEXT;
  MAKES_SOMETHING;
  int file = make_block(size, stack[depth - 1]);
  if (file < 0) return OUT_OF_MEMORY;
  void* address = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  pthread_mutex_lock(&table);
  add(DEVICE, (uintptr_t)address, size, stack[depth - 1])->file = file;
  pthread_mutex_unlock(&table);
  *at = (uintptr_t)address;
  return OK;
}
static Result let_go(Pointer at, enum Kind kind) {
  pthread_mutex_lock(&table);
  struct Range* range = find(at, 1);
  if (!range || range->kind != kind || range->at != at || range->file < 0)
    DIE("freeing what was not allocated");
  munmap((void*)at, range->len);
  close(range->file);
  range->kind = FREE;
  pthread_mutex_unlock(&table);
  return OK;
}
Result cuMemFree_v2(Pointer at) {
  NEED_CONTEXT;
  ENDS_SOMETHING;
  return let_go(at, DEVICE);
}
Result cuIpcCloseMemHandle(Pointer at) {
  NEED_CONTEXT;
  ENDS_SOMETHING;
  return let_go(at, OPENED);
}
Result cuMemGetAddressRange_v2(Pointer* base, size_t* len, Pointer at) {
  pthread_mutex_lock(&table);
  struct Range* range = find(at, 1);
  if (range) {
    *base = range->at;
    *len = range->len;
  }
  pthread_mutex_unlock(&table);
  return range ? OK : INVALID_VALUE;
}
struct Ipc {
  int pid, file;
  char rest[56];
};
Result cuIpcGetMemHandle(struct Ipc* ipc, Pointer at) {
  pthread_mutex_lock(&table);
  struct Range* range = find(at, 1);
  *ipc = (struct Ipc){getpid(), range ? range->file : -1, {0}};
  pthread_mutex_unlock(&table);
  return range ? OK : INVALID_VALUE;
}
Result cuIpcOpenMemHandle_v2(Pointer* at, struct Ipc ipc, unsigned flags) {
  NEED_CONTEXT;
  char path[64];
  struct stat status;
  snprintf(path, sizeof path, "/proc/%d/fd/%d", ipc.pid, ipc.file);
  if (ipc.pid == getpid() || flags != 1) return INVALID_CONTEXT;
  int file = open(path, O_RDWR | O_CLOEXEC);
  if (file < 0 || block_device(file) < 0 || fstat(file, &status)) return INVALID_VALUE;
  void* address = mmap(NULL, status.st_size, PROT_READ, MAP_SHARED, file, 0);
  pthread_mutex_lock(&table);
  add(OPENED, (uintptr_t)address, status.st_size, 0)->file = file;
  pthread_mutex_unlock(&table);
  *at = (uintptr_t)address;
  return OK;
}

Result cuMemHostAlloc(void** at, size_t size, unsigned flags) {
  NEED_CONTEXT;
  MAKES_SOMETHING;
  (void)flags;
  *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  pthread_mutex_lock(&table);
  add(PINNED, (uintptr_t)*at, size, -1);
  pthread_mutex_unlock(&table);
  return OK;
}
Result cuMemFreeHost(void* at) {
  NEED_CONTEXT;
  ENDS_SOMETHING;
  pthread_mutex_lock(&table);
  struct Range* range = find((uintptr_t)at, 1);
  if (!range || range->kind != PINNED) DIE("freeing what is not pinned");
  range->kind = FREE;
  munmap(at, range->len);
  pthread_mutex_unlock(&table);
  return OK;
}
// Whether all pages are mapped, and may be written.
static int writable(uintptr_t at, size_t size) {
  FILE* maps = fopen("/proc/self/maps", "r");
  char line[512], may[5];
  uintptr_t from, to, end = at + size;
  while (at < end && fgets(line, sizeof line, maps))
    if (sscanf(line, "%lx-%lx %4s", &from, &to, may) == 3 && from <= at && at < to && may[1] == 'w') at = to;
  fclose(maps);
  return at >= end;
}
Result cuMemHostRegister_v2(void* at, size_t size, unsigned flags) {
  NEED_CONTEXT;
  MAKES_SOMETHING;
  if (size == 0 || flags & ~15u) return INVALID_VALUE;
  if (flags & 8 && !getenv("FAKE_CUDA_READ_ONLY")) return NOT_SUPPORTED;
  if (!(flags & 8) && !writable((uintptr_t)at, size)) return INVALID_VALUE;
  pthread_mutex_lock(&table);
  Result result = OK;
  for (int i = 0; i < MOST; i++) {
    struct Range* r = &ranges[i];
    if (r->kind != FREE && (uintptr_t)at < r->at + r->len && r->at < (uintptr_t)at + size)
      result = ALREADY_REGISTERED;
  }
  if (result == OK) {
    int words = (flags & 2) != 0;
    add(REGISTERED, (uintptr_t)at, size, -1)->words = words;
    registered += !words;
  }
  pthread_mutex_unlock(&table);
  return result;
}
Result cuMemHostUnregister(void* at) {
  NEED_CONTEXT;
  ENDS_SOMETHING;
  pthread_mutex_lock(&table);
  struct Range* range = find((uintptr_t)at, 1);
  Result result = range && range->kind == REGISTERED && range->at == (uintptr_t)at ? OK : NOT_REGISTERED;
  if (result != OK) DIE("unregistering what is not registered");
  // The pages must still be mapped.
  unsigned char there[1];
  if (mincore(at, 1, there) != 0) DIE("registered memory was unmapped before it was unregistered");
  unregistered += !range->words;
  range->kind = FREE;
  pthread_mutex_unlock(&table);
  return result;
}
static enum Kind kind_of(uintptr_t at) {
  pthread_mutex_lock(&table);
  struct Range* range = find(at, 1);
  enum Kind kind = range ? range->kind : FREE;
  pthread_mutex_unlock(&table);
  return kind;
}
Result cuMemHostGetDevicePointer_v2(Pointer* pointer, void* at, unsigned flags) {
  NEED_CONTEXT;
  *pointer = (uintptr_t)at;
  return flags == 0 && kind_of((uintptr_t)at) == REGISTERED ? OK : INVALID_VALUE;
}
Result cuPointerGetAttribute(void* data, int attribute, Pointer at) {
  NEED_CONTEXT;
  pthread_mutex_lock(&table);
  struct Range* range = find(at, 1);
  struct Range found = range ? *range : (struct Range){.kind = FREE};
  pthread_mutex_unlock(&table);
  if (found.kind == FREE || found.kind == RESERVED) return INVALID_VALUE;
  // CUDA does not promise begin and end of registered memory.
  if (found.kind == REGISTERED && attribute != 2) return INVALID_VALUE;
  switch (attribute) {
    case 2:
      *(unsigned*)data = found.kind == REGISTERED || found.kind == PINNED ? 1 : 2;
      return OK;
    case 11:
      *(Pointer*)data = found.at;
      return OK;
    case 12:
      *(size_t*)data = found.len;
      return OK;
    default:
      return INVALID_VALUE;
  }
}

Result cuStreamCreate(struct Stream** stream, unsigned flags) {
  NEED_CONTEXT;
  MAKES_SOMETHING;
  if (flags != 1) return INVALID_VALUE;
  *stream = make_stream(stack[depth - 1]);
  return OK;
}
Result cuStreamDestroy_v2(struct Stream* stream) {
  NEED_CONTEXT;
  pthread_mutex_lock(&stream->lock);
  stream->closed = 1;
  pthread_cond_signal(&stream->came);
  pthread_mutex_unlock(&stream->lock);
  return OK;
}
Result cuStreamQuery(struct Stream* handle) {
  NEED_CONTEXT;
  struct Stream* stream = of_handle(handle);
  pthread_mutex_lock(&stream->lock);
  int busy = stream->now || stream->first;
  pthread_mutex_unlock(&stream->lock);
  return busy ? NOT_READY : OK;
}
static int on_device(Pointer at, size_t len) {
  pthread_mutex_lock(&table);
  struct Range* range = find(at, len);
  int is = range && (range->kind == DEVICE || range->kind == OPENED);
  pthread_mutex_unlock(&table);
  return is;
}
// In one range: the driver does not copy across two.
static int pinned(const void* at, size_t len) {
  pthread_mutex_lock(&table);
  struct Range* range = find((uintptr_t)at, len);
  int is = range && (range->kind == PINNED || range->kind == REGISTERED);
  if (is && range->kind == REGISTERED) straight++;
  pthread_mutex_unlock(&table);
  return is;
}
Result cuMemcpyHtoDAsync_v2(Pointer to, const void* from, size_t len, struct Stream* stream) {
  NEED_CONTEXT;
  if (!pinned(from, len)) DIE("an asynchronous copy from memory that is not pinned");
  return on_device(to, len)
             ? enqueue(stream, (struct Work){.what = COPY, .to = to, .from = (uintptr_t)from, .len = len})
             : INVALID_VALUE;
}
Result cuMemcpyDtoHAsync_v2(void* to, Pointer from, size_t len, struct Stream* stream) {
  NEED_CONTEXT;
  if (!pinned(to, len)) DIE("an asynchronous copy to memory that is not pinned");
  return on_device(from, len)
             ? enqueue(stream, (struct Work){.what = COPY, .to = (uintptr_t)to, .from = from, .len = len})
             : INVALID_VALUE;
}
Result cuMemcpyDtoDAsync_v2(Pointer to, Pointer from, size_t len, struct Stream* stream) {
  NEED_CONTEXT;
  if (!on_device(to, len) || !on_device(from, len)) return INVALID_VALUE;
  return enqueue(stream, (struct Work){.what = COPY, .to = to, .from = from, .len = len});
}
Result cuStreamWaitValue64_v2(struct Stream* stream, Pointer at, uint64_t value, unsigned flags) {
  NEED_CONTEXT;
  if (getenv("FAKE_CUDA_NO_WORDS")) return NOT_SUPPORTED;
  if (flags != 0 || kind_of(at) != REGISTERED) return INVALID_VALUE;
  return enqueue(stream, (struct Work){.what = WAIT, .from = at, .value = value});
}
Result cuStreamWriteValue64_v2(struct Stream* stream, Pointer at, uint64_t value, unsigned flags) {
  NEED_CONTEXT;
  if (getenv("FAKE_CUDA_NO_WORDS")) return NOT_SUPPORTED;
  if (flags != 0 || kind_of(at) != REGISTERED) return INVALID_VALUE;
  return enqueue(stream, (struct Work){.what = WRITE, .to = at, .value = value});
}
Result cuLaunchHostFunc(struct Stream* stream, void (*call)(void*), void* data) {
  NEED_CONTEXT;
  return enqueue(stream, (struct Work){.what = CALL, .call = call, .data = data});
}
