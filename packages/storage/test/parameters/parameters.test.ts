import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type ClientConfig, isStorageError, openStorage } from "@millrace/storage";
import { resolveConfiguration } from "../../src/configuration/configuration.ts";
import {
  type Environment,
  type Parameter,
  type ParameterTable,
  parameterKeys,
  sourcesOf,
  typesOf,
} from "../../src/configuration/parameters.ts";
import { parameters as az } from "../../src/schemes/az/parameters.ts";
import { parameters as gs } from "../../src/schemes/gs/parameters.ts";
import { parameters as hf } from "../../src/schemes/hf/parameters.ts";
import { parameters as s3 } from "../../src/schemes/s3/parameters.ts";

const open = (config: ClientConfig, environment: Environment = {}) =>
  openStorage("s3://bucket", config, { environment });

const explained = (config: ClientConfig, environment: Environment = {}) =>
  Object.fromEntries(
    open(config, environment)
      .explainConfig()
      .map(({ key, value, source }) => [key, { value, source }]),
  );

const refusedBecause = (config: ClientConfig, message: RegExp) =>
  assert.throws(
    () => open(config),
    (error) => isStorageError(error, "config") && message.test(error.message),
  );

/** Defaults as the documentation writes them. */
const documented: Readonly<Record<string, [ParameterTable, Readonly<Record<string, unknown>>]>> = {
  s3: [
    s3,
    {
      anon: false,
      endpoint_url: null,
      key: null,
      secret: null,
      token: null,
      use_ssl: true,
      s3_additional_kwargs: {},
      client_kwargs: {},
      requester_pays: false,
      default_block_size: null,
      default_fill_cache: true,
      default_cache_type: "readahead",
      version_aware: false,
      cache_regions: false,
      asynchronous: false,
      config_kwargs: {},
      kwargs: {},
      session: null,
      max_concurrency: 1,
    },
  ],
  gs: [
    gs,
    {
      project: null,
      access: null,
      token: null,
      consistency: null,
      cache_timeout: null,
      secure_serialize: null,
      requester_pays: false,
      session_kwargs: {},
      endpoint_url: null,
      default_location: null,
      version_aware: false,
    },
  ],
  az: [
    az,
    {
      account_name: null,
      account_key: null,
      sas_token: null,
      request_session: null,
      connection_string: null,
      credential: null,
      blocksize: null,
      client_id: null,
      client_secret: null,
      tenant_id: null,
      anon: null,
      default_fill_cache: true,
      default_cache_type: "bytes",
      version_aware: false,
      assume_container_exists: null,
      max_concurrency: null,
      timeout: null,
      connection_timeout: null,
      read_timeout: null,
      account_host: null,
    },
  ],
  hf: [hf, { token: null, endpoint: null }],
};

describe("the tables of parameters", () => {
  for (const [scheme, [table, defaults]] of Object.entries(documented)) {
    it(`of ${scheme}:// have every documented key with its default`, () => {
      const found = Object.fromEntries(parameterKeys(table).map((key) => [key, table[key]?.default]));
      assert.deepEqual(found, defaults);
    });
  }

  it("hold 52 parameters", () => {
    const counts = Object.values(documented).map(([table]) => parameterKeys(table).length);
    assert.deepEqual(counts, [19, 11, 20, 2]);
  });

  it("give a reason for every parameter without effect", () => {
    for (const [table] of Object.values(documented)) {
      for (const [key, parameter] of Object.entries(table)) {
        if (parameter.effect === "no-op" || parameter.effect === "rejected") assert.ok(parameter.reason, key);
      }
    }
  });
});

/** Two different valid values of a parameter, for those that accept only some. */
const samples: Readonly<Record<string, readonly [unknown, unknown]>> = {
  access: ["read_only", "read_write"],
  consistency: ["size", "md5"],
  default_cache_type: ["mmap", "all"],
  client_kwargs: [{ region_name: "one" }, { region_name: "two" }],
  config_kwargs: [{ read_timeout: 7 }, { read_timeout: 8 }],
  kwargs: [{ profile: "one" }, { profile: "two" }],
  session_kwargs: [{ limit: 7 }, { limit: 8 }],
};
const samplesOfType: Readonly<Record<string, readonly [unknown, unknown]>> = {
  boolean: [true, false],
  integer: [7, 8],
  number: [7.5, 8.5],
  string: ["one", "two"],
  dict: [{ a: "one" }, { a: "two" }],
  object: [{ a: 1 }, { a: 2 }],
};

