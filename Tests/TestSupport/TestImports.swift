// One import for what nearly each test uses: Foundation with URLSession, libc, locks and atomics, Swift
// Testing, TapCore.
@_exported public import Synchronization
@_exported public import TapCore
@_exported public import TapFoundation
@_exported public import Testing
