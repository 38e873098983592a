"""Files that a text points to."""

import re


def broken(path, root):
    """The relative links of a file that lead nowhere."""
    text = re.sub(r"^```.*?^```", "", path.read_text(), flags=re.MULTILINE | re.DOTALL)
    targets = re.findall(r"\]\((?![a-z]+:|#)([^)#\s]+)", text)
    # An article of DocC names a picture without its folder and its extension.
    pictures = {picture.stem for picture in path.parent.glob("Resources/*")} if path.parent.suffix == ".docc" else set()
    return [f"{path.relative_to(root)}: no file {target}" for target in targets
            if target not in pictures and not (path.parent / target).exists()]
