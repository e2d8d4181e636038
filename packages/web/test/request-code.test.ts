/** Requests as commands: what they quote, and what they leave out. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { describe, it } from "node:test";
import { routes } from "@millrace/contract";
import { emptyDraft } from "../src/editor/draft.ts";
import { runCommand } from "../src/editor/run-command.ts";
import { listCommand } from "../src/jobs/list-command.ts";
import { curlOf, pythonOf, shellWord, shownRequest } from "../src/look/request-code.ts";

const place = { url: "https://mill.test/below", team: "main" };
const body = { query: 'it\'s "x"\n$HOME', query_type: "SHELL" as const, environment: "KEY=secret", workers: null };

describe("a request as code", () => {
  const request = shownRequest(place, routes.createJob, { body });

  it("has the team, no empty fields, and no values that the API never answers", () => {
    assert.equal(request.url, "https://mill.test/below/api/datachain/jobs/");
    assert.deepEqual(request.body, { team_name: "main", query: body.query, query_type: "SHELL", environment: "***" });
  });

  it("as curl, quotes the body for a shell and reads the token from a variable", () => {
    const text = curlOf(request);
    assert.match(text, /^curl --fail-with-body \\\n {2}-H "Authorization: Bearer \$MILLRACE_TOKEN" \\\n {2}-X POST/);
    const script = `curl() { for word; do printf '%s\\0' "$word"; done; }\n${text}`;
    const words = execFileSync("/bin/sh", ["-c", script], { encoding: "utf8" }).split("\0");
    assert.deepEqual(JSON.parse(words[words.indexOf("-d") + 1] ?? ""), request.body);
  });

  it("as Python, is the same body", () => {
    const text = pythonOf(request);
    assert.match(text, /requests\.post\(\n {4}"https:\/\/mill\.test\/below\/api\/datachain\/jobs\/",\n {4}json=\{\n/);
    assert.match(text, /"query": "it's \\"x\\"\\n\$HOME",/);
    assert.doesNotMatch(text, /secret/);
  });

  it("a reading call has its parameters in the URL", () => {
    const text = curlOf(shownRequest(place, routes.listJobs, { query: { status: ["FAILED"], search: "a b" } }));
    assert.match(
      text,
      /'https:\/\/mill\.test\/below\/api\/datachain\/jobs\/\?team_name=main&status=FAILED&search=a\+b'$/,
    );
    assert.doesNotMatch(text, /-X|-d /);
  });

  it("words of a shell are quoted only if they need it", () => {
    assert.equal(shellWord("a/b.c"), "a/b.c");
    assert.equal(shellWord(""), "''");
    assert.equal(shellWord("it's"), "'it'\\''s'");
  });
});

describe("a command of the command line", () => {
  it("lists with the same filters", () => {
    const query = { status: ["FAILED", "CANCELED"], tag: ["x"], search: "two words" };
    const expected = "millrace job ls --tag x --status FAILED,CANCELED --search 'two words' --team main";
    assert.equal(listCommand("main", query), expected);
  });

  it("runs with the same settings, and reads variables from a file", () => {
    const draft = { ...emptyDraft, query: ":", name: "a.sh", type: "SHELL" as const, environment: "KEY=secret" };
    const more = { params: "day=1", tags: "x y", priority: "2", requirements: "pandas", credentials: ["aws"] };
    assert.equal(
      runCommand("main", { ...draft, ...more }),
      "millrace job run a.sh --priority 2 --credentials-name aws --req pandas --env-file .env --params day=1 --tag x y --team main",
    );
  });
});
