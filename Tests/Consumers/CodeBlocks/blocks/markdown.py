"""Code blocks of Markdown: in files of their own, and in the documentation comments of Swift files."""

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Block:
    """A code block. `line` is the line of its first character, counted from 1, `number` the block's own in its file."""

    path: str
    line: int
    number: int
    language: str
    text: str

    def __str__(self):
        return f"{self.path}:{self.line}: block {self.number}"


def of_text(path, root):
    """The fenced blocks of a Markdown file, and what is wrong with how they are written. Each has to have a language, so
    one that is indented by four spaces is a fault."""
    name = str(path.relative_to(root))
    found, wrong = [], []
    for line, language, lines in _blocks(enumerate(path.read_text().splitlines(), start=1)):
        if language is None:
            wrong.append(f"{name}:{line}: an indented code block has no language; fence it")
        else:
            found.append(Block(name, line, len(found) + 1, language, _joined(lines)))
    return found, wrong


def of_comments(path, root):
    """The blocks of the documentation comments of a Swift file. What is indented there is Swift, as it is to docc."""
    name = str(path.relative_to(root))
    comment, found = [], []

    def finish():
        for line, language, lines in _blocks(comment):
            found.append(Block(name, line, len(found) + 1, language or "swift", _joined(lines)))
        comment.clear()

    for number, line in enumerate(path.read_text().splitlines(), start=1):
        if match := re.match(r"\s*/// ?(.*)$", line):
            comment.append((number, match[1]))
        else:
            finish()
    finish()
    return found


def _blocks(lines):
    """The line, the language and the lines of each block; no language where it is indented and not fenced."""
    found, fence, before = [], None, ""
    for number, line in lines:
        if match := re.match(r"```(.*)$", line):
            if fence is None:
                fence = (number + 1, match[1].strip(), [])
            else:
                found.append(fence)
                fence = None
        elif fence:
            fence[2].append(line)
        elif line.startswith("    ") and found and found[-1][1] is None and number - _end(found[-1]) <= 1:
            # With the empty line in between, if there is one.
            found[-1][2].extend([""] * (number - _end(found[-1])) + [line[4:]])
        elif line.startswith("    ") and before == "":
            # Behind a line of text four spaces go on with a list's item.
            found.append((number, None, [line[4:]]))
        before = line.strip()
    return found + ([fence] if fence else [])


def _end(block):
    return block[0] + len(block[2])


def _joined(lines):
    return "".join(line + "\n" for line in lines)
