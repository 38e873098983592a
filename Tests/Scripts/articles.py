"""What GitHub and docc make of the Markdown of this repository.

    articles.py check                     renders every Markdown file as GitHub does, and looks for what is broken there
    articles.py translate GRAPHS MODULE FOLDER
                                          writes a module's articles as docc reads them, and their pictures, into a folder

Articles are written for GitHub: links and pictures name files, and symbols are plain code. The translation makes docc's
links of `[text](OtherArticle.md#heading)`, of `![text](Resources/picture.png)`, and of each code span that is a symbol of
the symbol graphs, such as `Tap.run()`. A heading of the first level, or an item below *Topics*, that is code alone
names a symbol of the module.

What the articles in `CONTRIBUTING` name in code, types and functions, files and tests, must be in the repository. Messages that
the others quote, code spans of three words and more, must be what the sources print.

The check needs PyPI's cmarkgfm, which is GitHub's renderer.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).resolve().parents[2]
MODULES = ["TapCore", "TapLog", "TapEndpoint", "TapURLSession", "SessionTap", "TapEverySession", "TapTesting"]
# For those who change the package.
CONTRIBUTING = ROOT / "Sources/SessionTap/SessionTap.docc/Contributing"
# Messages that come from elsewhere: of the system, and of libcurl.
FOREIGN = {os.strerror(number) for number in range(1, 134)} | {"Could not resolve host"}
# Of lines, in an article.
LONGEST = 200

# What is translated within a line: code spans, and links or pictures, whose text may be code.
CODE = r"`[^`]+`"
PART = re.compile(rf"(?P<code>{CODE})|(?P<picture>!?)\[(?P<text>(?:{CODE}|[^\[\]`])+)\]\((?P<target>[^()\s]+)\)")


# GitHub


class Page(HTMLParser):
    """A rendered file: where its links lead, what can be linked to, and its text."""

    def __init__(self, path):
        super().__init__()
        import cmarkgfm
        from cmarkgfm.cmark import Options

        self.path, self.anchors, self.links, self.faults = path, set(), [], []
        self.open, self.heading = [], None
        self.feed(cmarkgfm.github_flavored_markdown_to_html(path.read_text(), Options.CMARK_OPT_UNSAFE))

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if tag == "img" and not attributes.get("alt"):
            self.faults.append(f"a picture without a text, {attributes.get('src')}")
        self.links += [attributes[name] for name in ("href", "src", "srcset") if attributes.get(name)]
        self.open.append(tag)
        if re.fullmatch("h[1-6]", tag):
            self.heading = ""

    def handle_endtag(self, tag):
        while tag in self.open and self.open.pop() != tag:
            pass  # Elements without an end, such as a picture.
        if re.fullmatch("h[1-6]", tag):
            self.anchors.add(slug(self.heading))
            self.heading = None

    def handle_data(self, text):
        if self.heading is not None:
            self.heading += text
        if "pre" in self.open:
            return
        if "code" in self.open:
            if re.match(rf"/({'|'.join(MODULES)})\b|doc:", text):
                self.faults.append(f"a link of docc's, {text}")
        elif match := re.search(r"(?m)doc:\w+|``|^ *@[A-Z]\w*|\]\([^)]*\)|^\|.*\|$|\*\*", text):
            self.faults.append(f"markup that shows as text, {match[0]}")


def slug(heading):
    """GitHub's anchor of a heading. A second one of the same text would have a number: none is linked."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def check():
    names = subprocess.run(["git", "-C", ROOT, "ls-files", "-co", "--exclude-standard", "*.md"], capture_output=True, text=True, check=True)
    pages = {path: Page(path) for path in (ROOT / name for name in names.stdout.splitlines()) if path.exists()}
    faults = []
    for path, page in pages.items():
        found = page.faults + [fault for link in page.links for fault in broken(link, page, pages)]
        faults += [f"{path.relative_to(ROOT)}: {fault}" for fault in found]
    faults += [f"{path.relative_to(ROOT)}: more than {LONGEST} lines" for path in pages
               if path.name != "Changelog.md" and path.read_text().count("\n") > LONGEST]
    faults += unknown_names()
    faults += unsaid_messages()
    for fault in faults:
        print(f"articles: {fault}", file=sys.stderr)
    links = sum(len(page.links) for page in pages.values())
    print(f"articles: {len(pages)} files, {links} links, {len(faults)} faults")
    return 1 if faults else 0


