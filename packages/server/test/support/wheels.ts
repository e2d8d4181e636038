/** An index of packages with one wheel, for tests of what strangers publish. */
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

const pack = `import io, json, sys, zipfile
name, files = json.loads(sys.stdin.read())
info = f"{name}-1.0.dist-info"
files[f"{info}/METADATA"] = f"Metadata-Version: 2.1\\nName: {name}\\nVersion: 1.0\\n"
files[f"{info}/WHEEL"] = "Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n"
files[f"{info}/RECORD"] = "".join(f"{path},,\\n" for path in [*files, f"{info}/RECORD"])
archive = io.BytesIO()
with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as wheel:
    for path, text in files.items():
        wheel.writestr(path, text)
sys.stdout.buffer.write(archive.getvalue())
`;

/** Version 1.0 of a package with these files. */
export async function serveWheel(name: string, files: Readonly<Record<string, string>>) {
  const wheel = execFileSync("python3", ["-c", pack], { input: JSON.stringify([name, files]) });
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
