"""Blocks that are not Swift, each read by the program that it is for.

A check takes the text and a folder for its files, and returns what is wrong or nothing.
"""

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[4]


def _run(*arguments, input=None, fine=(0,)):
    done = subprocess.run([str(one) for one in arguments], capture_output=True, text=True, input=input)
    return None if done.returncode in fine else (done.stdout + done.stderr).strip()


def shell(text, folder):
    """Bash reads it, and the project's own scripts that it names are there."""
    for script in re.findall(r"^(?:[A-Z_]+=\S+ )*((?:Tests|dashboards)/\S+)", text, flags=re.MULTILINE):
        if not (ROOT / script).is_file():
            return f"no file {script}"
    return _run("bash", "-n", input=text)


def json(text, folder):
    return _run("jq", "-e", ".", input=text)


def yaml(text, folder):
    """A configuration of Prometheus, its rules, or an object of Kubernetes."""
    path = folder / "block.yml"
    path.write_text(text)
    if re.search(r"^(scrape_configs|global|rule_files|remote_write):", text, flags=re.MULTILINE):
        # Files that it names are those of the reader's machine.
        return _run("promtool", "check", "config", "--syntax-only", path)
    if text.startswith("groups:"):
        return _run("promtool", "check", "rules", path)
    if re.search(r"^apiVersion:.*^kind:", text, flags=re.MULTILINE | re.DOTALL):
        return _run("python3", "-c", "import sys, yaml; list(yaml.safe_load_all(sys.stdin))", input=text)
    return "neither a configuration of Prometheus, nor rules, nor an object of Kubernetes"


def promql(text, folder):
    """Each line is a query: a rule records it."""
    rules = "".join(f"  - record: query_{number}\n    expr: {line!r}\n"
                    for number, line in enumerate(text.strip().splitlines()))
    path = folder / "queries.yml"
    path.write_text(f"groups:\n- name: queries\n  rules:\n{rules}")
    return _run("promtool", "check", "rules", path)


def exposition(text, folder):
    """What `/metrics` answers, in the Prometheus text format. An excerpt may lack its help and type: promtool's 3."""
    return _run("promtool", "check", "metrics", input=text, fine=(0, 3))


def nginx(text, folder):
    """Servers and upstreams, with a certificate made for the purpose in place of the reader's."""
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    if not certificate.exists():
        fault = _run("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost",
                     "-keyout", key, "-out", certificate)
        if fault:
            return fault
    text = re.sub(r"(ssl_certificate\s+)\S+;", rf"\1{certificate};", text)
    text = re.sub(r"(ssl_certificate_key\s+)\S+;", rf"\1{key};", text)
    path = folder / "nginx.conf"
    temporary = "".join(f"{name}_temp_path {folder}/{name};\n"
                        for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    path.write_text(f"pid {folder}/nginx.pid;\nerror_log stderr;\nevents {{}}\n"
                    f"http {{\naccess_log off;\n{temporary}{text}}}\n")
    return _run("nginx", "-t", "-e", "stderr", "-p", folder, "-c", path)


def logrotate(text, folder):
    """With a log that is there, and root in place of users whom this machine does not have."""
    log = folder / "rotated.log"
    log.touch()
    text = re.sub(r"^/\S+ \{", f"{log} {{", text)
    path = folder / "logrotate.conf"
    path.write_text(re.sub(r"(create|su)( \d+)? \w+ \w+", r"\1\2 root root", text))
    path.chmod(0o644)
    return _run("logrotate", "-d", "-s", folder / "state", path)


def unit(text, folder):
    """Units of systemd: sections and keys as systemd writes them, several files in one block after a comment each."""
    section = None
    for line in text.splitlines():
        if not line or line.startswith("#"):
            continue
        if match := re.fullmatch(r"\[(Unit|Service|Socket|Install)\]", line):
            section = match[1]
        elif section is None or not re.fullmatch(r"[A-Z][A-Za-z]*=\S.*", line):
            return f"'{line}' is neither a section nor a setting"
    return None


def dockerfile(text, folder):
    """The one that there is, without its comments."""
    file = (ROOT / "dashboards/deploy/Dockerfile").read_text()
    lines = [line for line in file.splitlines() if line and not line.startswith("#")]
    return None if text.splitlines() == lines else "it is not dashboards/deploy/Dockerfile without its comments"


CHECKS = {
    "sh": (shell, "bash"),
    "json": (json, "jq"),
    "yaml": (yaml, "promtool"),
    "promql": (promql, "promtool"),
    "prometheus": (exposition, "promtool"),
    "nginx": (nginx, "nginx", "openssl"),
    "logrotate": (logrotate, "logrotate"),
    "systemd": (unit,),
    "dockerfile": (dockerfile,),
}
