/** Settings: the same files, variables and precedence as the `datachain` client. */
import assert from "node:assert/strict";
import { lstatSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, beforeEach, describe, it } from "node:test";
import {
  browserProgram,
  defaultUrl,
  missingToken,
  readSettings,
  readStoredSettings,
  type Surroundings,
  settingsFile,
  storeSettings,
  wantsColor,
} from "../src/settings.ts";

const base = mkdtempSync(join(tmpdir(), "millrace-settings-"));
after(() => rmSync(base, { recursive: true }));

let number = 0;
let cwd = "";
let from: Surroundings;

beforeEach(() => {
  cwd = join(base, String(number++));
  mkdirSync(cwd);
  from = surroundings({});
});

/** A user with their own home directory and no system settings, unless the test says otherwise. */
function surroundings(env: Record<string, string>, platform: NodeJS.Platform = "linux"): Surroundings {
  return { env: { HOME: join(cwd, "home"), XDG_CONFIG_DIRS: join(cwd, "etc"), ...env }, cwd, platform };
}

function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

describe("settings come from the first of these sources", () => {
  const studio = (word: string) => `[studio]\nurl = "http://${word}"\ntoken = "token-${word}"\nteam = "team-${word}"\n`;
  const env = {
    DATACHAIN_STUDIO_URL: "http://variable",
    DATACHAIN_STUDIO_TOKEN: "token-variable",
    DATACHAIN_STUDIO_TEAM: "team-variable",
  };
  const values = async (flags: { url?: string; team?: string }, surroundings: Surroundings) => {
    const { url, token, team } = await readSettings(flags, surroundings);
    return [url.value, token?.value, team?.value];
  };
  const writeAll = () => {
    for (const level of ["system", "global", "local"] as const) write(settingsFile(level, from), studio(level));
  };

  it("last, inside a job, the job's own server and token, both or neither", async () => {
    const own = { MILLRACE_URL: "http://job", MILLRACE_TOKEN: "token-job" };
    assert.deepEqual(await values({}, surroundings(own)), ["http://job", "token-job", undefined]);
    assert.deepEqual(await values({ url: "http://flag" }, surroundings(own)), ["http://flag", undefined, undefined]);
    const { DATACHAIN_STUDIO_TOKEN } = env;
    const signedIn = surroundings({ ...own, DATACHAIN_STUDIO_TOKEN });
    assert.deepEqual(await values({}, signedIn), [defaultUrl, "token-variable", undefined]);
    assert.deepEqual(await values({}, surroundings({ MILLRACE_TOKEN: "alone" })), [defaultUrl, undefined, undefined]);
    writeAll();
    assert.deepEqual(await values({}, surroundings(own)), ["http://local", "token-local", "team-local"]);
  });
  it("1. a flag", async () => {
    writeAll();
    const found = await values({ url: "http://flag", team: "team-flag" }, surroundings(env));
    assert.deepEqual(found, ["http://flag", "token-variable", "team-flag"]);
  });
  it("2. a variable DATACHAIN_STUDIO_URL, _TOKEN, _TEAM", async () => {
    writeAll();
    assert.deepEqual(await values({}, surroundings(env)), ["http://variable", "token-variable", "team-variable"]);
  });
  it("3. the project's .datachain/config", async () => {
    writeAll();
    assert.deepEqual(await values({}, from), ["http://local", "token-local", "team-local"]);
  });
  it("4. the user's config", async () => {
    writeAll();
    rmSync(settingsFile("local", from));
    assert.deepEqual(await values({}, from), ["http://global", "token-global", "team-global"]);
  });
  it("5. the system's config", async () => {
    write(settingsFile("system", from), studio("system"));
    assert.deepEqual(await values({}, from), ["http://system", "token-system", "team-system"]);
  });
  it("6. none: the server on this machine, no token, no team", async () => {
    assert.deepEqual(await values({}, from), [defaultUrl, undefined, undefined]);
  });
  it("each key separately, with its source", async () => {
    write(settingsFile("global", from), studio("global"));
    write(settingsFile("local", from), '[studio]\nteam = "mine"\n');
    const settings = await readSettings({}, surroundings({ DATACHAIN_STUDIO_URL: "http://variable/" }));
    assert.deepEqual(settings, {
      url: { value: "http://variable", source: "DATACHAIN_STUDIO_URL" },
      token: { value: "token-global", source: settingsFile("global", from) },
      team: { value: "mine", source: settingsFile("local", from) },
    });
  });
  it("but a server that only the project names gets no token of the user, who may have cloned the project", async () => {
    const project = (url: string, rest = "") => write(settingsFile("local", from), `[studio]\nurl = "${url}"\n${rest}`);
    const withheld = async (surroundings = from) => {
      const { token, withheld } = await readSettings({}, surroundings);
      return [token?.value, withheld?.value];
    };
    write(settingsFile("global", from), studio("global"));
    project("http://strange");
    assert.deepEqual(await withheld(), [undefined, "token-global"]);
    const { DATACHAIN_STUDIO_TOKEN } = env;
    assert.deepEqual(await withheld(surroundings({ DATACHAIN_STUDIO_TOKEN })), [undefined, "token-variable"]);
    assert.match(missingToken(await readSettings({}, from)).next ?? "", /--url http:\/\/strange/);
    // What the user says counts, and so does the project's own token.
    assert.deepEqual((await readSettings({ url: "http://strange" }, from)).token?.value, "token-global");
    project("http://global/");
    assert.deepEqual(await withheld(), ["token-global", undefined]);
    project("http://strange", 'token = "its own"\n');
    assert.deepEqual(await withheld(), ["its own", undefined]);
  });
  it("an empty variable counts as unset", async () => {
    writeAll();
    const empty = surroundings({ DATACHAIN_STUDIO_URL: "", DATACHAIN_STUDIO_TOKEN: "", DATACHAIN_STUDIO_TEAM: "" });
    assert.deepEqual(await values({}, empty), ["http://local", "token-local", "team-local"]);
  });
});

