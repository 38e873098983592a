// Tests use Foundation, URLSession and the C library under one import.
@_exported public import TapFoundation
