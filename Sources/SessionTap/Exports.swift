@_exported public import TapCore
@_exported public import TapEndpoint
@_exported public import TapLog
@_exported public import TapPage
@_exported public import TapURLSession
