/** Python packages of one module, made by the tests. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";

const script = `import sys, zipfile
path, name, version, text = sys.argv[1:5]
info = f"{name}-{version}.dist-info"
with zipfile.ZipFile(path, "w") as wheel:
    wheel.writestr(f"{name}.py", f"print({text!r})\\n")
    wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\\nName: {name}\\nVersion: {version}\\n")
    wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
    wheel.writestr(f"{info}/RECORD", "")
`;

/** A wheel of this name and version in a folder: its one module prints the text. */
export async function makeWheel(folder: string, name: string, version: string, text: string) {
  const filename = `${name}-${version}-py3-none-any.whl`;
  const path = join(folder, filename);
  await promisify(execFile)("python3", ["-c", script, path, name, version, text]);
  return { path, name: filename };
}
