/**
 * The tables of options are complete: they have every option of the Python libraries, and those that do not work behave
 * as documented.
 */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type ClientConfig, openStorage } from "@millrace/storage";
import { runPython, whyNoPythonPackages } from "@millrace/testing/programs/python-packages.ts";
import { membersBelow, membersOf } from "../../src/configuration/members.ts";
import { type Parameter, type ParameterTable, typesOf } from "../../src/configuration/parameters.ts";
import { parameters as gs } from "../../src/schemes/gs/parameters.ts";
import { parameters as s3 } from "../../src/schemes/s3/parameters.ts";
import { type RecordingServer, startRecordingServer } from "../support/recording-server.ts";

const skip = await whyNoPythonPackages();

describe("the options of the Python libraries", { skip, timeout: 240_000 }, () => {
  interface Signatures {
    readonly config: string[];
    readonly nested: string[];
    readonly connector: string[];
    readonly client: string[];
    readonly session: string[];
    readonly http: string[];
    readonly timeout: string[];
  }
  let python: Signatures;
  before(async () => {
    const script = `
import inspect, json, re
import aiohttp, aiobotocore.config, aiobotocore.session, botocore.config
words = lambda call: [name for name, word in inspect.signature(call).parameters.items()
  if name != "self" and word.kind != word.VAR_KEYWORD]
config = list(botocore.config.Config.OPTION_DEFAULTS) + words(aiobotocore.config.AioConfig.__init__)
print(json.dumps({
  "config": config,
  "nested": re.findall(r"^        \\* \`\`(\\w+)\`\` -- ", botocore.config.Config.__doc__, re.M),
  "connector": list(aiobotocore.config._ConnectorArgs.__annotations__),
  "client": words(aiobotocore.session.AioSession._create_client),
  "session": words(aiobotocore.session.AioSession.__init__),
  "http": words(aiohttp.ClientSession.__init__),
  "timeout": words(aiohttp.ClientTimeout),
}))`;
    python = JSON.parse(await runPython(script, {}));
  });

  const isWhole = (table: ParameterTable, dict: string, names: readonly string[], own: readonly string[] = []) =>
    assert.deepEqual(membersOf(table, dict).sort(), [...names, ...own].sort());

  it("of botocore's Config, and of aiobotocore's, are those of config_kwargs", () => {
    isWhole(s3, "config_kwargs", python.config);
    isWhole(s3, "config_kwargs.connector_args", python.connector);
  });

  it("that dicts of botocore's Config are documented to have are all known", () => {
    const values = Object.values<Parameter>(s3).flatMap(({ choices = [] }) => choices);
    const members = ["s3", "retries", "proxies_config"].flatMap((dict) => membersOf(s3, `config_kwargs.${dict}`));
    const known = [...members, ...values];
    assert.ok(python.nested.length >= 10, "the documentation is read");
    assert.deepEqual(
      python.nested.filter((name) => !known.includes(name)),
      [],
    );
  });

  it("of botocore's create_client are those of client_kwargs", () => isWhole(s3, "client_kwargs", python.client));

  it("of botocore's session are those of kwargs", () => isWhole(s3, "kwargs", python.session));

  it("of aiohttp's ClientSession are those of session_kwargs", () => {
    isWhole(gs, "session_kwargs", python.http, ["limit"]);
    isWhole(gs, "session_kwargs.timeout", python.timeout);
  });
});

const tables = {
  s3: [s3, ["client_kwargs", "config_kwargs", "kwargs"], { key: "k", secret: "s" }],
  gs: [gs, ["session_kwargs"], { token: "t" }],
} as const;

const samples: Readonly<Record<string, unknown>> = {
  boolean: true,
  integer: 7,
  number: 7,
  string: "word",
  list: ["word"],
};

const nested = (key: string, value: unknown) =>
  key.split(".").reduceRight<unknown>((inner, name) => ({ [name]: inner }), value) as ClientConfig;

for (const [scheme, [table, dicts, config]] of Object.entries(tables)) {
  const rows = dicts
    .flatMap((dict) => membersBelow(table, dict).map((name) => `${dict}.${name}`))
    .map((key) => [key, (table as ParameterTable)[key]] as const)
    .filter((row): row is [string, Parameter] => row[1] !== undefined);

  describe(`options of ${scheme}:// that do not work`, () => {
    let server: RecordingServer;
    before(async () => {
      server = await startRecordingServer((_request, response) =>
        response.writeHead(200, { etag: '"e"', "content-length": 2 }).end("ok"),
      );
    });
    after(() => server?.stop());

    for (const [key, { reason }] of rows.filter(([, { effect }]) => effect === "rejected")) {
      it(`${key} is refused by its name, whatever its value, because ${reason}`, () => {
        for (const value of [true, "word", 7, ["word"], { a: 1 }]) {
          assert.throws(() => openStorage(`${scheme}://bucket`, { ...config, ...nested(key, value) }), {
            code: "config",
            message: `${key} is not supported: ${reason}`,
          });
        }
      });
    }

    /** A request without the parts that change each time. */
    const sent = async (given: ClientConfig) => {
      server.requests.length = 0;
      const whole = { endpoint_url: server.url, ...config, ...given };
      const storage = openStorage(`${scheme}://bucket`, whole, { environment: {} });
      await storage.read("a");
      await storage.close();
      return server.requests.map(({ path, method, headers }) => {
        const { authorization, "x-amz-date": _, ...others } = headers;
        return { path, method, others, authorization: authorization?.replace(/Signature=.*|\d{8}/g, "") };
      });
    };

    for (const [key, parameter] of rows.filter(([, { effect }]) => effect === "no-op")) {
      it(`${key} has no effect, because ${parameter.reason}`, async () => {
        const value = parameter.choices?.[0] ?? samples[typesOf(parameter)[0] as string];
        assert.deepEqual(await sent(nested(key, value)), await sent({}));
        const wrong = nested(key, { a: 1 });
        assert.throws(() => openStorage(`${scheme}://bucket`, { ...config, ...wrong }), /expected/);
      });
    }
  });
}

describe("a dict of options", () => {
  it("must be a dict, and have only known options", () => {
    const refused = (given: ClientConfig, message: RegExp) =>
      assert.throws(() => openStorage("s3://bucket", given), { code: "config", message });
    for (const name of ["retries", "s3", "connector_args", "proxies_config", "proxies"]) {
      refused({ config_kwargs: { [name]: 3 } }, new RegExp(`^config_kwargs\\.${name}: expected dict`));
    }
    refused({ config_kwargs: { s3: { adressing_style: "path" } } }, /did you mean addressing_style\?$/);
    refused({ config_kwargs: { conect_timeout: 1 } }, /did you mean connect_timeout\?$/);
  });
});
