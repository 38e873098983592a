"""Every recipe of ../logs/README.md, on the log of two releases of the real demo: each has to print something."""

import os
import re
import subprocess

from stack.programs import DASHBOARDS
from stack.stage import REQUESTS

LOGS = DASHBOARDS / "logs"


def check(stage):
    stage.finished.finished(REQUESTS)
    stage.is_ready(stage.classic)
    (folder := stage.folder / "log").mkdir()
    # The demo is still writing: up to the end of a line.
    text = (stage.folder / "requests.jsonl").read_text()
    (folder / "requests.jsonl").write_text(text[:text.rindex("\n") + 1])
    formats = folder / "formats/session_tap"
    formats.mkdir(parents=True)
    (formats / "session-tap.lnav.json").write_text((LOGS / "session-tap.lnav.json").read_text())
    environment = {**os.environ, "HOME": str(folder), "XDG_CONFIG_HOME": str(folder / "config"), "TERM": "xterm"}
    wrong, recipes = [], _recipes((LOGS / "README.md").read_text())
    for recipe in recipes:
        # lnav asks nothing and finds the format in this folder.
        script = recipe.replace("lnav -n ", f"lnav -n -I {folder} ")
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", script], cwd=folder, env=environment, timeout=300,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if done.returncode or done.stderr or not done.stdout.strip():
            wrong.append(f"{recipe}\nexits with {done.returncode}: {done.stdout[-500:]}{done.stderr[-500:]}")
    if len(recipes) < 5:
        wrong.append(f"only {len(recipes)} recipes found")
    return f"{len(recipes)} recipes", wrong


def _recipes(text):
    """The blocks of shell in the section of the recipes."""
    section = re.search(r"^## Recipes$(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    return re.findall(r"^```sh\n(.*?)^```$", section[1] if section else "", re.MULTILINE | re.DOTALL)
