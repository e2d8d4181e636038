/** Python packages built by the tests: a wheel in a folder, or an index that has one. */
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";

const pack = `import io, json, sys, zipfile
name, version, files = json.loads(sys.stdin.read())
info = f"{name}-{version}.dist-info"
files[f"{info}/METADATA"] = f"Metadata-Version: 2.1\\nName: {name}\\nVersion: {version}\\n"
files[f"{info}/WHEEL"] = "Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n"
files[f"{info}/RECORD"] = "".join(f"{path},,\\n" for path in [*files, f"{info}/RECORD"])
archive = io.BytesIO()
with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as wheel:
    for path, text in files.items():
        wheel.writestr(path, text)
sys.stdout.buffer.write(archive.getvalue())
`;

const wheelOf = (name: string, version: string, files: Readonly<Record<string, string>>) =>
  execFileSync("python3", ["-c", pack], { input: JSON.stringify([name, version, files]) });

/** Creates a wheel of this name and version in a folder: its one module prints the text. */
export async function makeWheel(folder: string, name: string, version: string, text: string) {
  const filename = `${name}-${version}-py3-none-any.whl`;
  const path = join(folder, filename);
  await writeFile(path, wheelOf(name, version, { [`${name}.py`]: `print(${JSON.stringify(text)})\n` }));
  return { path, name: filename };
}

/** A package index with version 1.0 of a package with these files, for tests of untrusted packages. */
export async function serveWheel(name: string, files: Readonly<Record<string, string>>) {
  const wheel = wheelOf(name, "1.0", files);
  const file = `${name}-1.0-py3-none-any.whl`;
  const server = createServer((request, response) => {
    if (request.url === `/${file}`) response.end(wheel);
    else if (request.url === `/simple/${name}/`)
      response.setHeader("content-type", "text/html").end(`<a href="/${file}">${file}</a>`);
    else response.writeHead(404).end();
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/simple`, close };
}
