/** The sources of the hub's token and address, seen on the wire. */
import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe } from "node:test";
import { type ClientConfig, openStorage } from "@millrace/storage";
import { parameters } from "../../src/schemes/hf/parameters.ts";
import { proofsOf } from "../support/proofs.ts";
import { type RecordingServer, startRecordingServer } from "../support/recording-server.ts";

const { proves, provesAll } = proofsOf(parameters);
let server: RecordingServer;
let home: string;
before(async () => {
  server = await startRecordingServer((_, response) => response.writeHead(200, { etag: '"e"' }).end("x"));
  home = await mkdtemp(join(tmpdir(), "millrace-storage-hub-home-"));
  await mkdir(join(home, ".cache/huggingface"), { recursive: true });
  await mkdir(join(home, "xdg/huggingface"), { recursive: true });
  for (const [file, token] of Object.entries({
    ".cache/huggingface/token": "home",
    "xdg/huggingface/token": "xdg",
    token: "hf-home",
    named: " named\n",
  })) {
    await writeFile(join(home, file), token);
  }
});
after(async () => {
  await server.stop();
  await rm(home, { recursive: true, force: true });
});

const storageWith = (config: ClientConfig, environment: Record<string, string> = {}) =>
  openStorage(
    "hf://datasets/team/name",
    { endpoint: server.url, ...config },
    { environment: { HOME: "/nowhere", ...environment } },
  );

async function tokenSent(config: ClientConfig, environment?: Record<string, string>): Promise<string | undefined> {
  await storageWith(config, environment).read("a");
  return server.requests.at(-1)?.headers.authorization?.replace("Bearer ", "");
}

const explainedSource = (config: ClientConfig, environment: Record<string, string>) =>
  storageWith(config, environment)
    .explainConfig()
    .find(({ key }) => key === "token");

describe("the hub's credentials", () => {
  proves("token", "is the given one, before any other", async () => {
    assert.equal(await tokenSent({ token: "given" }, { HF_TOKEN: "variable" }), "given");
  });

  proves(
    "token",
    "is otherwise the saved one: from the environment, the file that it names, or the home directory",
    async () => {
      const places: [Record<string, string>, string | undefined][] = [
        [{ HF_TOKEN: "variable", HUGGING_FACE_HUB_TOKEN: "older", HF_HOME: home }, "variable"],
        [{ HUGGING_FACE_HUB_TOKEN: "older", HF_HOME: home }, "older"],
        [{ HF_TOKEN_PATH: join(home, "named"), HF_HOME: home }, "named"],
        [{ HF_HOME: home, HOME: home }, "hf-home"],
        [{ XDG_CACHE_HOME: join(home, "xdg"), HOME: home }, "xdg"],
        [{ HOME: home }, "home"],
        [{ HOME: home, HF_HOME: "~/xdg/huggingface" }, "xdg"],
        [{}, undefined],
      ];
      for (const [environment, expected] of places) assert.equal(await tokenSent({}, environment), expected);
    },
  );

  proves("token", "is none if it is false", async () => {
    assert.equal(await tokenSent({ token: false }, { HF_TOKEN: "variable" }), undefined);
  });

  proves("token", "is the saved one if it is true, and must exist", async () => {
    assert.equal(await tokenSent({ token: true }, { HF_TOKEN: "variable" }), "variable");
    await assert.rejects(tokenSent({ token: true }), /token is true, but no token is saved/);
  });

  proves("token", "is not the saved one if that is disabled, unless it is true", async () => {
    for (const word of ["1", "true", "YES", "on"]) {
      const environment = { HF_TOKEN: "variable", HF_HUB_DISABLE_IMPLICIT_TOKEN: word };
      assert.equal(await tokenSent({}, environment), undefined);
      assert.equal(await tokenSent({ token: true }, environment), "variable");
    }
    assert.equal(await tokenSent({}, { HF_TOKEN: "variable", HF_HUB_DISABLE_IMPLICIT_TOKEN: "0" }), "variable");
  });

  proves("token", "is explained with its source, and masked", () => {
    const told = explainedSource({}, { HF_HOME: home });
    assert.deepEqual([told?.source, told?.value], [`file ${join(home, "token")}`, "********"]);
    assert.equal(explainedSource({}, { HF_TOKEN: "variable" })?.source, "environment HF_TOKEN");
    assert.equal(explainedSource({ token: false }, { HF_TOKEN: "variable" })?.value, false);
  });
});

describe("the hub's address", () => {
  proves("endpoint", "is the given one, otherwise that of the environment", async () => {
    const endpoint = (config: ClientConfig, environment: Record<string, string>) =>
      openStorage("hf://datasets/team/name", config, { environment: { HOME: "/nowhere", ...environment } });
    const count = server.requests.length;
    await endpoint({ endpoint: `${server.url}/` }, { HF_ENDPOINT: "http://127.0.0.1:1" }).read("a");
    await endpoint({}, { HF_ENDPOINT: `${server.url}/mirror` }).read("a");
    assert.deepEqual(
      server.requests.slice(count).map(({ path }) => path),
      ["/datasets/team/name/resolve/main/a", "/mirror/datasets/team/name/resolve/main/a"],
    );
  });

  provesAll();
});
