"""Prints shell lines that give uv the index settings of pip, because uv does not read pip's settings.

Argument: the requirements file. Settings for uv take precedence. Those of pip come from PIP_* variables and /etc/pip.conf.
"""

import configparser
import os
import re
import shlex
import sys

index_settings = re.compile(r"UV_(DEFAULT_INDEX|INDEX|INDEX_URL|EXTRA_INDEX_URL|FIND_LINKS|NO_INDEX)$")


def read_file():
    parser = configparser.RawConfigParser()
    try:
        parser.read("/etc/pip.conf")
    except (configparser.Error, UnicodeDecodeError):
        return {}
    return {name: value for section in ("global", "install") if parser.has_section(section) for name, value in parser.items(section)}


settings = read_file()


def told(name):
    """Returns the value of a pip setting, split at spaces as pip does. A PIP_* variable wins over /etc/pip.conf."""
    variable = os.environ.get("PIP_" + name.upper().replace("-", "_"))
    return (variable or settings.get(name, "")).split()


def is_there(link):
    return "://" in link or os.path.isdir(link)


def index():
    if any(map(index_settings.match, os.environ)):
        return
    if told("index-url"):
        yield "UV_DEFAULT_INDEX", told("index-url")[0]
    if told("extra-index-url"):
        yield "UV_INDEX", " ".join(told("extra-index-url"))
        # pip chooses the best version across all indexes, so uv must do the same.
        yield "UV_INDEX_STRATEGY", "unsafe-best-match"
    links = list(filter(is_there, told("find-links")))
    if links:
        yield "UV_FIND_LINKS", ",".join(links)
    if told("no-index") and told("no-index")[0].lower() in ("1", "true", "yes", "on"):
        yield "UV_NO_INDEX", "1"


def others():
    for name, variable in (("trusted-host", "UV_INSECURE_HOST"), ("cert", "SSL_CERT_FILE"), ("proxy", "ALL_PROXY")):
        if told(name) and variable not in os.environ:
            yield variable, " ".join(told(name))
    # A requirements file may contain index options that uv reads only from variables.
    with open(sys.argv[1], encoding="utf-8", errors="replace") as file:
        lines = {line.strip() for line in file}
    if "--pre" in lines:
        yield "UV_PRERELEASE", "allow"
    if "--require-hashes" in lines:
        yield "UV_REQUIRE_HASHES", "1"


for variable, value in (*index(), *others()):
    print(f"export {variable}={shlex.quote(value)}")
