// Functions with the names of Foundation's functions that give a URLSession. The dynamic linker binds a name to the first
// definition, and the executable's comes before a library's (ld.so(8)): all code of the process calls these, and these call
// Foundation's.
//
// The definitions are weak: where Foundation is linked statically, the linker takes Foundation's in their place, without an error.
// With the flags in `linked-statically` it takes `__wrap_NAME` for NAME, and NAME for `__real_NAME` (ld(1), --wrap).

#define _GNU_SOURCE
#include "TapSessionSymbols.h"

#if defined(__linux__)
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#define EXPORTED(name) "$s20FoundationNetworking10URLSessionC" name
#define SWIFT __attribute__((swiftcall))

// The arguments of each of the functions fit into four words: the configuration, the delegate with its witness table, the queue.
// The fifth is the class or the object to initialise, in the register of `self`.
typedef SWIFT void *Function(void *, void *, void *, void *, __attribute__((swift_context)) void *);

/// Of TapEverySession, in Swift.
extern void tapSessionWasGiven(void *session, bool isShared);

/// Whether this thread is in `tapSessionWasGiven`: a session made there is not observed, which would recurse for ever.
static _Thread_local bool isWithin;

static void *give(void *session, bool isShared) {
  if (isWithin) return session;
  isWithin = true;
  tapSessionWasGiven(session, isShared);
  isWithin = false;
  return session;
}

/// Foundation's function: the one that the linker has put aside, or the one that the dynamic linker finds
/// after this one, or first where this module is in a library that comes later. Without it the caller has no
/// session to go on with: the process says so and ends.
static Function *next(Function *function, Function *aside, Function *_Atomic *known, const char *name) {
  if (aside && aside != function) return aside;
  Function *next = atomic_load_explicit(known, memory_order_relaxed);
  if (!next) {
    next = (Function *)dlsym(RTLD_NEXT, name);
    if (!next) next = (Function *)dlsym(RTLD_DEFAULT, name);
    if (!next || next == function) {
      fprintf(stderr, "session-tap: error: Foundation has no %s here; build without TapEverySession\n", name);
      abort();
    }
    atomic_store_explicit(known, next, memory_order_relaxed);
  }
  return next;
}

#define DEFINE(function, name, isShared)                                                                  \
  extern Function aside_##function __asm__("__real_" EXPORTED(name)) __attribute__((weak));               \
  static SWIFT void *function(                                                                            \
    void *a, void *b, void *c, void *d, __attribute__((swift_context)) void *self) {                      \
    static Function *_Atomic known;                                                                       \
    Function *made = next(function, aside_##function, &known, EXPORTED(name));                            \
    return give(made(a, b, c, d, self), isShared);                                                        \
  }                                                                                                       \
  extern Function wrapped_##function __asm__("__wrap_" EXPORTED(name)) __attribute__((alias(#function))); \
  extern Function exported_##function __asm__(EXPORTED(name)) __attribute__((weak, alias(#function)))

// `URLSession.shared`, and both initialisers: as called for a new object, and by a subclass for its own.
#define SHARED "6sharedACvgZ"
#define PLAIN "13configurationAcA0C13ConfigurationC_tcf"
#define WITH_DELEGATE \
  "13configuration8delegate0E5QueueAcA0C13ConfigurationC_AA0C8Delegate_pSg0A009OperationF0CSgtcf"

DEFINE(shared, SHARED, true);
DEFINE(makePlain, PLAIN "C", false);
DEFINE(initialisePlain, PLAIN "c", false);
DEFINE(makeWithDelegate, WITH_DELEGATE "C", false);
DEFINE(initialiseWithDelegate, WITH_DELEGATE "c", false);

TapSessionSymbolsStatus tapSessionSymbolsStatus(void) {
#define ENTRY(function, name) {function, aside_##function, EXPORTED(name)}
  const struct {
    Function *function, *aside;
    const char *name;
  } all[] = {
    ENTRY(shared, SHARED),
    ENTRY(makePlain, PLAIN "C"),
    ENTRY(initialisePlain, PLAIN "c"),
    ENTRY(makeWithDelegate, WITH_DELEGATE "C"),
    ENTRY(initialiseWithDelegate, WITH_DELEGATE "c"),
  };
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    if (all[i].aside && all[i].aside != all[i].function) continue;
    void *first = dlsym(RTLD_DEFAULT, all[i].name);
    if (first == (void *)all[i].function) {
      if (!dlsym(RTLD_NEXT, all[i].name)) return TapSessionSymbolsUnknown;
      continue;
    }
    Dl_info here, there;
    bool isElsewhere = first && dladdr(first, &there) && dladdr((void *)all[i].function, &here)
      && here.dli_fbase != there.dli_fbase;
    return isElsewhere ? TapSessionSymbolsBehind : TapSessionSymbolsStatic;
  }
  return TapSessionSymbolsInEffect;
}

#else

TapSessionSymbolsStatus tapSessionSymbolsStatus(void) { return TapSessionSymbolsUnknown; }

#endif
