/** Packs that no runner has made: whatever they hold, nothing is written outside of the virtualenv. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { after, before, describe, it } from "node:test";

const packs = join(import.meta.dirname, "../../../src/engines/runners/packs.py");

/**
 * Unpacks an archive at argv[2]. Standard input has the members of the archive, as fields of their headers, and options.
 * Prints why it was refused.
 */
const unpack = `
import gzip, importlib.util, io, json, sys, tarfile
spec = importlib.util.spec_from_file_location("packs", sys.argv[1])
packs = importlib.util.module_from_spec(spec)
spec.loader.exec_module(packs)
members, options = json.load(sys.stdin)
def member(name, content="", **fields):
    info = tarfile.TarInfo(name)
    info.size = len(content)
    for field, value in fields.items():
        setattr(info, field, value.encode() if field == "type" else value)
    return info, content.encode()
note = {"venv": "/built/here", "pythons": ["bin/python"], **options.get("note", {})}
usual = [
    member(packs.NOTE, json.dumps(note)),
    member("bin", type="5"),
    member("bin/tool", "#!/built/here/bin/python\\n", mode=0o755),
]
if options.get("config", True):
    usual.append(member("pyvenv.cfg", "home = /elsewhere\\nversion = 3\\n"))
archive = io.BytesIO()
with gzip.GzipFile(fileobj=archive, mode="wb") as zipped:
    for info, content in (usual if options.get("usual", True) else []) + [member(**each) for each in members]:
        zipped.write(info.tobuf(options.get("format", tarfile.GNU_FORMAT), "utf-8", "surrogateescape"))
        zipped.write(content + b"\\0" * (-len(content) % 512))
    zipped.write(b"\\0" * 1024)
data = archive.getvalue()
data = data[: len(data) - options.get("cut", 0)]
if options.get("flip"):
    data = data[:-6] + bytes([data[-6] ^ 255]) + data[-5:]
for name in ("MOST_BYTES", "MOST_FILES"):
    setattr(packs, name, options.get(name, getattr(packs, name)))
try:
    packs.Unpacked(sys.argv[2], options.get("python", sys.executable)).unpack(io.BytesIO(data))
    print("unpacked")
except Exception as error:
    print(type(error).__name__, error)
`;

interface Member {
  readonly name: string;
  readonly content?: string;
  readonly type?: string;
  readonly linkname?: string;
  readonly mode?: number;
  readonly size?: number;
}

