"""What docc does not find fault with: symbols that no topic names, so that docc had to group them by itself.

    check-documentation.py ARCHIVE…
"""

import json
import pathlib
import sys

# Members that a page may have without topics of its own: docc's groups by kind read well enough up to here.
SMALL_PAGE = 12


def pages_without_topics(archive):
    data = archive / "data" / "documentation"
    for path in sorted(data.rglob("*.json")):
        page = json.loads(path.read_text())
        sections = page.get("topicSections", [])
        # docc gathers the implementations of another protocol's requirements on pages of their own.
        generated = [
            name for section in sections if section.get("generated")
            for name in section["identifiers"] if not name.endswith("-Implementations")
        ]
        others = len(sections) > 0 and any(not section.get("generated") for section in sections)
        is_module = page["metadata"].get("symbolKind") == "module"
        if generated and (is_module or others or len(generated) > SMALL_PAGE):
            names = ", ".join(name.rsplit("/", 1)[-1] for name in generated)
            yield f"{path.relative_to(data).with_suffix('')}: no topic names {names}"


def main(*archives):
    faults = [fault for archive in archives for fault in pages_without_topics(pathlib.Path(archive))]
    for fault in faults:
        print(f"check-documentation: {fault}", file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
