// Foundation under one name: on Linux its URLSession is in a module of its own.
@_exported public import Foundation

#if canImport(FoundationNetworking)
  @_exported public import FoundationNetworking
#endif
