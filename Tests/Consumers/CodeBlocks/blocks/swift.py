"""Swift blocks: a package of them, compiled with warnings as errors."""

import json
import re
import subprocess
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parents[1]
GENERATED = HERE / ".build"
# The apps beside this use the same packages: what they have built is not built again.
SCRATCH = HERE.parent / ".build"
FLAGS = (HERE.parent / "flags").read_text().split()
ADAPTERS = HERE.parents[2] / "Sources/Adapters"

# The manifest of the apps says where a module comes from, and in which version.
MANIFEST = (HERE.parent / "Package.swift").read_text()
PACKAGES = re.findall(r"^ *\.package\(url: .*\n", MANIFEST, flags=re.MULTILINE)
PRODUCTS = {name: (product, package)
            for product, name, package in re.findall(r'(\.product\(name: "(\w+)", package: "([\w-]+)"\))', MANIFEST)}
PRODUCTS |= {name: (f'.product(name: "{name}", package: "session-tap")', "session-tap")
             for name in ("TapCore", "TapLog", "TapEndpoint", "TapURLSession")}

# A block of this kind is the file that its first line names.
QUOTATION = re.compile(r"// (Tests/\S+\.swift)\n")

FUNCTION = """\
import Foundation
import Names
import SessionTap
import TapTesting
{imports}#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

func {name}() async throws {{
do {{
{code}{uses}}}
}}
"""


def check(blocks, root):
    # An article's tests are run by Articles/check.
    blocks = [block for block in blocks if "\nimport Testing\n" not in block.text]
    manifests = [block for block in blocks if re.match(r"// (Package\.swift|swift-tools-version)", block.text)]
    programs = [block for block in blocks if block.text.startswith("import ")]
    quotations = [block for block in blocks if QUOTATION.match(block.text)]
    functions = [block for block in blocks if block not in manifests + programs + quotations]
    wrong = [fault for block in manifests if (fault := _manifest(block, root))]
    wrong += [fault for block in quotations if (fault := _quotation(block, root))]
    names = _write(functions, programs)
    fault = _build() or _run_first_example(names, min(block.number for block in blocks if block.path == "README.md" and block not in manifests))
    return wrong + ([fault] if fault else [])