describe("a hostile pack", () => {
  let folder: string;
  let venv: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), "millrace-hostile-"));
  });
  after(() => rmSync(folder, { recursive: true }));

  /** Unpacks it into a new folder. Returns what is said. */
  function unpacked(members: readonly Member[], options: object = {}): string {
    rmSync(folder, { recursive: true });
    mkdirSync(folder);
    venv = join(folder, "venv");
    const input = JSON.stringify([members, options]);
    return execFileSync("python3", ["-B", "-c", unpack, packs, venv], { input, encoding: "utf8" }).trim();
  }

  it("is recognized among good ones: those are unpacked, with their new path, and without special modes", () => {
    const long = `lib/${"d".repeat(150)}`;
    const said = unpacked([
      { name: "lib", type: "5" },
      { name: long, type: "5" },
      { name: `${long}/${"f".repeat(150)}`, content: "deep" },
      { name: "lib64", type: "2", linkname: "lib" },
      { name: "bin/setuid", content: "x", mode: 0o6777 },
    ]);
    assert.equal(said, "unpacked");
    assert.equal(readFileSync(join(venv, long, "f".repeat(150)), "utf8"), "deep");
    assert.equal(readFileSync(join(venv, "bin/tool"), "utf8"), `#!${venv}/bin/python\n`);
    assert.equal(statSync(join(venv, "bin/setuid")).mode & 0o7777, 0o755 & ~process.umask());
    assert.match(readFileSync(join(venv, "pyvenv.cfg"), "utf8"), /^home = \/(?!elsewhere)/);
    assert.equal(execFileSync(join(venv, "bin/python"), ["-c", "print(1)"], { encoding: "utf8" }), "1\n");
  });

  const outside = "../outside";
  const refused: readonly (readonly [string, readonly Member[], RegExp])[] = [
    ["an absolute path", [{ name: "/tmp/millrace-outside" }], /not a path within/],
    ["a path that leads up", [{ name: outside }], /not a path within/],
    ["a path that leads up in its middle", [{ name: `bin/../${outside}` }], /not a path within/],
    ["a long path that leads up", [{ name: `${"../".repeat(60)}${"x".repeat(90)}` }], /not a path within/],
    ["a path without a folder", [{ name: "nowhere/file" }], /is in no folder/],
    ["a device", [{ name: "device", type: "3" }], /neither a file/],
    ["a pipe", [{ name: "pipe", type: "6" }], /neither a file/],
    ["a hard link", [{ name: "passwd", type: "1", linkname: "/etc/passwd" }], /neither a file/],
    ["an extended header", [{ name: "header", type: "x", content: "10 path=/a\n" }], /neither a file/],
    ["a link to an absolute path", [{ name: "link", type: "2", linkname: "/etc" }], /link to outside/],
    ["a link that leads up", [{ name: "link", type: "2", linkname: ".." }], /link to outside/],
    [
      "a link that leads up behind another one",
      [
        { name: "here", type: "2", linkname: "." },
        { name: "link", type: "2", linkname: "here/../outside" },
      ],
      /link to outside/,
    ],
    [
      "a file behind a link",
      [
        { name: "link", type: "2", linkname: ".." },
        { name: "link/outside", content: "x" },
      ],
      /is in no folder/,
    ],
    ["a file twice", [{ name: "bin/tool", content: "x" }], /File exists/],
    [
      "a link in place of a program that is rewritten",
      [{ name: "bin/python", type: "2", linkname: "tool" }],
      /File exists/,
    ],
  ];
  for (const [what, members, why] of refused)
    it(`with ${what} is refused, and writes nothing outside`, () => {
      assert.match(unpacked(members), why);
      assert.deepEqual(readdirSync(folder), ["venv"]);
      assert.ok(!existsSync("/tmp/millrace-outside"));
    });

  it("with a link to the interpreter in place of a file that is rewritten is refused, and the interpreter is left alone", () => {
    const python = join(folder, "..", `${basename(folder)}-python`);
    writeFileSync(python, "home = /usr\n");
    try {
      const link = { name: "pyvenv.cfg", type: "2", linkname: "bin/python" };
      assert.match(unpacked([link], { config: false, python }), /No such file.*pyvenv\.cfg/);
      assert.equal(readFileSync(python, "utf8"), "home = /usr\n");
    } finally {
      rmSync(python);
    }
  });

  it("that is cut, changed or not an archive is refused", () => {
    assert.match(unpacked([], { cut: 1 }), /^EOFError/);
    assert.match(unpacked([], { cut: 100 }), /^(EOFError|error)/);
    assert.match(unpacked([], { flip: true }), /CRC/);
    assert.match(unpacked([], { usual: false }), /does not begin with its note/);
    assert.match(unpacked([{ name: "file", content: "x", size: 10_000 }]), /cut|EOF|checksum|header/i);
  });

  it("has at most so many bytes and files, and no long notes or paths", () => {
    assert.match(unpacked([{ name: "file", content: "x".repeat(50_000) }], { MOST_BYTES: 40_000 }), /too many bytes/);
    const many = Array.from({ length: 20 }, (_, index) => ({ name: `file${index}` }));
    assert.match(unpacked(many, { MOST_FILES: 10 }), /too many files/);
    assert.match(unpacked([{ name: "x", type: "L", content: "x".repeat(5000) }]), /path is too long/);
    assert.match(unpacked([], { note: { more: "x".repeat(1_100_000) } }), /begin with its note/);
  });

  it("with a note that names other places is refused", () => {
    assert.match(unpacked([], { note: { pythons: ["../python"] } }), /not a path within/);
    assert.match(unpacked([], { note: { pythons: ["python"] } }), /no program/);
    assert.match(unpacked([], { note: { pythons: "bin/python" } }), /not valid/);
    assert.match(unpacked([], { note: { venv: "" } }), /not valid/);
    assert.match(unpacked([], { note: { venv: 7 } }), /TypeError|not valid/);
  });
});
