@_exported public import TapCore
@_exported public import TapEndpoint
@_exported public import TapLog
@_exported public import TapURLSession

// A file that imports SessionTap uses URLSession: on Linux, too, without an import of its own that only Linux
// has.
#if canImport(FoundationNetworking)
  @_exported public import FoundationNetworking
#endif