def _write(functions, programs):
    """Writes the package, and returns the programs by their names."""
    folder = GENERATED / "Sources"
    kept = set()

    def write(path, text):
        # A file that says the same is left alone, so that it is not compiled again.
        kept.add(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text() != text:
            path.write_text(text)

    write(folder / "Names/Names.swift", (HERE / "Names.swift").read_text())
    for block in functions:
        name = _identifier(block)
        text = FUNCTION.format(name=name, imports=_adapted(block), code=_located(block), uses=_used(block.text))
        write(folder / f"Blocks/{name}.swift", text)
    names = {}
    for block in programs:
        if any(other.text == block.text for other in names.values()):
            continue
        name = _identifier(block)
        names[name] = block
        write(folder / f"{name}/{'Program' if '@main' in block.text else 'main'}.swift", _located(block))
    for path in folder.rglob("*.swift"):
        if path not in kept:
            path.unlink()
    for path in folder.iterdir():
        if not any(path.iterdir()):
            path.rmdir()
    write(GENERATED / "Package.swift", _package(names))
    return names


def _identifier(block):
    return re.sub(r"\W+", "_", block.path.removesuffix(".md").removesuffix(".swift")) + f"_{block.number}"


def _located(block):
    """The compiler names the Markdown file and its line."""
    return f'#sourceLocation(file: "{block.path}", line: {block.line})\n{block.text}#sourceLocation()\n'


def _used(text):
    """Uses what a block names and does not use: readers will."""
    names = []
    for line in text.splitlines():
        if match := re.match(r"(?:let|var) (?:(\w+)|\(([\w, ]+)\))", line):
            names += re.findall(r"\w+", match[1] or match[2])
    return "".join(f"_ = {name}\n" for name in names if name != "_")


def _imports(text):
    return set(re.findall(r"^(?:public )?import (\w+)", text, flags=re.MULTILINE))


def _adapted(block):
    """What a comment of an adapter may use: all adapters, and what its file imports."""
    file = HERE.parents[2] / block.path
    if ADAPTERS not in file.parents:
        return ""
    # Tracing brings the module of its context along.
    names = _imports(file.read_text()) & (PRODUCTS.keys() | {"ServiceContextModule"})
    names |= {name for name, (_, package) in PRODUCTS.items() if package == "Adapters"}
    return "".join(f"import {name}\n" for name in sorted(names))


def _package(programs):
    def target(kind, name, modules, *targets):
        products = sorted(PRODUCTS[module][0] for module in modules & PRODUCTS.keys())
        dependencies = ", ".join([*(f'"{target}"' for target in targets), *products])
        return f'    .{kind}(name: "{name}", dependencies: [{dependencies}], swiftSettings: settings),\n'

    targets = [target("target", "Names", _imports((HERE / "Names.swift").read_text())),
               target("target", "Blocks", set(PRODUCTS), "Names"),
               *(target("executableTarget", name, _imports(block.text)) for name, block in programs.items())]
    return f"""\
// swift-tools-version: 6.2
// Written by ../check.
import PackageDescription

let settings: [SwiftSetting] = [.treatAllWarnings(as: .error)]

let package = Package(
  name: "code-blocks",
  platforms: [.macOS(.v15)],
  dependencies: [
    .package(name: "session-tap", path: "../../../.."),
    .package(path: "../../../../Sources/Adapters"),
{"".join(PACKAGES)}  ],
  targets: [
{"".join(targets)}  ]
)
"""


def _swift_build(*arguments):
    return subprocess.run(
        # The folder keeps the plan of another package.
        ["swift", "build", *FLAGS, "--disable-build-manifest-caching", "--package-path", GENERATED, "--scratch-path", SCRATCH, *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def _build():
    done = _swift_build()
    if done.returncode == 0:
        return None
    errors = re.findall(r"^.*?: error: .*$", done.stdout, flags=re.MULTILINE)
    return "\n".join(dict.fromkeys(errors)) or done.stdout[-4000:]


def _run_first_example(programs, number):
    """The README's first block that is no manifest runs without a network: one request, which fails, and its line. Then it waits to be looked at."""
    name = next((name for name, block in programs.items() if (block.path, block.number) == ("README.md", number)), None)
    if name is None:
        return "README.md: the first block in Swift is no program"
    products = _swift_build("--show-bin-path").stdout.strip()
    with tempfile.TemporaryDirectory(prefix="session-tap-") as folder:
        log, deadline = Path(folder) / "requests.jsonl", time.monotonic() + 120
        with subprocess.Popen([f"{products}/{name}"], cwd=folder, env={"OTEL_EXPORTER_PROMETHEUS_PORT": "0", "SESSION_TAP_LOG": log.name},
                              stderr=subprocess.PIPE, text=True) as example:
            while example.poll() is None and time.monotonic() < deadline and not (log.exists() and log.read_text()):
                time.sleep(0.1)
            ended = example.poll()
            example.terminate()
            errors = example.communicate()[1]
        if ended is not None:
            return f"README.md: the first example ends at once, with {ended}: {errors}"
        lines = log.read_text().splitlines() if log.exists() else []
    expected = {"client.name": "users", "url.template": "/users/{id}",
                "url.full": "https://api.example.com/users/42?token=REDACTED"}
    if len(lines) != 1 or not expected.items() <= json.loads(lines[0]).items():
        return f"README.md: the first example leaves {lines}"
    return None


def _quotation(block, root):
    """Sources of a consumer, which compiles and runs them."""
    source, text = root / QUOTATION.match(block.text)[1], block.text.split("\n", 1)[1]
    if not source.exists() or source.read_text() != text:
        return f"{block}: is not what {source.relative_to(root)} is; copy it"
    return None


def _dump(folder):
    return subprocess.run(["swift", "package", "--package-path", folder, "dump-package"], capture_output=True, text=True)


def manifest(text):
    """A whole manifest of a block: of one itself, or of entries for the lists of one, each from the beginning of a line on."""
    if text.startswith("// swift-tools-version"):
        return text
    text = re.sub(r"(?<!:)//.*\n", "\n", text)
    entries = {kind: "" for kind in (".package(", ".product(", ".target(")}
    for entry in re.split(r"^(?=\S)", text, flags=re.MULTILINE):
        if kind := next((kind for kind in entries if entry.startswith(kind)), None):
            entries[kind] += entry.rstrip(", \n") + ",\n"
        elif entry.strip():
            return None
    app = f'.executableTarget(name: "app", dependencies: [{entries[".product("]}]),\n' if entries[".product("] else ""
    return f"""\
// swift-tools-version: 6.2
import PackageDescription
let package = Package(
  name: "app", dependencies: [{entries[".package("]}], targets: [{app}{entries[".target("]}])
"""


def _manifest(block, root):
    """The products that a manifest names are the project's."""
    text = manifest(block.text)
    if text is None:
        return f"{block}: neither a whole manifest nor entries of .package, .product and .target"
    with tempfile.TemporaryDirectory(prefix="session-tap-") as folder:
        (Path(folder) / "Package.swift").write_text(text)
        done = _dump(folder)
        if done.returncode != 0:
            return f"{block}: {done.stderr.strip()}"
    products = {name: {product["name"] for product in json.loads(_dump(package).stdout)["products"]}
                for name, package in (("session-tap", root), (ADAPTERS.name, ADAPTERS))}
    unknown = [product[0] for target in json.loads(done.stdout)["targets"] for dependency in target["dependencies"]
               if (product := dependency.get("product")) and product[0] not in products.get(product[1], [product[0]])]
    return f"{block}: no product {', '.join(unknown)}" if unknown else None
