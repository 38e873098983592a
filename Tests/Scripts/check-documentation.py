"""What docc does not find fault with: symbols that no topic names, so that docc had to group them by itself, and links
to pages that are not there.

    check-documentation.py FOLDER
"""

import json
import pathlib
import re
import sys

# Members that a page may have without topics of its own: docc's groups by kind read well enough up to here.
SMALL_PAGE = 12


def without_topic(page):
    """The symbols of a page that no topic of its names, where that matters."""
    sections = page.get("topicSections", [])
    # docc gathers the implementations of another protocol's requirements on pages of their own.
    generated = [
        name for section in sections if section.get("generated")
        for name in section["identifiers"] if not name.endswith("-Implementations")
    ]
    has_topics = any(not section.get("generated") for section in sections)
    is_module = page["metadata"].get("symbolKind") == "module"
    return generated if has_topics or is_module or len(generated) > SMALL_PAGE else []


def leading_nowhere(page, data):
    """The pages that a page points to and that are not there."""
    for reference in page.get("references", {}).values():
        url = reference.get("url", "")
        path = url.split("#")[0].strip("/").lower()
        if path.startswith("documentation") and not (data / f"{path}.json").exists():
            yield path
        # A file of the repository, to which docc links without a word.
        if reference.get("type") == "link" and not re.match(r"[a-z]+:", url):
            yield url


def main(folder):
    data = pathlib.Path(folder) / "data"
    faults = []
    for path in sorted((data / "documentation").rglob("*.json")):
        page = json.loads(path.read_text())
        name = path.relative_to(data).with_suffix("")
        faults += [f"{name}: no topic names {symbol.rsplit('/', 1)[-1]}" for symbol in without_topic(page)]
        faults += [f"{name}: no page {target}" for target in leading_nowhere(page, data)]
    for fault in faults:
        print(f"check-documentation: {fault}", file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