def unknown_names():
    """What the articles on changing the package name in code, and no source has."""
    tracked = subprocess.run(["git", "-C", ROOT, "ls-files"], capture_output=True, text=True, check=True).stdout.split()
    files = [ROOT / name for name in tracked if not name.endswith((".md", ".png"))]
    sources = "\n".join(path.read_text(errors="ignore") for path in files if path.exists())
    words = set(re.findall(r"\w+", sources + " ".join(tracked)))
    articles = {path.stem: path.read_text() for path in sorted(CONTRIBUTING.glob("*.md"))}
    spans = [(article, " ".join(span.split())) for article, text in articles.items()
             for span in re.findall(r"`([^`]+)`", re.sub(r"```.*?```", "", text, flags=re.DOTALL))]
    for article, span in spans:
        # The name of a test, or a command: as it stands. Anything else: each of its words.
        names = [span] if re.fullmatch(r"[a-zA-Z' ]+ [a-zA-Z' ]+", span) else re.findall(r"[A-Za-z_]\w{2,}", span)
        for name in names:
            if name not in words and not (" " in name and name in sources):
                yield f"{article}.md: `{span}` names {name}, which is in no source"


def unsaid_messages():
    """Messages that an article quotes, and no source prints."""
    folder = ROOT / "Sources"
    pieces = {piece for path in folder.rglob("*.swift") for piece in literals(path.read_text())} | FOREIGN
    pages = ("".join(path.read_text() for path in sorted((folder / "TapPage/Web").iterdir()))).split()
    whole = sorted({piece.strip() for piece in pieces if re.search(r" .*\w|\w:$", piece.strip())}, key=len, reverse=True)
    said = "\n".join([*pieces, " ".join(pages)])
    for path in [ROOT / "README.md", *sorted((folder / "SessionTap/SessionTap.docc").glob("*.md"))]:
        for span in re.findall(r"`([^`]+)`", re.sub(r"```.*?```", "", path.read_text(), flags=re.DOTALL)):
            span = " ".join(span.split())
            if not re.search(r"\b[A-Za-z']+ [a-z']+ [a-z']+\b", span) or re.match(r"swift |.*[{] ", span):
                continue
            rest = span
            for piece in whole:
                rest = rest.replace(piece, " | ")
            # A message may be cut short. Three words that follow each other in no message are neither one nor values in one.
            words, unsaid = rest.split(), []
            while words:
                count = next((count for count in range(len(words), 2, -1) if " ".join(words[:count]) in said), 0)
                unsaid.append("|" if count else words[0])
                words = words[max(count, 1):]
            if match := re.search(r"(?<!\S)([A-Za-z',;:]+ ){2}[A-Za-z',;:]+", " ".join(unsaid)):
                yield f"{path.name}: `{span}` is a message, and no source prints '{match[0]}'"


def literals(text):
    """The fixed parts of the string literals of Swift, interpolations left out."""
    part, depth = r'"""|"|//[^\n]*|\\\(|[()]|\\.', []
    piece, position = "", 0
    # Of each literal that is open, the parentheses that are open in its interpolation; -1 within its text.
    while match := re.compile(part).search(text, position):
        if depth and depth[-1] == -1:
            piece += text[position:match.start()]
        position, token = match.end(), match[0]
        if not depth or depth[-1] != -1:
            if token in ('"', '"""'):
                depth.append(-1)
            elif depth and token == "(":
                depth[-1] += 1
            elif depth and token == ")":
                depth[-1] -= 1
                if depth[-1] == 0:
                    depth[-1] = -1
        elif token == "\\(":
            yield piece
            piece, depth[-1] = "", 1
        elif token in ('"', '"""'):
            yield piece
            piece = ""
            depth.pop()
        else:
            piece += {'\\"': '"'}.get(token, token)
            if token.startswith("//"):
                # A URL within a text: what follows is read again.
                position = match.start() + 2
                piece = piece[:-len(token)] + "//"


