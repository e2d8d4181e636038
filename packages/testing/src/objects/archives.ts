/** Creates archives with Python's own modules, for the tests of `zip://` and `tar://`. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { skipUnless } from "../programs/program.ts";

const run = promisify(execFile);

export const whyNoPython = () => skipUnless("Python", () => run("python3", ["-c", "import zipfile, tarfile"]));

const script = `
import io, json, sys, tarfile, time, zipfile
kind, path, mode = sys.argv[1:4]
for_tar = {"tar": "a" if mode == "a" else "w", "tar-gnu": "w", "tgz": "w:gz", "tbz": "w:bz2"}
def content(value):
    return b"\\0" * value if isinstance(value, int) else bytes.fromhex(value)
with open(0, encoding="utf8", errors="surrogatepass", newline="") as source:
    members = json.load(source)
if kind.startswith("zip"):
    method = zipfile.ZIP_STORED if kind == "zip-stored" else zipfile.ZIP_LZMA if kind == "zip-lzma" else zipfile.ZIP_DEFLATED
    with zipfile.ZipFile(path, mode, method) as archive:
        for name, value in members:
            info = zipfile.ZipInfo("x", time.gmtime()[:6])
            info.filename, info.compress_type = name, method
            with archive.open(info, "w", force_zip64=kind == "zip-64") as file:
                file.write(content(value))
else:
    format = tarfile.GNU_FORMAT if kind == "tar-gnu" else tarfile.PAX_FORMAT
    with tarfile.open(path, for_tar[kind], format=format) as archive:
        for name, value in members:
            info = tarfile.TarInfo(name)
            info.mtime = time.time()
            if value == "->":
                info.type, info.linkname = tarfile.SYMTYPE, "/etc/passwd"
                archive.addfile(info)
                continue
            data = content(value)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
`;

export type ArchiveKind = "zip" | "zip-stored" | "zip-lzma" | "zip-64" | "tar" | "tar-gnu" | "tgz" | "tbz";

/** Writes an archive with these members; the mode `a` appends to an existing archive. */
export async function writeArchive(
  kind: ArchiveKind,
  path: string,
  members: readonly (readonly [string, string | number | Uint8Array])[],
  mode: "w" | "a" = "w",
): Promise<void> {
  const coded = members.map(([name, value]) => [
    name,
    typeof value === "number" || value === "->" ? value : Buffer.from(value).toString("hex"),
  ]);
  const running = run("python3", ["-c", script, kind, path, mode], { timeout: 120_000 });
  running.child.stdin?.end(JSON.stringify(coded));
  await running;
}
