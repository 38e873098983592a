"""Code blocks of Markdown files."""

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Block:
    """A fenced block. `line` is the line of its first character, counted from 1, `number` the block's own in its file."""

    path: str
    line: int
    number: int
    language: str
    text: str

    def __str__(self):
        return f"{self.path}:{self.line}: block {self.number}"


def blocks(path, root):
    """The fenced blocks of a file, and what is wrong with how they are written."""
    name = str(path.relative_to(root))
    found, wrong = [], []
    language, begin, lines = None, 0, []
    before = ""
    for number, line in enumerate(path.read_text().splitlines(), start=1):
        fence = re.match(r"\s*```(.*)$", line)
        if fence and language is None:
            language, begin, lines = fence[1].strip(), number + 1, []
            if line.startswith(" "):
                wrong.append(f"{name}:{number}: the fence is indented; blocks are to stand at the margin")
        elif fence:
            found.append(Block(name, begin, len(found) + 1, language, "\n".join(lines) + "\n"))
            language = None
        elif language is not None:
            lines.append(line)
        else:
            # Four spaces make a code block too, unless they go on with a list's item.
            if line.startswith("    ") and not line.strip().startswith(("-", "*")) and before == "":
                wrong.append(f"{name}:{number}: an indented code block has no language; fence it")
            before = line.strip() if line.strip() or before else before
            before = "" if not line.strip() else line.strip()
    if language is not None:
        wrong.append(f"{name}:{begin - 1}: the block has no end")
    return found, wrong
