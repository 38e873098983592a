// Tells the thread sanitizer of the waits of Synchronization.Mutex.
//
// The fast paths of Mutex are inlined and instrumented. The slow ones are in the standard library, which is not, and
// use futexes that the sanitizer does not know (FUTEX_LOCK_PI): a thread that had to wait seems to take no lock, and
// what the lock protects seems to race. Preloaded, this stands before the slow paths and reports the missing edges.
// The names are those of the library's stable ABI: _MutexHandle._lockSlow(_:), ._tryLockSlow() and ._unlockSlow().

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>

// Of the sanitizer's runtime; absent in processes that run without it.
__attribute__((weak)) void __tsan_acquire(void *address);
__attribute__((weak)) void __tsan_release(void *address);

#define LOCK_SLOW "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define TRY_LOCK_SLOW "$s15Synchronization12_MutexHandleV12_tryLockSlowSbyF"
#define UNLOCK_SLOW "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"
#define SELF __attribute__((swift_context)) void *self

typedef __attribute__((swiftcall)) void (*LockSlow)(uint32_t thread, SELF);
typedef __attribute__((swiftcall)) bool (*TryLockSlow)(SELF);
typedef __attribute__((swiftcall)) void (*UnlockSlow)(SELF);

__attribute__((swiftcall)) void lockSlow(uint32_t thread, SELF) __asm__(LOCK_SLOW);
__attribute__((swiftcall)) bool tryLockSlow(SELF) __asm__(TRY_LOCK_SLOW);
__attribute__((swiftcall)) void unlockSlow(SELF) __asm__(UNLOCK_SLOW);

__attribute__((swiftcall)) void lockSlow(uint32_t thread, SELF) {
  ((LockSlow)dlsym(RTLD_NEXT, LOCK_SLOW))(thread, self);
  if (__tsan_acquire) __tsan_acquire(self);
}

__attribute__((swiftcall)) bool tryLockSlow(SELF) {
  bool isLocked = ((TryLockSlow)dlsym(RTLD_NEXT, TRY_LOCK_SLOW))(self);
  if (isLocked && __tsan_acquire) __tsan_acquire(self);
  return isLocked;
}

__attribute__((swiftcall)) void unlockSlow(SELF) {
  if (__tsan_release) __tsan_release(self);
  ((UnlockSlow)dlsym(RTLD_NEXT, UNLOCK_SLOW))(self);
}
