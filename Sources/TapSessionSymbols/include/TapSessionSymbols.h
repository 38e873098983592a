/// Whether Foundation's functions that give URLSessions are preceded by those of this module.
typedef enum {
  TapSessionSymbolsInEffect,
  /// Foundation is linked into the same image, whose linker prefers its definitions.
  TapSessionSymbolsStatic,
  /// Foundation has no function of one of the names: another toolchain, or another system.
  TapSessionSymbolsUnknown,
  /// The dynamic linker finds Foundation's function first.
  TapSessionSymbolsBehind
} TapSessionSymbolsStatus;

/// Looks the functions up, as the dynamic linker does for a call from any library of the process.
TapSessionSymbolsStatus tapSessionSymbolsStatus(void);