describe("settings files are in the same places as the client's", () => {
  const place = (level: "local" | "global" | "system", env: Record<string, string>, platform?: NodeJS.Platform) =>
    settingsFile(level, { env: { HOME: "/home/ann", ...env }, cwd: "/project", platform: platform ?? "linux" });

  it("local: DATACHAIN_DIR, else .datachain under DATACHAIN_ROOT_DIR or the current folder", () => {
    assert.equal(place("local", {}), "/project/.datachain/config");
    assert.equal(place("local", { DATACHAIN_ROOT_DIR: "/root-dir" }), "/root-dir/.datachain/config");
    assert.equal(place("local", { DATACHAIN_ROOT_DIR: "/root-dir", DATACHAIN_DIR: "own" }), "/project/own/config");
  });
  it("global: DATACHAIN_GLOBAL_CONFIG_DIR, else XDG_CONFIG_HOME if absolute, else the home folder", () => {
    assert.equal(place("global", {}), "/home/ann/.config/datachain/config");
    assert.equal(place("global", { XDG_CONFIG_HOME: "/xdg" }), "/xdg/datachain/config");
    assert.equal(place("global", { XDG_CONFIG_HOME: "relative" }), "/home/ann/.config/datachain/config");
    assert.equal(place("global", { XDG_CONFIG_HOME: "/xdg", DATACHAIN_GLOBAL_CONFIG_DIR: "/g" }), "/g/config");
    assert.equal(place("global", {}, "darwin"), "/home/ann/Library/Application Support/datachain/config");
  });
  it("system: DATACHAIN_SYSTEM_CONFIG_DIR, else the first of XDG_CONFIG_DIRS, else /etc/xdg", () => {
    assert.equal(place("system", {}), "/etc/xdg/datachain/config");
    assert.equal(place("system", { XDG_CONFIG_DIRS: "relative:/a:/b" }), "/a/datachain/config");
    assert.equal(place("system", { DATACHAIN_SYSTEM_CONFIG_DIR: "/s" }), "/s/config");
    assert.equal(place("system", {}, "darwin"), "/Library/Application Support/datachain/config");
  });
});