def broken(link, page, pages):
    """What is wrong with a link, if anything. Links to other hosts are not followed."""
    url = urlsplit(link)
    path = (page.path.parent / unquote(url.path)).resolve() if url.path else page.path
    if url.scheme:
        return [] if url.scheme in ("http", "https") else [f"a link that only docc follows, {link}"]
    if url.path.startswith("/") or not path.exists() or ROOT not in path.parents:
        return [f"no file {link}"]
    if url.fragment and path.suffix == ".md" and url.fragment not in pages[path].anchors:
        return [f"no heading {link}"]
    return []


# docc


def translate(graphs, module, folder):
    source, known = ROOT / f"Sources/{module}/{module}.docc", symbols(Path(graphs), module)
    shutil.copytree(source, folder, dirs_exist_ok=True)
    for path in Path(folder).rglob("*.md"):
        path.write_text(translated(path.read_text(), source / path.relative_to(folder), known))
    return 0


def catalog(path):
    """The folder of a module's articles that has a file, if any."""
    return next((folder for folder in path.parents if folder.suffix == ".docc"), None)


def symbols(graphs, module):
    """The modules that have a symbol of a name, such as `Tap.run()`, once for each overload. A module links to itself and to
    those before it."""
    known = {}
    for name in MODULES[:MODULES.index(module) + 1]:
        known[name] = [name]
        for symbol in json.loads((graphs / f"{name}.symbols.json").read_text())["symbols"]:
            known.setdefault(".".join(symbol["pathComponents"]), []).append(name)
    return known


def translated(text, path, known):
    module, topics, pieces = catalog(path).stem, False, []
    # Fenced code, headings, and what is between them.
    for piece in re.split(r"^(```.*?^```|#[^\n]*)$", text, flags=re.MULTILINE | re.DOTALL):
        if piece.startswith("#"):
            topics = topics or piece == "## Topics"
            if re.fullmatch(rf"# {CODE}", piece):
                name = piece[3:-1].replace(".", "/")
                piece = f"# ``{name if name == module else f'{module}/{name}'}``"
        elif topics:
            # An item is a link and no more.
            piece = re.sub(rf"^- ({CODE})$", r"- `\1`", piece, flags=re.MULTILINE)
            piece = re.sub(r"^- \[.*\]\((.*)\)$", lambda match: f"- {page(Path(match[1]))}", piece, flags=re.MULTILINE)
        elif not piece.startswith("```"):
            piece = PART.sub(lambda match: part(match, path, known), piece)
        pieces.append(piece)
    return "".join(pieces)


def part(match, path, known):
    """A code span, a link or a picture as docc reads it."""
    if match["code"]:
        name = match["code"].strip("`")
        if len(modules := known.get(name, [])) != 1:
            return match["code"]
        # A dot within the labels of a function does not occur.
        return f"``/{modules[0]}``" if name in MODULES else f"``/{modules[0]}/{name.replace('.', '/')}``"
    if re.match(r"https?:", match["target"]):
        return match[0]
    name, _, anchor = match["target"].partition("#")
    target = (path.parent / name).resolve() if name else path
    if match["picture"]:
        return f"![{match['text']}]({target.stem})"
    if catalog(target) == catalog(path) and target.stem not in MODULES:
        return f"[{match['text']}](doc:{target.stem}{fragment(anchor, target)})"
    if catalog(target):
        return page(target)
    # What docc does not publish is named.
    return match["text"] if "`" in match["text"] else f"{match['text']} (`{target.relative_to(ROOT)}`)"


def page(target):
    """docc's link to an article or a module, with its own title."""
    return f"``/{target.stem}``" if target.stem in MODULES else f"<doc:{target.stem}>"


def fragment(anchor, target):
    """docc's name of a heading, by GitHub's."""
    for heading in re.findall(r"^#{2,6} (.*)$", target.read_text(), flags=re.MULTILINE):
        if anchor and slug(heading) == anchor:
            return "#" + re.sub(r"[\s-]+", "-", re.sub(r"[`'\"]", "", heading))
    return ""


if __name__ == "__main__":
    sys.exit({"check": check, "translate": translate}[sys.argv[1]](*sys.argv[2:]))
