"""Swift blocks: a package of them, compiled with warnings as errors."""

import json
import re
import subprocess
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parents[1]
GENERATED = HERE / ".build"

# Which product has a module, for the manifest of the generated package.
PRODUCTS = {name: f'.product(name: "{name}", package: "session-tap")'
            for name in ("SessionTap", "TapCore", "TapLog", "TapEndpoint", "TapPage", "TapURLSession")}

# Those of the packages that the adapters are for. A program that imports one gets the adapters among its sources, as an
# app that copies them does; but not those that import more, such as a client with TLS, which takes minutes to build.
ADAPTED = {
    "Metrics": '.product(name: "Metrics", package: "swift-metrics")',
    "CoreMetrics": '.product(name: "CoreMetrics", package: "swift-metrics")',
    "Logging": '.product(name: "Logging", package: "swift-log")',
    "Instrumentation": '.product(name: "Instrumentation", package: "swift-distributed-tracing")',
}
ADAPTERS = HERE.parent / "Adapters"

# A block of this kind is the file that its first line names.
QUOTATION = re.compile(r"// (Tests/\S+\.swift)\n")

FUNCTION = """\
import Foundation
import Names
import SessionTap
#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

func {name}() async throws {{
do {{
{code}{uses}}}
}}
"""


def check(blocks, root):
    manifests = [block for block in blocks if re.match(r"// (Package\.swift|swift-tools-version)", block.text)]
    programs = [block for block in blocks if block.text.startswith("import ")]
    quotations = [block for block in blocks if QUOTATION.match(block.text)]
    functions = [block for block in blocks if block not in manifests + programs + quotations]
    wrong = [fault for block in manifests if (fault := _manifest(block, root))]
    wrong += [fault for block in quotations if (fault := _quotation(block, root))]
    names = _write(functions, programs)
    fault = _build() or _run_first_example(names, min(block.number for block in blocks if block.path == "README.md"))
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
        text = FUNCTION.format(name=name, code=_located(block), uses=_used(block.text))
        write(folder / f"Blocks/{name}.swift", text)
    names = {}
    for block in programs:
        if any(other.text == block.text for other in names.values()):
            continue
        name = _identifier(block)
        names[name] = block
        write(folder / f"{name}/{'Program' if '@main' in block.text else 'main'}.swift", _located(block))
        if ADAPTED.keys() & _imports(block):
            for adapter in ADAPTERS.glob("Sources/*/*.swift"):
                if _imports_of(adapter.read_text()) <= PRODUCTS.keys() | ADAPTED.keys() | {"Synchronization"}:
                    write(folder / name / adapter.name, adapter.read_text())
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


def _imports(block):
    return _imports_of(block.text)


def _imports_of(text):
    return set(re.findall(r"^import (\w+)", text, flags=re.MULTILINE))


def _package(programs):
    targets, packages = [], []
    for name, block in programs.items():
        products = {PRODUCTS[module] for module in _imports(block) & PRODUCTS.keys()}
        if ADAPTED.keys() & _imports(block):
            products |= {PRODUCTS["SessionTap"], *ADAPTED.values()}
            # As the adapters' own manifest has them.
            manifest = (ADAPTERS / "Package.swift").read_text()
            names = "|".join({re.search(r'package: "(.*)"', product)[1] for product in ADAPTED.values()})
            packages = re.findall(rf'^ *\.package\(url: ".*/(?:{names})".*\n', manifest, flags=re.MULTILINE)
        targets.append(f'    .executableTarget(name: "{name}", dependencies: [{", ".join(sorted(products))}]),\n')
    return f"""\
// swift-tools-version: 6.1
// Written by ../check.
import PackageDescription

let package = Package(
  name: "snippets",
  platforms: [.macOS(.v15)],
  dependencies: [
    .package(name: "session-tap", path: "../../../.."),
{"".join(packages)}  ],
  targets: [
    .target(name: "Names", dependencies: [{PRODUCTS["SessionTap"]}]),
    .target(name: "Blocks", dependencies: ["Names", {PRODUCTS["SessionTap"]}]),
{"".join(targets)}  ]
)
"""


def _swift_build(*arguments):
    return subprocess.run(
        ["swift", "build", "-Xswiftc", "-warnings-as-errors", "--package-path", GENERATED, *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def _build():
    done = _swift_build()
    if done.returncode == 0:
        return None
    errors = re.findall(r"^.*?: error: .*$", done.stdout, flags=re.MULTILINE)
    return "\n".join(dict.fromkeys(errors)) or done.stdout[-4000:]


def _run_first_example(programs, number):
    """The README's first block runs without a network: one request, which fails, and its line. Then it waits to be looked at."""
    name = next((name for name, block in programs.items() if (block.path, block.number) == ("README.md", number)), None)
    if name is None:
        return "README.md: the first block in Swift is no program"
    products = _swift_build("--show-bin-path").stdout.strip()
    with tempfile.TemporaryDirectory(prefix="session-tap-") as folder:
        log, deadline = Path(folder) / "requests.jsonl", time.monotonic() + 30
        with subprocess.Popen([f"{products}/{name}"], cwd=folder, env={"OTEL_EXPORTER_PROMETHEUS_PORT": "0"},
                              stderr=subprocess.PIPE, text=True) as example:
            while example.poll() is None and time.monotonic() < deadline and not (log.exists() and log.read_text()):
                time.sleep(0.1)
            ended = example.poll()
            example.terminate()
            errors = example.communicate()[1]
        if ended is not None:
            return f"README.md: the first example ends at once, with {ended}: {errors}"
        lines = log.read_text().splitlines() if log.exists() else []
    expected = {"client": "users", "url.template": "/users/{id}",
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


def _manifest(block, root):
    """A whole manifest, or entries for the lists of one; the products that it names are the project's."""
    text = block.text
    if not text.startswith("// swift-tools-version"):
        lines = [re.sub(r"(?<!:)//.*", "", line).strip() for line in text.splitlines()]
        entries = {kind: "".join(f"{line.rstrip(',')}," for line in lines if line.startswith(kind))
                   for kind in (".package", ".product")}
        if any(line and not line.startswith(tuple(entries)) for line in lines):
            return f"{block}: neither a whole manifest nor entries of .package and .product"
        text = f"""\
// swift-tools-version: 6.1
import PackageDescription
let package = Package(
  name: "app", dependencies: [{entries[".package"]}],
  targets: [.executableTarget(name: "app", dependencies: [{entries[".product"]}])])
"""
    with tempfile.TemporaryDirectory(prefix="session-tap-") as folder:
        (Path(folder) / "Package.swift").write_text(text)
        done = _dump(folder)
        if done.returncode != 0:
            return f"{block}: {done.stderr.strip()}"
    own = json.loads(_dump(root).stdout)
    products = {product["name"] for product in own["products"]}
    unknown = [product[0] for target in json.loads(done.stdout)["targets"] for dependency in target["dependencies"]
               if (product := dependency.get("product")) and product[1] == own["name"] and product[0] not in products]
    return f"{block}: no product {', '.join(unknown)}" if unknown else None
