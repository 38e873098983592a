"""Files that a text points to."""

import re


def broken(path, root):
    """The relative links of a file that lead nowhere."""
    text = re.sub(r"^```.*?^```", "", path.read_text(), flags=re.MULTILINE | re.DOTALL)
    targets = re.findall(r"\]\((?![a-z]+:|#)([^)#\s]+)", text)
    return [f"{path.relative_to(root)}: no file {target}" for target in targets if not (path.parent / target).exists()]
