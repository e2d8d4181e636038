"""Runs one attempt for the fake remote service: writes the files, runs the script, records its result."""

import base64
import json
import os
import subprocess
import sys
import time

folder = sys.argv[1]
with open(os.path.join(folder, "bundle.json")) as file:
    bundle = json.load(file)
work = os.path.join(folder, "work")
os.makedirs(work, exist_ok=True)
for given in bundle["files"]:
    with open(os.path.join(work, given["name"]), "wb") as file:
        file.write(base64.b64decode(given["content"]))
script = os.path.join(work, "script")
with open(script, "w") as file:
    file.write(bundle["query"])
os.chmod(script, 0o755)
if bundle["queryType"] == "PYTHON":
    words = ["python3", script]
elif bundle["query"].startswith("#!"):
    words = [script]
else:
    words = ["/bin/sh", script]
environment = {"PATH": os.environ["PATH"], "HOME": work, **bundle["environment"]}
environment["MILLRACE_METRICS_FILE"] = os.path.join(work, "metrics.json")
with open(os.path.join(folder, "log"), "ab", 0) as log:
    code = subprocess.Popen(words, cwd=work, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log).wait()
draft = os.path.join(folder, "exit.new")
with open(draft, "w") as file:
    file.write(json.dumps({"code": code if code >= 0 else 128 - code, "finishedAt": int(time.time() * 1000)}))
os.rename(draft, os.path.join(folder, "exit"))
