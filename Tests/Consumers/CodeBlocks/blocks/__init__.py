"""What ../check does: `markdown` finds code blocks, `swift` compiles those in Swift, `tools` has the other languages read
by their programs, `links` looks at the files that a text points to."""
