"""Expressions without native histograms, for servers that do not know them."""

import json
import re

import yaml

from .programs import DASHBOARDS

NOTE = "# Made of {} by dashboards/write-classic: without native histograms.\n"
_NATIVE = re.compile(r"\bhistogram_(count|sum|fraction)\s*\(")
_STRING = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'")


def classic(expression):
    """The expression without those operands of `or` that ask for the native form of a histogram."""
    kept = [one for one in (_inside(operand) for operand in _operands(expression)) if not _is_native(one)]
    return "or".join(kept)


def _is_native(operand):
    if _NATIVE.search(operand):
        return True
    return "histogram_quantile" in operand and "_bucket" not in operand


def _operands(text):
    """Splits at each `or` that is in no parentheses."""
    depth, begin, parts = 0, 0, []
    for place, word in _words(text):
        depth += {"(": 1, ")": -1}.get(word, 0)
        if word == "or" and depth == 0:
            parts.append(text[begin:place])
            begin = place + 2
    return [*parts, text[begin:]]


def _inside(text):
    """The same of what is in parentheses, at every depth."""
    depth, begin, made, end = 0, 0, "", 0
    for place, word in _words(text):
        if word == "(":
            depth += 1
            if depth == 1:
                begin = place + 1
        elif word == ")":
            depth -= 1
            if depth == 0:
                made += text[end:begin] + classic(text[begin:place])
                end = place
    return made + text[end:]


def _words(text):
    """The parentheses and each `or`, with their places; what is in quotes or braces is neither."""
    hidden = _STRING.sub(lambda found: "_" * len(found[0]), text)
    hidden = re.sub(r"\{[^}]*\}", lambda found: "_" * len(found[0]), hidden)
    return [(found.start(), found[0]) for found in re.finditer(r"[()]|\bor\b", hidden)]


def write_classic(folder):
    """Writes `rules/*.yml` and `boards/*.json`."""
    for path in sorted(DASHBOARDS.glob("prometheus/rules/*.yml")):
        content = yaml.safe_load(path.read_text())
        for group in content["groups"]:
            for rule in group["rules"]:
                rule["expr"] = " ".join(classic(rule["expr"]).split())
        _write(folder / "rules" / path.name, NOTE.format(path.name) + yaml.safe_dump(content, sort_keys=False, width=200))
    for path in sorted(DASHBOARDS.glob("grafana/boards/*.json")):
        board = json.loads(path.read_text())
        board["panels"] = [panel for panel in board["panels"] if "(native)" not in panel["title"]]
        for panel in board["panels"]:
            for target in panel.get("targets", []):
                target["expr"] = classic(target["expr"])
        _write(folder / "boards" / path.name, json.dumps(board, indent=2, sort_keys=True, ensure_ascii=False) + "\n")


def _write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