describe("storing settings", () => {
  it("creates a file that only its owner can read, and missing folders", async () => {
    const path = await storeSettings("global", { url: "http://a", token: "isat_1", team: null }, from);
    assert.equal(readFileSync(path, "utf8"), '[studio]\nurl = "http://a"\ntoken = "isat_1"\n');
    assert.equal(statSync(path).mode & 0o777, 0o600);
  });
  it("keeps other keys, other tables and comments", async () => {
    const before =
      '# mine\n[core]\nx = [1, 2]\n\n[studio] # the server\nurl = "http://old"\nteam = "a"\nextra = true\n\n[z]\ny = 1\n';
    write(settingsFile("global", from), before);
    const path = await storeSettings("global", { token: 'with "quotes"', team: "b" }, from);
    const text = readFileSync(path, "utf8");
    assert.match(text, /^# mine\n\[core\]\nx = \[1, 2\]\n\n\[studio\] # the server\n/);
    assert.match(text, /extra = true\n\n\[z\]\ny = 1\n$/);
    assert.deepEqual(await readStoredSettings("global", from), {
      url: "http://old",
      extra: "true",
      token: 'with "quotes"',
      team: "b",
    });
  });
  it("removes a key that is set to null, and only that", async () => {
    write(settingsFile("local", from), '[studio]\nurl = "http://a"\ntoken = "t"\nteam = "b"\n');
    const path = await storeSettings("local", { token: null, team: null }, from);
    assert.equal(readFileSync(path, "utf8"), '[studio]\nurl = "http://a"\n');
  });
  it("keeps every key of a file that cannot be edited line by line", async () => {
    write(settingsFile("global", from), 'studio = { url = "http://a", team = "b" }\nother = """\n[studio]\n"""\n');
    await storeSettings("global", { token: "t" }, from);
    assert.deepEqual(await readStoredSettings("global", from), { url: "http://a", team: "b", token: "t" });
    assert.match(readFileSync(settingsFile("global", from), "utf8"), /other = /);
  });
  it("writes through a link and keeps the link", async () => {
    const real = join(cwd, "dotfiles");
    write(real, '[studio]\nteam = "a"\n');
    const link = settingsFile("global", from);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(real, link);
    await storeSettings("global", { team: "b" }, from);
    assert.ok(lstatSync(link).isSymbolicLink());
    assert.equal(readFileSync(real, "utf8"), '[studio]\nteam = "b"\n');
  });
  it("restricts a file that others could read", async () => {
    const path = settingsFile("global", from);
    write(path, "");
    await storeSettings("global", { token: "t" }, from);
    assert.equal(statSync(path).mode & 0o777, 0o600);
  });
});

describe("invalid settings are reported", () => {
  it("a file that is not TOML is named", async () => {
    write(settingsFile("global", from), "[studio\n");
    await assert.rejects(readSettings({}, from), {
      message: /settings in .*home\/.config\/datachain\/config cannot be read/,
    });
  });
  it("an address without http:// or https:// is refused, with its source", async () => {
    await assert.rejects(readSettings({ url: "localhost:8484" }, from), { exitCode: 64, why: /--url/ });
    await assert.rejects(readSettings({}, surroundings({ DATACHAIN_STUDIO_URL: "ftp://x" })), {
      why: /DATACHAIN_STUDIO_URL/,
    });
  });
});

describe("the terminal", () => {
  it("has colours unless NO_COLOR is set or it does not support them", () => {
    assert.equal(wantsColor(surroundings({})), true);
    assert.equal(wantsColor(surroundings({ NO_COLOR: "1" })), false);
    assert.equal(wantsColor(surroundings({ NO_COLOR: "" })), true);
    assert.equal(wantsColor(surroundings({ TERM: "dumb" })), false);
  });
  it("opens a browser only if there is a display", () => {
    assert.equal(browserProgram(surroundings({})), undefined);
    assert.equal(browserProgram(surroundings({ DISPLAY: ":0" })), "xdg-open");
    assert.equal(browserProgram(surroundings({ WAYLAND_DISPLAY: "wayland-0" })), "xdg-open");
    assert.equal(browserProgram(surroundings({}, "darwin")), "open");
  });
});
