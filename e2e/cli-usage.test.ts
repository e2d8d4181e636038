/** Help, completion, and errors of an invalid command line. None of it needs a server. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { before, describe, test } from "node:test";
import { promisify } from "node:util";
import { Millrace } from "./support/millrace.ts";

describe("the command line by itself", { concurrency: 2 }, () => {
  const commandLine = Millrace.use();
  let cli: Millrace;
  before(async () => {
    cli = await commandLine();
  });

  /** The words of the block `Commands:` of a help text. */
  const commandsIn = (help: string) =>
    [...(/^Commands:\n((?: {2}.*\n)+)/m.exec(help)?.[1] ?? "").matchAll(/^ {2}(\S+)/gm)].map(([, word]) => word ?? "");

  test("every command in the help has its own help: usage and flags, on standard output, with 0", async () => {
    const groups = new Map<string, string[]>();
    for (const word of commandsIn(await cli.print("--help"))) {
      groups.set(word, commandsIn(await cli.print(word, "--help")));
    }
    assert.deepEqual(
      [...groups.keys()],
      [
        "auth",
        "admin",
        "user",
        "team",
        "token",
        "job",
        "task",
        "dataset",
        "pipeline",
        "schedule",
        "backfill",
        "webhook",
        "notify",
        "cluster",
        "credentials",
        "storage",
        "serve",
        "audit",
        "upcoming",
        "backup",
        "restore",
        "doctor",
        "completion",
      ],
    );
    const paths = [...groups].flatMap(([word, verbs]) =>
      verbs.length > 0 ? verbs.map((verb) => [word, verb]) : [[word]],
    );
    assert.ok(paths.length > 15, String(paths));
    for (const path of paths) {
      const { code, stdout, stderr } = await cli.run(...path, "--help");
      assert.deepEqual([code, stderr], [0, ""], path.join(" "));
      assert.ok(stdout.includes(`\nUsage: millrace ${path.join(" ")} `), stdout);
      assert.match(stdout, /^Flags:$/m);
    }
  });

  test("help in other forms prints the same help", async () => {
    const help = await cli.print("job", "run", "--help");
    assert.equal(await cli.print("help", "job", "run"), help);
    assert.equal(await cli.print("job", "run", "x.py", "-h"), help);
    assert.equal(await cli.print(), await cli.print("--help"));
    assert.match(await cli.print("--version"), /^\d+\.\d+\.\d+\n$/);
  });

  test("an unknown command or flag is refused with 64 and the closest match", async () => {
    for (const [words, what, guess] of [
      [["sevre"], "command 'millrace sevre'", "'millrace serve'"],
      [["job", "lst"], "command 'millrace job lst'", "'millrace job ls'"],
      [["job", "ls", "--limt", "3"], "flag --limt", "--limit"],
      [["job", "run", "x.py", "--prority=1"], "flag --prority", "--priority"],
      [["--verison"], "flag --verison", "--version"],
    ] as const) {
      const said = await cli.refused(64, ...words);
      assert.ok(said.startsWith(`error: Unknown ${what}\n  why: Did you mean ${guess}?\n next: millrace `), said);
      assert.match(said, /--help\n$/);
    }
    assert.doesNotMatch(await cli.refused(64, "xyzzy"), /Did you mean/);
  });

  test("missing or extra arguments are refused with 64, and with what is expected", async () => {
    assert.match(await cli.refused(64, "job", "run"), /^error: FILE is missing\n/);
    assert.match(
      await cli.refused(64, "job", "run", "--env", "A=1", "x.py"),
      /FILE is missing\n {2}why: Put FILE first/,
    );
    assert.match(await cli.refused(64, "job", "show", "abcdef", "more"), /^error: Unexpected argument 'more'\n/);
    assert.match(await cli.refused(64, "job", "ls", "--status"), /^error: --status needs a value\n/);
    assert.match(await cli.refused(64, "job", "ls", "--json=yes"), /^error: --json takes no value\n/);
    const { code, stdout, stderr } = await cli.run("job");
    assert.deepEqual([code, stdout], [64, ""]);
    assert.match(stderr, /^Usage: millrace job COMMAND/m);
  });

  test("an invalid address is refused with its source", async () => {
    const odd = await commandLine({ url: "localhost:8484", token: "isat_x" });
    const said = await odd.refused(64, "job", "ls");
    assert.match(
      said,
      /^error: 'localhost:8484' is not the address of a server\n {2}why: The address in DATACHAIN_STUDIO_URL/,
    );
  });

  test("completion prints a script that bash accepts and that completes commands and flags", async () => {
    const script = await cli.write("completion.bash", await cli.print("completion", "bash"));
    const bash = (...args: string[]) => promisify(execFile)("bash", args, { cwd: cli.path("work") });
    await bash("-n", script);
    const complete = async (...words: string[]) => {
      const ask = `source ${script}; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _millrace; echo "\${COMPREPLY[*]}"`;
      return (await bash("-c", ask, "bash", "millrace", ...words)).stdout.trim();
    };
    assert.equal(await complete("jo"), "job");
    assert.equal(await complete("job", "c"), "cancel clusters");
    assert.equal(await complete("job", "run", "--no-"), "--no-wait --no-follow");
    assert.equal(await complete("job", "ls", "--status", "CAN"), "CANCELED");
    for (const shell of ["zsh", "fish"]) assert.match(await cli.print("completion", shell), /millrace/);
    assert.match(await cli.refused(64, "completion", "bsh"), /Did you mean bash\?/);
  });
});
