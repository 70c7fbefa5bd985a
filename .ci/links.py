#!/usr/bin/env python3
"""Whether links between documents lead somewhere, and modules in the tables of crates' READMEs exist."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LINK = re.compile(r"\]\(([^)\s]+)\)")
CODE = re.compile(r"^\s*```.*?^\s*```$|`[^`\n]*`", re.MULTILINE | re.DOTALL)


def anchors(text):
    """What headings are called in links."""
    headings = re.findall(r"^#+ (.*)$", re.sub(r"```.*?```", "", text, flags=re.DOTALL), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def faults(path):
    text = path.read_text()
    for link in LINK.findall(CODE.sub("", text)):
        if re.match(r"[a-z]+:", link):
            continue
        name, _, anchor = link.partition("#")
        target = path.parent / name if name else path
        if not target.exists():
            yield f"{link}: no such file"
        elif anchor and anchor not in anchors(target.read_text()):
            yield f"{link}: no such heading"
    table = re.search(r"^\| (?:module|file) \|.*\n((?:\|.*\n)+)", text, re.MULTILINE)
    if path.name == "README.md" and table:
        for row in table[1].splitlines():
            for module in re.findall(r"`([\w./-]+)`", row.split("|")[1]):
                if not any((path.parent / folder / module).exists() for folder in ("", "src")):
                    yield f"`{module}`: no such module"


listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "*.md"], cwd=ROOT, capture_output=True,
                        text=True, check=True)
found = [f"{name}: {fault}" for name in listed.stdout.splitlines() if (ROOT / name).exists()
         for fault in faults(ROOT / name)]
sys.exit("\n".join(found) or None)
