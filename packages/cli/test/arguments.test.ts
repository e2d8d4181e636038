/** The command line as people type it: commands, flags, help, suggestions. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Command, type CommandPath, commands, commonFlags, groups, type Input } from "../src/arguments.ts";
import { CliError } from "../src/errors.ts";
import { helpText } from "../src/help.ts";
import { closest, parseCommandLine } from "../src/parse.ts";

const words = (line: string) => (line === "" ? [] : line.split(" "));

function parse<P extends CommandPath>(path: P, line: string): Input<P> {
  const invocation = parseCommandLine([...words(path), ...words(line)]);
  assert.ok(invocation.kind === "run");
  assert.equal(invocation.path, path);
  return invocation.input as unknown as Input<P>;
}

function refusal(line: string): CliError {
  try {
    parseCommandLine(words(line));
  } catch (error) {
    assert.ok(error instanceof CliError);
    assert.equal(error.exitCode, 64);
    return error;
  }
  throw new Error(`accepted: ${line}`);
}

describe("the table of commands", () => {
  const all = Object.entries(commands) as [string, Command][];

  it("has no short flag twice in a command", () => {
    for (const [path, command] of all) {
      const shorts = Object.values({ ...command.flags, ...commonFlags }).flatMap(({ short }) => short ?? []);
      assert.equal(new Set(shorts).size, shorts.length, path);
    }
  });
  it("names the value of every flag that takes one", () => {
    for (const [path, command] of all) {
      for (const [name, flag] of Object.entries(command.flags)) {
        assert.equal(flag.kind === "switch", flag.value === undefined, `${path} --${name}`);
      }
    }
  });
  it("has the client's flags for the client's commands", () => {
    const client: Partial<Record<CommandPath, string>> = {
      "auth login": "hostname scopes name no-open local team expires-in",
      "auth logout": "local",
      "auth team": "local",
      "job run":
        "team env-file env cluster credentials-name workers files python-version repository req-file req priority " +
        "start-time cron no-wait no-follow ignore-checkpoints",
      "job ls": "status team limit json extended",
      "job cancel": "team",
      "job logs": "team",
      "job clusters": "team json",
    };
    for (const [path, flags] of Object.entries(client)) {
      const missing = words(flags).filter((flag) => !(flag in commands[path as CommandPath].flags));
      assert.deepEqual(missing, [], path);
    }
    const { flags } = commands["auth login"];
    assert.deepEqual([flags.hostname.short, flags.scopes.short, flags.name.short], ["H", "s", "n"]);
    assert.equal(commands["job run"].flags["credentials-name"].short, "c");
    assert.equal(commands["job ls"].flags.extended.short, "e");
  });
});

describe("help", () => {
  it("does not mention query types that no engine supports", () => {
    assert.doesNotMatch(commands["job run"].details, /\.ts|TypeScript/);
  });
  it("for the program lists every group and every single command", () => {
    const text = helpText("");
    const names = Object.keys(commands).filter((path) => !path.includes(" "));
    for (const name of [...Object.keys(groups), ...names]) assert.match(text, new RegExp(`^  ${name} +\\S`, "m"));
  });
  it("for a group lists its commands and no others", () => {
    for (const group of Object.keys(groups)) {
      const listed = [...helpText(group).matchAll(/^ {2}([a-z-]+) {2}/gm)].map((match) => `${group} ${match[1]}`);
      assert.deepEqual(
        listed,
        Object.keys(commands).filter((path) => path.startsWith(`${group} `)),
      );
    }
  });
  it("for a command lists its arguments and all its flags, with their meaning", () => {
    for (const [path, command] of Object.entries(commands) as [string, Command][]) {
      const text = helpText(path);
      for (const [name, flag] of Object.entries({ ...command.flags, ...commonFlags })) {
        assert.ok(text.includes(`--${name}`) && text.includes(flag.help), `${path} --${name}`);
      }
      for (const [name, argument] of Object.entries(command.arguments)) {
        assert.ok(text.includes(name) && text.includes(argument.help), `${path} ${name}`);
      }
    }
  });
  it("fits a terminal of 120 columns", () => {
    for (const topic of ["", ...Object.keys(groups), ...Object.keys(commands)]) {
      const long = helpText(topic)
        .split("\n")
        .filter((line) => line.length > 120);
      assert.deepEqual(long, []);
    }
  });
  it("for one command has exactly this text", () => {
    assert.equal(
      helpText("auth team"),
      `Show the default team, or set it.

Usage: millrace auth team [NAME] [FLAGS]

Arguments:
  NAME  Team to use from now on

Flags:
      --local    Use the project's settings (.datachain/config) instead of the user's
  -h, --help     Show this help
  -q, --quiet    Print only results and errors
  -v, --verbose  Print the stack trace of an error
`,
    );
  });
  it("is found at every level", () => {
    const topics = {
      "": "",
      "--help": "",
      "-h": "",
      help: "",
      "help job": "job",
      "help job run": "job run",
      "job --help": "job",
      "job run --help": "job run",
      "job run x.py --limit -h": undefined,
      "job run x.py --no-wait -h": "job run",
      "serve -h": "serve",
    };
    for (const [line, topic] of Object.entries(topics)) {
      if (topic === undefined) refusal(line);
      else assert.deepEqual(parseCommandLine(words(line)), { kind: "help", topic, asked: true }, line);
    }
  });
  it("for a group without a command is an error", () => {
    assert.deepEqual(parseCommandLine(["job"]), { kind: "help", topic: "job", asked: false });
  });
});

describe("flags", () => {
  it("have types: switches are false, lists are empty and the rest is undefined until given", () => {
    const { flags } = parse("job run", "x.py");
    assert.deepEqual([flags["no-wait"], flags.env, flags.workers, flags.cluster], [false, [], undefined, undefined]);
  });
  it("take their value after a space or an equals sign", () => {
    assert.equal(parse("job ls", "--limit 5").flags.limit, 5);
    assert.equal(parse("job ls", "--limit=5").flags.limit, 5);
    assert.equal(parse("job run", "x.py --cluster mine").flags.cluster, "mine");
  });
  it("that are lists take all words up to the next flag, and accumulate", () => {
    const { flags, arguments: given } = parse("job run", "x.py --env A=1 B=2 --req pandas --env C=3 --files f1 f2");
    assert.equal(given.FILE, "x.py");
    assert.deepEqual([flags.env, flags.req, flags.files], [["A=1", "B=2", "C=3"], ["pandas"], ["f1", "f2"]]);
  });
  it("that may be repeated take one word each, so that an argument may follow", () => {
    const { flags, arguments: given } = parse("job run", "-c aws --credentials-name git x.py");
    assert.deepEqual([flags["credentials-name"], given.FILE], [["aws", "git"], "x.py"]);
  });
  it("do not apply to words after --", () => {
    assert.equal(parse("job run", "--env A=1 -- --odd-name.sh").arguments.FILE, "--odd-name.sh");
  });
  it("may come before and after arguments", () => {
    const { flags, arguments: given } = parse("job logs", "--tail 10 0a1b2c --no-follow");
    assert.deepEqual([flags.tail, flags["no-follow"], given.ID], [10, true, "0a1b2c"]);
  });
  it("without their value are refused, even if another flag follows", () => {
    assert.match(refusal("job ls --team").message, /--team needs a value/);
    assert.match(refusal("job ls --team --json").message, /--team needs a value/);
    assert.equal(parse("job ls", "--team=--json").flags.team, "--json");
  });
  it("that are switches take no value", () => {
    assert.match(refusal("job ls --json=yes").message, /--json takes no value/);
  });
  it("with invalid numbers are refused with what was expected", () => {
    assert.match(refusal("job run x.py --priority 9").why ?? "", /whole number from 0 to 5/);
    assert.match(refusal("job run x.py --workers=-1").why ?? "", /at least 0/);
    assert.match(refusal("job ls --limit 1e3").why ?? "", /whole number/);
  });
});

describe("arguments", () => {
  it("that are missing are named", () => {
    assert.match(refusal("job logs").message, /ID is missing/);
    assert.match(refusal("job run --env A=1 x.py").why ?? "", /Put FILE first/);
  });
  it("that are extra are named", () => {
    assert.match(refusal("job show 1 2").message, /Unexpected argument '2'/);
    assert.match(refusal("serve now").message, /'now'/);
  });
  it("that are optional may be omitted", () => {
    assert.equal(parse("auth team", "").arguments.NAME, undefined);
    assert.equal(parse("auth team", "main").arguments.NAME, "main");
  });
});

describe("a mistyped word", () => {
  it("is answered with the closest command", () => {
    assert.match(refusal("jbo ls").why ?? "", /'millrace job'/);
    assert.match(refusal("job lst").why ?? "", /'millrace job ls'/);
    assert.match(refusal("job log").why ?? "", /'millrace job logs'/);
    assert.match(refusal("sevre").why ?? "", /'millrace serve'/);
    assert.match(refusal("help job rnu").why ?? "", /'millrace job run'/);
  });
  it("is answered with the closest flag", () => {
    assert.match(refusal("job ls --limt 3").why ?? "", /--limit/);
    assert.match(refusal("job run x.py --reqfile r.txt").why ?? "", /--req-file/);
    assert.match(refusal("--verison").why ?? "", /--version/);
  });
  it("gets no suggestion if nothing is close, but always the help command", () => {
    const { why, next } = refusal("job xyzzy");
    assert.deepEqual([why, next], [undefined, "millrace job --help"]);
    assert.equal(refusal("job ls --frobnicate").next, "millrace job ls --help");
  });
  it("may be the name of a built-in object property", () => {
    refusal("toString");
    refusal("job constructor");
    refusal("job ls --constructor");
  });
  it("counts two swapped letters as one error", () => {
    assert.equal(closest("ls", ["logs", "ls"]), "ls");
    assert.equal(closest("lgos", ["logs", "ls"]), "logs");
    assert.equal(closest("comp", ["completion", "job"]), "completion");
    assert.equal(closest("zzz", ["completion", "job"]), undefined);
  });
});