/** The effective value and its source, in the notation of the tables. */
function placed(source: string, value: unknown): [ClientConfig, Environment] {
  if (source.startsWith("$")) {
    return [{}, { [source.slice(1)]: typeof value === "object" ? JSON.stringify(value) : String(value) }];
  }
  const config = source.split(".").reduceRight<unknown>((inner, name) => ({ [name]: inner }), value);
  return [config as ClientConfig, {}];
}

const sourceText = (source: string) =>
  source.startsWith("$") ? `environment ${source.slice(1)}` : `client_config.${source}`;

describe("every parameter", () => {
  for (const [scheme, [table]] of Object.entries(documented)) {
    for (const key of parameterKeys(table)) {
      const parameter = table[key] as Parameter;
      const type = typesOf(parameter)[0] as string;
      const [strong, weak] = samples[key] ?? samplesOfType[type] ?? assert.fail(type);
      // Objects are created by programs: no variable can hold one.
      const general = type === "object" ? [] : [`$FSSPEC_${scheme}_${key}`.toUpperCase()];
      const sources = [...sourcesOf(key, parameter), ...general];

      it(`${key} of ${scheme}:// is shown by explainConfig, with its sources: ${sources.join(", ")}`, () => {
        for (const source of ["default", ...sources]) {
          const [config, environment] = source === "default" ? [{}, {}] : placed(source, strong);
          const shown = resolveConfiguration([scheme], table, config, environment).explain();
          const found = shown.find((each) => each.key === key) ?? assert.fail("it is not shown");
          const value = source === "default" ? parameter.default : strong;
          const hidden = parameter.secret ? "********" : type === "object" ? "(an object)" : value;
          const masked = typeof value === "boolean" || value === null ? value : hidden;
          assert.deepEqual([found.value, found.source], [masked, source === "default" ? source : sourceText(source)]);
        }
      });

      for (const [index, source] of sources.slice(1).entries()) {
        const stronger = sources[index] as string;
        it(`${key} of ${scheme}:// is taken from ${stronger} before ${source}`, () => {
          const [config, environment] = placed(stronger, strong);
          const [weakConfig, weakEnvironment] = placed(source, weak);
          const both = { ...weakConfig, ...config };
          const resolved = resolveConfiguration([scheme], table, both, { ...weakEnvironment, ...environment });
          assert.deepEqual([resolved.values[key], resolved.sourceOf(key)], [strong, sourceText(stronger)]);
        });
      }
    }
  }
});

describe("a client_config", () => {
  it("with an unknown key is refused, with a suggestion", () => {
    refusedBecause({ endpoint: "x" }, /^endpoint is not a parameter of s3:\/\//);
    refusedBecause({ requester_pay: true }, /did you mean requester_pays\?$/);
    refusedBecause({ client_kwargs: { regionname: "x" } }, /client_kwargs\.regionname.*did you mean region_name\?$/);
    refusedBecause({ config_kwargs: { retries: { max_atempts: 1 } } }, /did you mean max_attempts\?$/);
    refusedBecause({ s3_additional_kwargs: { StorageClas: "x" } }, /did you mean StorageClass\?$/);
  });

  it("with a value of the wrong type is refused, and the value is not repeated", () => {
    refusedBecause({ anon: "yes" }, /^anon: expected boolean, got a value of type string$/);
    refusedBecause({ max_concurrency: 1.5 }, /^max_concurrency: expected integer/);
    refusedBecause({ max_concurrency: 0 }, /^max_concurrency: expected 1 or more, got 0$/);
    refusedBecause({ secret: ["hidden"] }, /^secret: expected string, got a list$/);
    refusedBecause({ config_kwargs: { signature_version: "s3" } }, /expected one of s3v4, got "s3"/);
    refusedBecause({ endpoint_url: "localhost:9000" }, /^endpoint_url: expected a URL/);
    refusedBecause({ session: {} }, /^session: expected an S3 client/);
  });

  it("with only one of two keys that belong together is refused", () => {
    refusedBecause({ key: "a" }, /secret is missing/);
    refusedBecause({ secret: "a" }, /key is missing/);
  });

  it("takes null for unset", () => {
    assert.deepEqual(explained({ endpoint_url: null })["endpoint_url"], { value: null, source: "default" });
  });

  it("is accepted for known schemes only", () => {
    assert.throws(() => openStorage("s4://bucket"), /s4:\/\/ is not a known kind .* did you mean s3\?/);
    assert.throws(() => openStorage("s3:///key"), /the bucket is missing/);
    assert.throws(() => openStorage("s3://buck*/key"), /the bucket cannot be a pattern/);
  });
});

describe("a parameter's value", () => {
  it("comes from the strongest source that has one", () => {
    const client_kwargs = { endpoint_url: "http://weak" };
    const environment = { AWS_ENDPOINT_URL_S3: "http://weaker", AWS_ENDPOINT_URL: "http://weakest" };
    const places = [
      [{ endpoint_url: "http://strong", client_kwargs }, "http://strong", "client_config.endpoint_url"],
      [{ aws_endpoint_url: "http://alias", client_kwargs }, "http://alias", "client_config.aws_endpoint_url"],
      [{ client_kwargs }, "http://weak", "client_config.client_kwargs.endpoint_url"],
      [{}, "http://weaker", "environment AWS_ENDPOINT_URL_S3"],
    ] as const;
    for (const [config, value, source] of places) {
      assert.deepEqual(explained(config, environment)["endpoint_url"], { value, source });
    }
  });

  it("of use_ssl comes from client_kwargs first", () => {
    const { use_ssl } = explained({ use_ssl: true, client_kwargs: { use_ssl: false } });
    assert.deepEqual(use_ssl, { value: false, source: "client_config.client_kwargs.use_ssl" });
  });

  it("comes from fsspec's variables if no other source has one", () => {
    const environment = { FSSPEC_S3_MAX_CONCURRENCY: "7", FSSPEC_S3: '{"anon": true, "max_concurrency": 3}' };
    const found = explained({}, environment);
    assert.deepEqual(found["max_concurrency"], { value: 7, source: "environment FSSPEC_S3_MAX_CONCURRENCY" });
    assert.deepEqual(found["anon"], { value: true, source: "environment FSSPEC_S3" });
  });

  it("comes from the variables of each name of a scheme, the last one first", () => {
    const found = (uri: string, environment: Environment) =>
      openStorage(uri, {}, { environment })
        .explainConfig()
        .find(({ key }) => key === "version_aware")?.source;
    assert.equal(found("gs://b", { FSSPEC_GCS_VERSION_AWARE: "1" }), "environment FSSPEC_GCS_VERSION_AWARE");
    assert.equal(found("gcs://b", { FSSPEC_GS_VERSION_AWARE: "1" }), "environment FSSPEC_GS_VERSION_AWARE");
    const both = { FSSPEC_GS_VERSION_AWARE: "0", FSSPEC_GCS: '{"version_aware": true}' };
    assert.equal(found("gs://b", both), "environment FSSPEC_GCS");
    const name = { AZURE_STORAGE_ACCOUNT_NAME: "a" };
    assert.equal(found("az://c", { ...name, FSSPEC_ABFS_VERSION_AWARE: "1" }), "environment FSSPEC_ABFS_VERSION_AWARE");
    assert.equal(found("s3://b", { FSSPEC_S3A_VERSION_AWARE: "1" }), "environment FSSPEC_S3A_VERSION_AWARE");
  });

  it("that is a member of a dict also comes from the dict's variable", () => {
    const environment = { FSSPEC_S3_CLIENT_KWARGS: '{"region_name": "far"}' };
    const expected = { value: "far", source: "environment FSSPEC_S3_CLIENT_KWARGS" };
    assert.deepEqual(explained({}, environment)["client_kwargs.region_name"], expected);
  });

  it("never mixes given credentials with those of the environment", () => {
    const environment = { AWS_ACCESS_KEY_ID: "e", AWS_SECRET_ACCESS_KEY: "e", AWS_SESSION_TOKEN: "e" };
    const found = explained({ key: "k", secret: "s" }, environment);
    assert.deepEqual(found["token"], { value: null, source: "default" });
    assert.equal(explained({}, environment)["token"]?.source, "environment AWS_SESSION_TOKEN");
  });

  it("that is given overrides a connection string of the environment", () => {
    const environment = { AZURE_STORAGE_CONNECTION_STRING: "from the environment" };
    const { values } = resolveConfiguration(["az"], az, { account_name: "a", account_key: "k" }, environment);
    assert.deepEqual([values.connection_string, values.account_key], [null, "k"]);
    assert.equal(resolveConfiguration(["az"], az, {}, environment).values.connection_string, "from the environment");
  });

  it("of anon on az is false for false, 0 and f in any case, true for any other text, unset without the variable", () => {
    const anon = (AZURE_STORAGE_ANON?: string) =>
      resolveConfiguration(["az"], az, {}, { AZURE_STORAGE_ANON }).values.anon;
    for (const text of ["false", "False", "FALSE", "0", "f", "F"]) assert.equal(anon(text), false, text);
    for (const text of ["true", "1", "t", "yes", "no", "n", "off", "00", " false", ""])
      assert.equal(anon(text), true, text);
    assert.equal(anon(undefined), null);
  });

  it("is masked if it is secret, for every source", () => {
    const config = { key: "k", secret: "hush", client_kwargs: { aws_secret_access_key: "hush", region_name: "r" } };
    const told = open(config).explainConfig();
    assert.ok(!JSON.stringify(told).includes("hush"));
    assert.deepEqual(told.find(({ key }) => key === "client_kwargs")?.value, {
      aws_secret_access_key: "********",
      region_name: "r",
    });
  });

  it("is masked if it is a secret member of a dict, and shown if it is another member", () => {
    const s3_additional_kwargs = { SSECustomerKey: "hush", MFA: "hush", SSECustomerAlgorithm: "AES256" };
    const shown = { SSECustomerKey: "********", MFA: "********", SSECustomerAlgorithm: "AES256" };
    assert.deepEqual(explained({ s3_additional_kwargs })["s3_additional_kwargs"]?.value, shown);
    const ofCopies = { CopySourceSSECustomerKey: "hush" };
    const told = resolveConfiguration(["s3"], s3, { s3_additional_kwargs: ofCopies }, {}).explain();
    assert.ok(!JSON.stringify(told).includes("hush"));
  });

  it("is not shown if it is an object", () => {
    const session = { config: { credentials: { secretAccessKey: "hush" } } };
    assert.deepEqual(explained({ session })["session"]?.value, "(an object)");
  });

  it("that is a URL is shown without its password, for every source", () => {
    const urls = {
      "https://user:hush@host:9000/path?a=b": "https://user:********@host:9000/path?a=b",
      "http://:hush@host": "http://:********@host",
      "http://user:hu@sh@host": "http://user:********@host",
      "http://user@host:1/a@b": "http://user@host:1/a@b",
      "http://host:9000/a@b": "http://host:9000/a@b",
    };
    for (const [given, shown] of Object.entries(urls)) {
      const places = [{ endpoint_url: given }, { client_kwargs: { endpoint_url: given } }];
      for (const place of places) assert.equal(explained(place)["endpoint_url"]?.value, shown);
      assert.equal(explained({}, { AWS_ENDPOINT_URL: given })["endpoint_url"]?.value, shown);
      assert.deepEqual(explained(places[1] ?? {})["client_kwargs"]?.value, { endpoint_url: shown });
    }
    for (const proxy of ["http://user:hush@proxy:3128", "user:hush@proxy:3128", "http://user:hu/sh@proxy"]) {
      const told = resolveConfiguration(["gs"], gs, { session_kwargs: { proxy } }, {}).explain();
      const shown = told.filter(({ key }) => key.startsWith("session_kwargs")).map(({ value }) => value);
      assert.ok(!/hu\/?sh/.test(JSON.stringify(shown)), JSON.stringify(shown));
      assert.match(JSON.stringify(shown), /user:\*{8}@proxy/);
    }
  });

  it("is also shown for members of dicts that are unset", () => {
    const found = explained({});
    assert.deepEqual(found["config_kwargs.read_timeout"], { value: 60, source: "default" });
    const taken = Object.entries(s3).filter(([, { effect }]) => effect !== "rejected");
    assert.deepEqual(
      Object.keys(found),
      taken.map(([key]) => key),
    );
  });
});
